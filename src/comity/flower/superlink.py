"""The coordinator's SuperLink behind two doors (``python -m comity.flower.superlink``).

Flower's SuperLink serves three things at one address: what SuperNodes need (``/v1/fleet``), what starts runs and
registers keys (``/v1/control``), and what runs apps (``/v1/runtime``). Only the first asks who is calling. So whoever
reaches that address could register a key of their own, or have code run at every site. Therefore it listens at two
addresses: an inner one, that of this machine itself, where everything is served, and an outer one, which sites reach,
where nothing is but ``/v1/fleet``.
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

from comity.flower.addresses import Address, read_address

INNER = "127.0.0.1"
# Names of operations and nothing else: what has dots or more slashes in it could lead to another service.
_FOR_SITES = re.compile(r"/health|/v1/fleet/[a-z]+(-[a-z]+)*")


@dataclass(frozen=True, slots=True)
class Certificates:
    """The files that show who this server is, and by whom that was signed."""

    directory: Path

    @property
    def authority(self) -> Path:
        """The authority's certificate."""
        return self.directory / "ca.crt"

    @property
    def certificate(self) -> Path:
        """The server's certificate."""
        return self.directory / "server.crt"

    @property
    def key(self) -> Path:
        """The server's private key."""
        return self.directory / "server.key"


def superlink_arguments(control_port: int, database: Path, certificates: Certificates | None) -> list[str]:
    """Return what ``flower-superlink`` is started with: with certificates, TLS and authentication are on."""
    arguments = ["--host", INNER, "--port", str(control_port), "--database", str(database)]
    arguments.append("--disable-runtime-dependency-installation")
    if certificates is None:
        return [*arguments, "--insecure"]
    return [
        *arguments,
        *("--ssl-ca-certfile", str(certificates.authority)),
        *("--ssl-certfile", str(certificates.certificate)),
        *("--ssl-keyfile", str(certificates.key)),
        "--enable-supernode-auth",
    ]


def two_doors(app: ASGIApp, inner: Address) -> ASGIApp:
    """Return an application that is `app` for who connected to the address `inner`, and a part of it for all others.

    The path that is looked at is the one by which `app` decides what to do, so there are no two ways to read it; and
    the address is that of the connection, about which nobody can lie.
    """
    nothing = Response(status_code=404)

    async def at_the_door(scope: Scope, receive: Receive, send: Send) -> None:
        inside = scope["type"] == "lifespan" or tuple(scope["server"] or ()) == (inner.host, inner.port)
        for_sites = scope["type"] == "http" and _FOR_SITES.fullmatch(scope["path"])
        await (app if inside or for_sites else nothing)(scope, receive, send)

    return at_the_door


@dataclass(frozen=True, slots=True)
class Doors:
    """The addresses of a SuperLink; whoever connects is refused until it serves there, and tries again."""

    inner: Address
    outer: Address
    sockets: list[socket.socket]

    @classmethod
    def take(cls, inner: Address, outer: Address) -> Doors:
        """Take both addresses, or raise an `OSError` whose `filename` is the one that somebody else has."""
        first = _taken(outer)
        try:
            return cls(inner, outer, [first, _taken(inner)])
        except OSError:
            first.close()
            raise

    def close(self) -> None:
        """Give both back."""
        for each in self.sockets:
            each.close()

    def serve(self, app: ASGIApp, **settings: Any) -> None:
        """Serve an application at both, as ``uvicorn.run`` would with these settings at one."""
        settings |= {"host": self.inner.host, "port": self.inner.port, "ws": "none"}
        server = _Telling(uvicorn.Config(two_doors(app, self.inner), **settings), self.outer)
        for each in self.sockets:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with suppress(KeyboardInterrupt):  # by which it is stopped
            server.run(self.sockets)
        if not server.told:
            sys.exit("the SuperLink could not start")


class _Telling(uvicorn.Server):
    """A server that says when sites can connect."""

    def __init__(self, config: uvicorn.Config, outer: Address) -> None:
        super().__init__(config)
        self._outer = outer
        self.told = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # An event loop may keep to itself that it could not listen, and then nobody would ever be answered.
        listening = [each.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) for each in sockets or ()]
        if not self.started or not all(listening):
            self.should_exit = True
            return
        self.told = True
        print(f"Sites can connect to {self._outer}.", flush=True)


def _taken(address: Address) -> socket.socket:
    """Return a socket at an address that nobody else gets any more; to listen there, let addresses be used again."""
    taken = socket.socket(address.family)
    # On, it can be taken right after another server has ended; off, nobody else gets it before this one listens.
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if address.family == socket.AF_INET6:
        taken.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    try:
        taken.bind((address.host, address.port))
    except OSError as error:
        taken.close()
        raise OSError(error.errno, error.strerror, str(address)) from None
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
    return taken


def open_doors(doors: Doors) -> None:
    """Make Flower's SuperLink in this process serve at these addresses."""
    # There is no hook for this. If a later Flower serves in another way, it finds its address taken and does not start.
    internal: Any = import_module("flwr.superlink.cli.flower_superlink")
    internal.uvicorn = SimpleNamespace(run=doors.serve)


def main(arguments: Sequence[str] | None = None) -> None:
    """Start the SuperLink; return when it was stopped."""
    parser = argparse.ArgumentParser(
        prog="python -m comity.flower.superlink", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--listen", required=True, metavar="HOST:PORT", help="where sites connect")
    parser.add_argument("--control-port", required=True, type=int, help="the port of the inner door")
    parser.add_argument("--database", required=True, type=Path, help="where the SuperLink keeps what it knows")
    secured = parser.add_mutually_exclusive_group(required=True)
    secured.add_argument("--certificates", type=Path, metavar="DIR", help="ca.crt, server.crt and server.key")
    secured.add_argument("--insecure", action="store_true", help="nothing encrypted, anybody may join")
    given = parser.parse_args(arguments)
    certificates = None if given.insecure else Certificates(given.certificates)
    try:
        doors = Doors.take(Address(INNER, given.control_port), read_address(given.listen))
    except OSError as error:
        parser.exit(2, f"{error.filename} cannot be listened on ({error.strerror}); is something else running there?\n")
    open_doors(doors)
    from flwr.superlink.cli import flower_superlink

    sys.argv = ["flower-superlink", *superlink_arguments(given.control_port, given.database, certificates)]
    flower_superlink()


if __name__ == "__main__":
    main()
