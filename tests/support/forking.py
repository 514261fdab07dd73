"""The command line in processes forked from one that has already imported what commands need.

Python takes a second to import pandas, scipy and torch, and tests call comity hundreds of times. A command runs as
usual, with its own arguments, directory and environment; only its imports are done already. Tests of starting, of
signals and of terminals use the installed command.
"""

from __future__ import annotations

import gc
import json
import os
import pkgutil
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

_MAX_CALL_BYTES = 1 << 16
_PRELOADED = ("scipy.optimize", "scipy.stats", "torch", "pyarrow", "cryptography", "rich.console")
_OURS = ("solving.solve", "solving.modules", "solving.findings", "research.experiments.comparison",
         "research.experiments.reproduction", "research.baselines", "report", "result.sections", "client.tables",
         "families.network.checkpoint", "flower.deploy.deployment")  # fmt: skip


class Forked:
    """A process that waits for calls. The first call starts it, and `close` ends it."""

    def __init__(self) -> None:
        self._line: socket.socket | None = None
        self._known: dict[str, str] = {}

    def run(
        self,
        command: Sequence[str],
        cwd: Path,
        timeout: float,
        input: str = "",  # noqa: A002 - as subprocess has it
        largest: int | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command, without its first word, and return its exit status and output.

        `input` is its standard input; with `largest`, no file may grow beyond that many bytes.
        """
        if self._line is None:
            self._start()
        assert self._line is not None
        changed = {name: os.environ.get(name) for name in {*os.environ, *self._known}}
        changed = {name: value for name, value in changed.items() if value != self._known.get(name)}
        call = {"arguments": list(command[1:]), "cwd": str(cwd), "environment": changed, "largest": largest}
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            given.write(input.encode())
            given.seek(0)
            files = [file.fileno() for file in (given, out, err)]
            socket.send_fds(self._line, [json.dumps(call).encode()], files)
            self._line.settimeout(timeout)
            try:
                status = int(self._line.recv(_MAX_CALL_BYTES))
            except TimeoutError:
                self.close()
                raise subprocess.TimeoutExpired(list(command), timeout) from None
            printed = []
            for file in (out, err):
                file.seek(0)
                printed.append(file.read().decode())
        return subprocess.CompletedProcess(list(command), status, *printed)

    def _start(self) -> None:
        self._line, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._known = dict(os.environ)
        with there:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(there.fileno())],
                pass_fds=[there.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )

    def close(self) -> None:
        """End the process, and the command that it is running, if any."""
        if self._line is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._line.close()
            self._line = None


def _serve(line: socket.socket) -> None:
    import comity.cli
    import comity.flower.deploy.deployment  # the rest of this package needs flwr, which no command here calls

    for found in pkgutil.walk_packages(comity.cli.__path__, "comity.cli."):
        import_module(found.name)
    for name in (*_PRELOADED, *(f"comity.{ours}" for ours in _OURS)):
        try:
            import_module(name)
        except ModuleNotFoundError as error:
            if str(error.name).startswith("comity"):
                raise
    gc.freeze()  # otherwise a command that collects garbage visits, and so copies, all that was imported here
    while True:
        call, files, _, _ = socket.recv_fds(line, _MAX_CALL_BYTES, 3)
        if not call:  # the caller has ended
            return
        child = os.fork()
        if child == 0:
            line.close()
            _run(json.loads(call), files)
        for file in files:
            os.close(file)
        _, status = os.waitpid(child, 0)
        line.send(str(os.waitstatus_to_exitcode(status)).encode())


def _run(call: Mapping[str, object], files: Sequence[int]) -> None:
    """Run the command in this process, and exit with its status."""
    status = 1
    try:
        for place, file in enumerate(files):
            os.dup2(file, place)
            os.close(file)
        os.chdir(str(call["cwd"]))
        for name, value in dict(call["environment"]).items():  # type: ignore[call-overload]
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        if call["largest"] is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (call["largest"], call["largest"]))  # type: ignore[arg-type]
        sys.argv = ["comity", *call["arguments"]]  # type: ignore[misc]
        from comity.__main__ import main

        main()
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except BaseException:  # noqa: BLE001 - as Python does
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    sys.path.pop(0)  # modules beside this file must not be importable by comity
    with socket.socket(fileno=int(sys.argv[1])) as own:
        _serve(own)
