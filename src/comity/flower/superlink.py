"""The coordinator's SuperLink behind two doors (``python -m comity.flower.superlink``).

Flower's SuperLink serves three things at one address: what SuperNodes need (``/v1/fleet``), what starts runs and
registers keys (``/v1/control``), and what runs apps (``/v1/runtime``). Only the first asks who is calling. So whoever
reaches that address could register a key of their own, or have code run at every site. Therefore the SuperLink listens
on this machine's own address only, and what sites reach is a second door that lets nothing but ``/v1/fleet`` through.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import socket
import ssl
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from comity.flower.addresses import Address, read_address

INNER = "127.0.0.1"
_OPERATION = re.compile(r"[a-z]+(-[a-z]+)*")
_START = 120.0  # seconds until the SuperLink must answer
_ANSWER = 300.0  # seconds until a request must be answered


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


def outer_door(inner: str, trusted: ssl.SSLContext | bool) -> Starlette:
    """Return the application that passes what SuperNodes need to the address `inner`, and answers 404 to all else."""
    client = httpx.AsyncClient(base_url=inner, verify=trusted, timeout=_ANSWER, trust_env=False)

    async def fleet(request: Request) -> Response:
        operation = request.path_params["operation"]
        # A name and nothing else: what has dots or slashes in it, however written, could lead to another service.
        if not _OPERATION.fullmatch(operation):
            return Response(status_code=404)
        return await passed_on(request, f"/v1/fleet/{operation}")

    async def health(request: Request) -> Response:
        return await passed_on(request, "/health")

    async def passed_on(request: Request, path: str) -> Response:
        headers = {name: value for name, value in request.headers.items() if _is_passed_on(name)}
        try:
            answer = await client.request(
                request.method, path, content=await request.body(), headers={**headers, "accept-encoding": "identity"}
            )
        except httpx.HTTPError:
            return Response("the SuperLink does not answer", status_code=503)
        kept = {name: value for name, value in answer.headers.items() if _is_passed_on(name)}
        return Response(answer.content, answer.status_code, kept)

    return Starlette(
        routes=[Route("/v1/fleet/{operation}", fleet, methods=["POST"]), Route("/health", health, methods=["GET"])]
    )


def _is_passed_on(header: str) -> bool:
    return header.lower() not in _HOP_BY_HOP


# These are about one connection, of which there are two here.
_HOP_BY_HOP = frozenset(
    (
        *("accept-encoding", "connection", "content-encoding", "content-length", "date", "host", "keep-alive"),
        *("proxy-authenticate", "proxy-authorization", "server", "te", "trailer", "transfer-encoding", "upgrade"),
    )
)


def open_outer_door(listen: Address, control_port: int, certificates: Certificates | None) -> threading.Thread:
    """Take the outer address now, and serve there as soon as the SuperLink inside answers.

    Until then connections are refused, so that SuperNodes try again. If it comes to nothing, this process is ended.
    """
    taken = socket.create_server((listen.host, listen.port), family=listen.family, backlog=0)
    taken.close()  # only to say at once that it is not free; it is taken again when there is something to serve
    trusted: ssl.SSLContext | bool = False
    if certificates is not None:
        trusted = ssl.create_default_context(cafile=certificates.authority)
    inner = f"http{'' if certificates is None else 's'}://{INNER}:{control_port}"
    server = uvicorn.Server(
        uvicorn.Config(
            outer_door(inner, trusted),
            host=listen.host,
            port=listen.port,
            ssl_certfile=None if certificates is None else certificates.certificate,
            ssl_keyfile=None if certificates is None else certificates.key,
            access_log=False,
            log_level="warning",
        )
    )

    def serve() -> None:
        try:
            _wait_for(f"{inner}/health", trusted)
            print(f"Sites can connect to {listen}.", flush=True)
            server.run()
        except BaseException as error:  # noqa: BLE001 (whatever it is, a SuperLink that nobody reaches must not go on)
            print(f"the outer door is closed: {error}", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=serve, name="outer-door", daemon=True)
    thread.start()
    return thread


def _wait_for(address: str, trusted: ssl.SSLContext | bool) -> None:
    until = time.monotonic() + _START
    while time.monotonic() < until:
        try:
            if httpx.get(address, verify=trusted, timeout=5, trust_env=False).is_success:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.2)
    raise TimeoutError(f"the SuperLink did not answer within {_START:.0f} seconds")


def main(arguments: Sequence[str] | None = None) -> None:
    """Start the SuperLink and its outer door; return when it was stopped."""
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
    listen = read_address(given.listen)
    try:
        open_outer_door(listen, given.control_port, certificates)
    except OSError as error:
        parser.exit(
            2, f"{listen} cannot be listened on ({error.strerror or error}); is something else running there?\n"
        )
    from flwr.superlink.cli import flower_superlink

    sys.argv = ["flower-superlink", *superlink_arguments(given.control_port, given.database, certificates)]
    flower_superlink()


if __name__ == "__main__":
    main()
