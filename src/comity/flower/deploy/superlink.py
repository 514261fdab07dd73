"""The coordinator's SuperLink at two addresses (``python -m comity.flower.deploy.superlink``).

Flower's SuperLink serves three interfaces at one address: for SuperNodes (``/v1/fleet``), for starting runs and
registering keys (``/v1/control``), and for running apps (``/v1/runtime``). Only the first authenticates its callers, so
anybody who reaches the address could register a key, or run code at every site. This module therefore serves
everything at an internal address, which only this machine reaches, and only ``/v1/fleet`` at the public address.
"""

from __future__ import annotations

import argparse
import re
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import uvicorn
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from comity.flower.deploy.addresses import Address, read_address

_INTERNAL_HOST = "127.0.0.1"
# Only plain names of operations: a path with dots or more slashes could lead to another interface.
_PUBLIC_PATHS = re.compile(r"/health|/v1/fleet/[a-z]+(-[a-z]+)*")


def restrict_public_access(app: ASGIApp, internal: Address) -> ASGIApp:
    """Return an application that is `app` for connections to the address `internal`, and part of it for all others.

    It checks the same path by which `app` chooses an operation, so the two cannot disagree; and the address is that of
    the connection, which a caller cannot forge.
    """
    not_found = Response(status_code=404)

    async def restricted(scope: Scope, receive: Receive, send: Send) -> None:
        is_internal = scope["type"] == "lifespan" or tuple(scope["server"] or ()) == (internal.host, internal.port)
        is_public = scope["type"] == "http" and _PUBLIC_PATHS.fullmatch(scope["path"])
        await (app if is_internal or is_public else not_found)(scope, receive, send)

    return restricted


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The two addresses of a SuperLink, with bound sockets; until it serves there, connections are refused."""

    internal: Address
    public: Address
    sockets: list[socket.socket]

    @classmethod
    def bind(cls, internal: Address, public: Address) -> Endpoints:
        """Bind both addresses, or raise an `OSError` whose `filename` is the address that is in use."""
        first = _bind(public)
        try:
            return cls(internal, public, [first, _bind(internal)])
        except OSError:
            first.close()
            raise

    def close(self) -> None:
        """Release both addresses."""
        for bound in self.sockets:
            bound.close()

    def serve(self, app: ASGIApp, **settings: Any) -> None:
        """Serve an application at both addresses, as ``uvicorn.run`` does at one with these settings."""
        settings |= {"host": self.internal.host, "port": self.internal.port, "ws": "none"}
        server = _AnnouncingServer(uvicorn.Config(restrict_public_access(app, self.internal), **settings))
        server.public = self.public
        for bound in self.sockets:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with suppress(KeyboardInterrupt):  # Ctrl-C is how it is stopped
            server.run(self.sockets)
        if not server.started:
            sys.exit("the SuperLink could not start")


class _AnnouncingServer(uvicorn.Server):
    """A server that prints when sites can connect to its public address."""

    public: Address

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # An event loop may not report that it failed to listen, and then no connection would ever be answered.
        listening = [bound.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) for bound in sockets or ()]
        self.started = self.started and all(listening)
        if self.started:
            print(f"Sites can connect to {self.public}.", flush=True)
        else:
            self.should_exit = True


def _bind(address: Address) -> socket.socket:
    """Return a socket bound to an address, which no other process can bind; set SO_REUSEADDR before listening."""
    bound = socket.socket(address.family)
    # While on, the address can be bound right after another server has ended; then off, so that nobody else binds it.
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if address.family == socket.AF_INET6:
        bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    try:
        bound.bind((address.host, address.port))
    except OSError as error:
        bound.close()
        raise OSError(error.errno, error.strerror, str(address)) from None
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
    return bound


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the SuperLink until it is stopped."""
    parser = argparse.ArgumentParser(
        prog="python -m comity.flower.deploy.superlink", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--listen", required=True, metavar="HOST:PORT", help="where sites connect")
    parser.add_argument("--control-port", required=True, type=int, help="the port of the internal address")
    parser.add_argument("--database", required=True, type=Path, help="the SuperLink's database file")
    secured = parser.add_mutually_exclusive_group(required=True)
    secured.add_argument("--certificates", type=Path, metavar="DIR", help="ca.crt, server.crt and server.key")
    secured.add_argument("--insecure", action="store_true", help="no encryption; anybody may join")
    options = parser.parse_args(arguments)
    internal = Address(_INTERNAL_HOST, options.control_port)
    try:
        endpoints = Endpoints.bind(internal, read_address(options.listen))
    except OSError as error:
        parser.exit(2, f"cannot listen on {error.filename} ({error.strerror}); is something else running there?\n")
    # Flower has no hook for its addresses. A later version that serves in another way finds them in use and exits.
    superlink: Any = import_module("flwr.superlink.cli.flower_superlink")
    superlink.uvicorn = SimpleNamespace(run=endpoints.serve)
    sys.argv = ["flower-superlink", "--host", internal.host, "--port", str(internal.port)]
    sys.argv += ["--database", str(options.database), "--disable-runtime-dependency-installation"]
    if options.insecure:
        sys.argv += ["--insecure"]
    else:
        sys.argv += ["--enable-supernode-auth"]
        for option, file in (("ca-certfile", "ca.crt"), ("certfile", "server.crt"), ("keyfile", "server.key")):
            sys.argv += [f"--ssl-{option}", str(options.certificates / file)]
    superlink.flower_superlink()


if __name__ == "__main__":
    main()
