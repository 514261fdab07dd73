"""The command line in processes forked from one that has loaded what commands need.

Python takes a second to load pandas, scipy and torch, and tests call comity hundreds of times. A command runs as ever,
with its own arguments, directory and environment; only what it would load is there. Tests of how it starts, of signals
and of terminals take the installed command.
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

_MOST = 1 << 16  # bytes of a call
_LOADED = ("scipy.optimize", "scipy.stats", "torch", "pyarrow", "cryptography", "rich.console")
_OURS = ("solving", "solving_modules", "experiments.comparing", "experiments.reproducing", "baselines", "report",
         "tables", "tellings", "checkpoint", "flower.deployment")  # fmt: skip


class Forked:
    """A process that waits for calls. It is started by the first one, and ends when it is closed."""

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
        """Run a command, whose first word is left out, and return how it ended and what it printed.

        It reads `input` from standard input; with `largest`, no file may grow past so many bytes.
        """
        if self._line is None:
            self._start()
        assert self._line is not None
        changed = {name: os.environ.get(name) for name in {*os.environ, *self._known}}
        changed = {name: value for name, value in changed.items() if value != self._known.get(name)}
        told = {"arguments": list(command[1:]), "cwd": str(cwd), "environment": changed, "largest": largest}
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            given.write(input.encode())
            given.seek(0)
            files = [file.fileno() for file in (given, out, err)]
            socket.send_fds(self._line, [json.dumps(told).encode()], files)
            self._line.settimeout(timeout)
            try:
                status = int(self._line.recv(_MOST))
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
        """End the process, and a command that it may be running."""
        if self._line is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._line.close()
            self._line = None


def _serve(line: socket.socket) -> None:
    import comity.cli

    for found in pkgutil.walk_packages(comity.cli.__path__, "comity.cli."):
        import_module(found.name)
    for name in (*_LOADED, *(f"comity.{ours}" for ours in _OURS)):
        with suppress(ImportError):
            import_module(name)
    gc.freeze()  # else each command that collects garbage goes through, and copies, all that was loaded here
    while True:
        call, files, _, _ = socket.recv_fds(line, _MOST, 3)
        if not call:  # whoever called is gone
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
    """Be the command, to its end."""
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
    sys.path.pop(0)  # what lies beside this file is not there for comity
    with socket.socket(fileno=int(sys.argv[1])) as own:
        _serve(own)
