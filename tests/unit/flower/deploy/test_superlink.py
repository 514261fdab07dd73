"""The SuperLink's two endpoints: what is served at which address."""

import asyncio
import signal
import socket
import subprocess
import sys
from typing import Any

import httpx
import pytest
import uvicorn

from comity.flower.deploy.addresses import Address
from comity.flower.deploy.superlink import Endpoints, main, restrict_public_access
from support.deployment import free_ports

INNER = Address("127.0.0.1", 9093)


def answered(scope: dict[str, Any]) -> str:
    """Return who answers at the endpoints: the app itself, or nobody."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "app"})

    return who_answers(restrict_public_access(app, INNER), scope)


def who_answers(app: Any, scope: dict[str, Any]) -> str:
    """Return what an app says first."""
    sent: list[str] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(f"{message['type']} {message.get('status', '')}".strip())

    async def receive() -> dict[str, Any]:
        raise AssertionError("nothing is to be read")

    asyncio.run(app(scope, receive, send))
    return sent[0]


def asking(path: str, server: tuple[str, int] | None, kind: str = "http") -> dict[str, Any]:
    return {"type": kind, "path": path, "server": server, "method": "POST", "headers": []}


@pytest.mark.parametrize(
    "path", ["/v1/control/start-run", "/v1/runtime/acquire-task", "/v1/fleet/pull-messages", "/docs"]
)
def test_the_internal_address_serves_every_path(path: str) -> None:
    assert answered(asking(path, ("127.0.0.1", 9093))) == "app"


OUTSIDE = [("127.0.0.1", 9092), ("192.0.2.1", 9093), ("::1", 9093), None]


@pytest.mark.parametrize("server", OUTSIDE)
@pytest.mark.parametrize("path", ["/health", "/v1/fleet/pull-messages", "/v1/fleet/activate-node"])
def test_the_public_address_serves_sites(path: str, server: tuple[str, int] | None) -> None:
    assert answered(asking(path, server)) == "app"


@pytest.mark.parametrize("server", OUTSIDE)
@pytest.mark.parametrize(
    "path",
    [
        *("/v1/control/start-run", "/v1/runtime/acquire-task", "/docs", "/openapi.json", "/", "", "*"),
        *(
            "/v1/fleet",
            "/v1/fleet/",
            "/v1/fleet/..",
            "/v1/fleet/../control/start-run",
            "/v1/fleet/a/b",
            "/v1/fleet/%2e",
        ),
        *("//v1/control/start-run", "/v1/fleet/..\\control", "/v1/fleet/pull-messages\n", "/health/", "/HEALTH"),
        "/v1/fleet/%2e%2e",
        "/v1/control/start-run#/v1/fleet/pull-messages",
    ],
)
def test_the_public_address_serves_no_other_path(path: str, server: tuple[str, int] | None) -> None:
    """Else whoever reaches the port could register a key, or have code run at every site."""
    assert answered(asking(path, server)) == "http.response.start 404"


def test_the_public_address_refuses_websockets() -> None:
    assert answered(asking("/v1/fleet/pull-messages", None, "websocket")) == "websocket.http.response.start 404"


def test_the_app_receives_lifespan_events() -> None:
    assert answered({"type": "lifespan"}) == "app"


def test_an_address_in_use_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(SystemExit) as ended:
            main(["--listen", f"127.0.0.1:{port}", "--control-port", "9", "--database", "x", "--insecure"])
    assert ended.value.code == 2
    assert f"cannot listen on 127.0.0.1:{port}" in capsys.readouterr().err


def test_an_app_that_fails_to_start_is_an_error() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no"})

    inner, outer = free_ports(2)
    endpoints = Endpoints.bind(Address("127.0.0.1", inner), Address("127.0.0.1", outer))
    with pytest.raises(SystemExit, match="could not start"):
        endpoints.serve(app, log_level="critical")
    endpoints.close()


def test_connections_are_refused_before_it_serves() -> None:
    """A connection that nobody answers would be waited for; one that is refused is tried again."""
    inner, outer = (Address("127.0.0.1", port) for port in free_ports(2))
    endpoints = Endpoints.bind(inner, outer)
    for address in (inner, outer):
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((address.host, address.port), timeout=5)
    endpoints.close()


def test_no_other_process_can_bind_an_address_before_it_is_served() -> None:
    """Two that are started at the same time would both believe that they serve."""
    inner, outer, other = (Address("127.0.0.1", port) for port in free_ports(3))
    endpoints = Endpoints.bind(inner, outer)
    for taken, pair in ((outer, (other, outer)), (inner, (inner, other))):
        with pytest.raises(OSError) as failed:
            Endpoints.bind(*pair)
        assert failed.value.filename == str(taken)
    endpoints.close()
    Endpoints.bind(inner, outer).close()


def test_an_internal_address_in_use_releases_the_public_one() -> None:
    outer = Address("127.0.0.1", *free_ports(1))
    with socket.create_server(("127.0.0.1", 0)) as other:
        inner = Address(*other.getsockname())
        with pytest.raises(OSError) as failed:
            Endpoints.bind(inner, outer)
    assert failed.value.filename == str(inner)
    with socket.create_server((outer.host, outer.port)):
        pass


def test_the_server_gets_flowers_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """It gives its certificate to what serves: without it, nothing would be encrypted."""
    settings_used: dict[str, Any] = {}

    class NotedError(Exception):
        pass

    def noted(app: Any, **settings: Any) -> Any:
        settings_used.update(settings, app=app)
        raise NotedError

    monkeypatch.setattr(uvicorn, "Config", noted)
    with pytest.raises(NotedError):
        Endpoints(INNER, INNER, []).serve(lambda *_: None, host="::", ssl_keyfile="key", ssl_certfile="crt")
    expected = {"ssl_keyfile": "key", "ssl_certfile": "crt", "host": "127.0.0.1"}
    assert settings_used.items() >= expected.items()
    assert who_answers(settings_used["app"], asking("/v1/control/start-run", None)) == "http.response.start 404"


SERVER = """
import sys
from comity.flower.deploy.addresses import Address
from comity.flower.deploy.superlink import Endpoints

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        for kind in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{kind}.complete"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body"})

Endpoints.bind(*(Address("127.0.0.1", int(port)) for port in sys.argv[1:])).serve(app, log_level="critical")
"""


def test_it_serves_two_addresses_until_it_is_interrupted() -> None:
    """Ctrl-C is how a SuperLink is stopped: without a traceback, and the addresses are free again."""
    inner, outer = free_ports(2)
    for _ in range(2):  # again at once, where connections have just been closed
        process = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(inner), str(outer)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == f"Sites can connect to 127.0.0.1:{outer}.\n"
        asked = [(inner, "/v1/control/start-run"), (outer, "/v1/control/start-run"), (outer, "/v1/fleet/get-run")]
        found = [httpx.post(f"http://127.0.0.1:{port}{path}").status_code for port, path in asked]
        process.send_signal(signal.SIGINT)
        _, printed = process.communicate(timeout=60)
        assert found == [200, 404, 200]
        assert printed == ""
        assert process.returncode == 0
