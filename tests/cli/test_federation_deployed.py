"""A deployment that `comity federation init` wrote works with real processes: who may connect, and who may not."""

import json
import shutil
import socket
import ssl
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from comity.flower.deploy.certificates import make_node_key
from support.deployment import Deployment
from support.standin import write_stand_in

NAMES = ["north", 'St. John\'s "A" & $(B)', "Köln 東京"]


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Three connected sites; the path has characters that are special in shells and TOML."""
    place = tmp_path_factory.mktemp("a \"quoted\" 'place' \\ $HOME")
    with Deployment(place / "trial", NAMES, target="y", app=write_stand_in(place / "app")) as trial:
        trial.start()
        yield trial


def answers(trial: Deployment) -> dict[str, str]:
    done = trial.run(timeout=400)  # on a busy machine Flower starts an app several times
    assert done.returncode == 0, f"{done.stdout}\n{trial.all_logs()}"
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("ANSWERS ")]
    found: dict[str, str] = json.loads(line.removeprefix("ANSWERS "))
    return found


def expected(trial: Deployment) -> dict[str, str]:
    return {client: str(trial.site(client) / "site.toml") for client in NAMES}


def test_every_client_is_reached_under_its_own_name(trial: Deployment) -> None:
    assert answers(trial) == expected(trial), "each node id belongs to the client with its key"


def test_apps_are_forked_from_a_process_that_has_loaded_them(trial: Deployment) -> None:
    if sys.platform != "linux":
        pytest.skip("processes fork on Linux only")
    assert sum("comity.flower.deploy.executor" in line for line in trial.commands()) == len(NAMES)
    assert "flwr-clientapp` process" not in "".join(map(trial.log, NAMES)), "Flower's own executor was used"


def test_registering_again_changes_nothing(trial: Deployment) -> None:
    nodes = (trial.coordinator / "state" / "nodes.json").read_text()
    trial.register()
    assert trial.log("register").count("already registered") == len(NAMES)
    assert (trial.coordinator / "state" / "nodes.json").read_text() == nodes


def intruder(trial: Deployment, place: Path) -> Path:
    """Return the directory of a site that must not get in. It starts no executor, which loads torch for seconds."""
    site = place / place.name
    shutil.copytree(trial.site("north"), site, ignore=shutil.ignore_patterns("state"))
    script = site / "supernode.sh"
    script.write_text(script.read_text().replace("deploy.supernode", "deploy.supernode --isolation process"))
    return site


def refused(trial: Deployment, site: Path) -> str:
    """Start a SuperNode that must not get in, and return its log when it has given up."""
    trial.start_site(site.name, wait=False, script=site / "supernode.sh", COMITY_PATIENCE="3")
    assert trial.wait_until_ended(site.name) == 1
    assert "SuperNode ID" not in trial.log(site.name)
    return trial.log(site.name)


def test_an_unregistered_key_does_not_get_in(trial: Deployment, tmp_path: Path) -> None:
    site = intruder(trial, tmp_path)
    (site / "client.key").write_bytes(make_node_key().private)
    assert "Failed to activate SuperNode" in refused(trial, site)


def test_a_site_without_a_key_does_not_get_in(trial: Deployment, tmp_path: Path) -> None:
    site = intruder(trial, tmp_path)
    script = site / "supernode.sh"
    script.write_text(script.read_text().replace('--auth-supernode-private-key "$here/client.key"', ""))
    assert "must be registered" in refused(trial, site)


def test_a_site_without_tls_does_not_get_in(trial: Deployment, tmp_path: Path) -> None:
    """Flower keeps trying; the SuperLink cannot read its requests."""
    site = intruder(trial, tmp_path)
    settings = site / "settings.sh"
    settings.write_text(settings.read_text().replace("COMITY_INSECURE=no", "COMITY_INSECURE=yes"))
    before = trial.log("superlink").count("Activated")
    trial.start_site(site.name, wait=False, script=site / "supernode.sh")
    trial.wait_for("Starting Flower SuperNode", site.name)
    time.sleep(5)
    log = trial.log(site.name)
    assert "INSECURE" in log
    assert "SuperNode ID" not in log
    assert trial.log("superlink").count("Activated") == before
    trial.kill(site.name)


def test_another_authority_is_not_believed(trial: Deployment) -> None:
    with pytest.raises(httpx.ConnectError, match="certificate"):
        httpx.get(f"https://localhost:{trial.port}/health")


@pytest.mark.parametrize(
    "path",
    [
        "/v1/control/start-run",
        "/v1/control/register-node",
        "/v1/runtime/acquire-task",
        "/v1/fleet/../control/register-node",
        "/v1/fleet/%2e%2e/control/register-node",
        "/v1/fleet/..%2fcontrol%2fregister-node",
        "/v1/fleet/%2e%2e",
        "//v1/control/register-node",
        "/v1/fleet/..\\control",
        "/docs",
        "/openapi.json",
    ],
)
def test_sites_reach_only_the_interface_for_sites(trial: Deployment, path: str) -> None:
    """Otherwise anybody who reaches the port could register a key, or run code at every site."""
    assert answered(trial, trial.port, "POST", path) == 404


def test_the_internal_address_serves_what_the_public_one_does_not(trial: Deployment) -> None:
    """Otherwise the test above would pass for paths that do not exist."""
    assert answered(trial, trial.control_port, "POST", "/v1/control/register-node") != 404
    assert answered(trial, trial.port, "GET", "/health") == 200


def answered(trial: Deployment, port: int, method: str, path: str) -> int:
    """Send a path unchanged, and return the status of the answer."""
    context = ssl.create_default_context(cafile=trial.coordinator / "certificates" / "ca.crt")
    with (
        socket.create_connection(("127.0.0.1", port), timeout=30) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as secured,
    ):
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        secured.sendall(head.encode())
        return int(secured.recv(64).split()[1])


def test_another_app_is_not_run_and_killed_processes_come_back(trial: Deployment) -> None:
    """The stand-in has code: a site that does not allow every app exits at once, as abruptly as if it were killed.

    It and a SuperLink that was killed are restarted; keys and names are still known.
    """
    trial.stop("north")
    trial.start_site("north", COMITY_ANY_APP="no")
    trial.start_run()
    trial.wait_until_ended("north")
    expected_log = "Refused: the coordinator sent an app that holds more than settings ('stand_in_client.py')"
    assert expected_log in trial.log("north")
    trial.kill("run")  # which would wait for its answer
    trial.start_site("north")
    trial.kill("superlink")
    trial.start_superlink()
    assert answers(trial) == expected(trial)


def test_another_deployment_beside_it(trial: Deployment, tmp_path: Path) -> None:
    """An insecure deployment has nothing to register, and every process warns."""
    with Deployment(tmp_path / "beside", ["a"], insecure=True) as beside:
        beside.start()
        assert "INSECURE" in beside.log("superlink")
        assert "INSECURE" in beside.log("a")
        assert "nothing to register" in beside.log("register")
        assert all(trial.is_running(name) for name in ("superlink", *NAMES))
