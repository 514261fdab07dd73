"""A deployment on this machine, for tests: a SuperLink and SuperNodes as processes, on free ports.

    with Deployment(tmp_path / "trial", ["north", "south"]) as trial:
        trial.start()                       # the SuperLink, keys registered, all SuperNodes
        done = trial.run(timeout=120)       # the app of the deployment; done.returncode, done.stdout
        trial.kill("north")                 # SIGKILL
        trial.start_site("north")           # it comes back with its own key

The scripts that ``comity federation init`` writes start everything. At the end of the `with` block the processes that
were started are killed, and no others. `all_logs()` is for the messages of failures.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self

from comity.flower.deploy.addresses import Address
from comity.flower.deploy.deployment import Deployment as Plan
from comity.flower.deploy.deployment import write_deployment

START_TIMEOUT = 180.0  # seconds in which a process must be ready: the machine may be busy
MAX_LOG_SHOWN = 4000  # characters
MARK = "COMITY_TEST_DEPLOYMENT"  # in the environment of every process, so that exactly those are found


_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_PORTS = count(16_000 + 1_000 * _WORKER)  # below the system's ephemeral ports, different for each worker


def free_ports(number: int) -> list[int]:
    """Return ports of this machine that are free, and that the system assigns to no other process."""
    ports: list[int] = []
    while len(ports) < number:
        port = next(_PORTS)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            ports.append(port)
    return ports


class Deployment:
    """A deployment written by `write_deployment`, with its processes by client name or ``superlink`` or ``run``.

    An `app` given in place of comity's needs ``mode``, ``study``, ``out`` and ``nodes`` in its configuration.
    """

    def __init__(
        self,
        directory: Path,
        clients: Sequence[str],
        *,
        target: str | None = None,
        insecure: bool = False,
        app: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.directory, self.clients = directory, tuple(clients)
        self.port, self.control_port, *own = free_ports(2 + len(self.clients))
        self._own_port = dict(zip(self.clients, own, strict=True))
        self.plan = Plan(self.clients, target, (Address("localhost", self.port),), self.control_port, 1, insecure)
        write_deployment(directory, self.plan)
        for client in self.clients:  # results are to be those of one process
            settings = self.site(client) / "site.toml"
            settings.write_text(settings.read_text().replace("disclosure = 0.5", "disclosure = inf"))
        self.coordinator = directory / "coordinator"
        self._mark = uuid.uuid4().hex
        self._environment = {
            **os.environ,
            "COMITY_PYTHON": sys.executable,
            "OMP_NUM_THREADS": "1",
            **({} if app is None else {"COMITY_ANY_APP": "yes", "COMITY_APP": str(app)}),
            **(environment or {}),
            MARK: self._mark,
        }
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._logs = directory / "logs"
        self._logs.mkdir()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            error.add_note(self.all_logs())
        self.close()

    # Files and logs.

    def site(self, client: str) -> Path:
        """Return a client's directory."""
        return self.directory / "sites" / self.plan.directories[client]

    def put_rows(self, client: str, source: Path) -> None:
        """Put a client's rows where its site.toml says."""
        shutil.copy(source, self.site(client) / "rows.csv")

    def log(self, name: str) -> str:
        """Return everything that a process has printed; ``run`` has the output of the last run."""
        path = self._logs / f"{self._slug(name)}.log"
        return path.read_text("utf-8", "replace") if path.exists() else ""

    def all_logs(self) -> str:
        """Return the ends of all logs."""
        return "\n".join(
            f"--- {path.name}\n{path.read_text('utf-8', 'replace')[-MAX_LOG_SHOWN:]}"
            for path in sorted(self._logs.glob("*.log"))
        )

    def commands(self) -> list[str]:
        """Return the command lines of all processes of the deployment that are running."""
        lines = []
        for pid in marked(self._mark):
            with suppress(OSError):
                lines.append(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode())
        return lines

    def is_running(self, name: str) -> bool:
        """Return whether a process was started and has not ended."""
        return name in self._processes and self._processes[name].poll() is None

    # Starting.

    def start(self, clients: Iterable[str] | None = None) -> None:
        """Start the SuperLink, register all keys, and start these clients' SuperNodes (default: all)."""
        self.start_superlink()
        self.register()
        self.start_sites(self.clients if clients is None else clients)

    def start_superlink(self) -> None:
        """Start the SuperLink and wait until sites can connect; after a kill, it has the same database."""
        before = self.log("superlink").count("Sites can connect")
        self._start("superlink", self.coordinator / "superlink.sh")
        self._wait("superlink", "Sites can connect", before)

    def register(self) -> None:
        """Register the clients' keys."""
        done = self._call("register", [self.coordinator / "register.sh"], START_TIMEOUT)
        assert done.returncode == 0, f"{done.stdout}\n{self.all_logs()}"

    def start_site(self, client: str, *, wait: bool = True, script: Path | None = None, **environment: str) -> None:
        """Start a client's SuperNode and wait until it has connected."""
        before = self.log(client).count("SuperNode ID")
        own = {"COMITY_PORT": str(self._own_port.get(client) or free_ports(1)[0]), **environment}
        self._start(client, script or self.site(client) / "supernode.sh", **own)
        if wait:
            self._wait(client, "SuperNode ID", before)

    def start_sites(self, clients: Iterable[str]) -> None:
        """Start clients' SuperNodes, all at the same time."""
        named = list(clients)
        before = {client: self.log(client).count("SuperNode ID") for client in named}
        for client in named:
            self.start_site(client, wait=False)
        for client in named:
            self._wait(client, "SuperNode ID", before[client])

    # Running.

    def start_run(self, mode: str = "solve", **environment: str) -> subprocess.Popen[bytes]:
        """Start run.sh and return its process; its output is in `log("run")`."""
        (self._logs / "run.log").unlink(missing_ok=True)
        return self._start("run", self.coordinator / "run.sh", mode, **environment)

    def run(
        self, mode: str = "solve", *, timeout: float = 300.0, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run the app to its end and return its exit status and output; fail if that takes too long."""
        process = self.start_run(mode, **environment)
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the run took longer than {timeout:.0f} seconds\n{self.all_logs()}") from None
        return subprocess.CompletedProcess(process.args, status, self.log("run"), "")

    def wait_for(self, text: str, name: str = "run", timeout: float = START_TIMEOUT) -> None:
        """Wait until a process has printed a text."""
        self._wait(name, text, 0, timeout)

    def wait_until_ended(self, name: str, timeout: float = START_TIMEOUT) -> int:
        """Wait until a process has ended, and return its exit status."""
        try:
            return self._processes[name].wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{name} did not end in {timeout:.0f} seconds\n{self.all_logs()}") from None

    # Ending.

    def kill(self, name: str, *, alone: bool = False) -> None:
        """Kill a process (SIGKILL) and, unless `alone`, all its descendants."""
        self._end(name, signal.SIGKILL, alone=alone)

    def stop(self, name: str) -> None:
        """Ask a process to end (SIGTERM), and wait until it has."""
        self._end(name, signal.SIGTERM)

    def close(self) -> None:
        """End everything that was started here."""
        for name in reversed(list(self._processes)):
            self._end(name, signal.SIGKILL)
        kill_marked(self._mark)

    def _end(self, name: str, number: signal.Signals, *, alone: bool = False) -> None:
        process = self._processes.pop(name)
        below = [] if alone else _descendants(process.pid)
        process.send_signal(number)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(30)
        for pid in below:  # Flower starts children in new sessions, and they notice late
            if pid in marked(self._mark):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _start(self, name: str, *command: Path | str, **environment: str) -> subprocess.Popen[bytes]:
        assert not self.is_running(name), f"{name} is already running"
        with (self._logs / f"{self._slug(name)}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                command,
                env=self._environment | environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return self._processes[name]

    def _call(self, name: str, command: Sequence[Path | str], timeout: float) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout,
            check=False,
        )
        (self._logs / f"{name}.log").write_text(done.stdout)
        return done

    def _wait(self, name: str, text: str, before: int, timeout: float = START_TIMEOUT) -> None:
        """Wait until a log has a text once more than before."""
        until = time.monotonic() + timeout
        while self.log(name).count(text) <= before:
            assert self.is_running(name), f"{name} has ended\n{self.all_logs()}"
            assert time.monotonic() < until, f"{name} did not say {text!r} in {timeout:.0f} seconds\n{self.all_logs()}"
            time.sleep(0.2)

    def _slug(self, name: str) -> str:
        return f"site-{self.plan.directories[name]}" if name in self.clients else name


def marked(mark: str) -> set[int]:
    """Return the ids of all processes with this mark in their environment."""
    wanted = f"{MARK}={mark}".encode()
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.add(int(entry.name))
    return found


def kill_marked(mark: str) -> None:
    """Kill all processes with this mark in their environment."""
    for pid in marked(mark):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _descendants(pid: int) -> list[int]:
    """Return the descendants of a process, children first."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found, rest = [], [pid]
    while rest:
        below = children.get(rest.pop(), [])
        found += below
        rest += below
    return found
