"""Client apps that begin at once (``python -m comity.flower.executing``, in place of ``flower-superexec``).

Flower starts a new Python for every message, and to load what it takes to answer one takes seconds, ten times longer
than the answer. Here everything is loaded once, and for every message the process forks: each still has a process of
its own, with nothing left of the one before.

All arguments are those of ``flower-superexec``. Where a process cannot fork safely, it is as with Flower.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from flwr.supercore.constant import TaskType
from flwr.supercore.superexec.executor import LaunchResult
from flwr.supercore.superexec.executor.subprocess_executor import SubprocessExecutor
from flwr.supercore.superexec.executor.types import ExecutionSpec

_LOADED = ("comity.flower.client_app", "comity.client.client", "comity.tables", "flwr.supernode.runtime.run_clientapp")
_LOADED_WITH_TORCH = ("comity.client.learning", "comity.neural.answers", "comity.neural.memory")
_FAILED = 1


class Forking(SubprocessExecutor):
    """Runs every client app in a fork of this process."""

    def launch(self, spec: ExecutionSpec) -> LaunchResult:
        """Start a task; what is no client app, Flower's way."""
        if spec.task_type != TaskType.CLIENT_APP:
            return super().launch(spec)
        if os.fork() == 0:
            _run(spec)
        return LaunchResult.accepted()

    def reconcile(self) -> None:
        """Let processes go that have ended."""
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:  # there is none
            pass


def _run(spec: ExecutionSpec) -> None:
    """Answer one message, and end this process."""
    status = _FAILED
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        if spec.suppress_output:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
        path = None if spec.insecure else spec.root_certificates_path
        run: Any = import_module("flwr.supernode.runtime.run_clientapp")
        run.run_clientapp(
            runtime_api_address=spec.runtime_api_address,
            token=spec.token,
            insecure=spec.insecure,
            certificates=None if path is None else Path(path).read_bytes(),
            parent_pid=spec.parent_pid,
            runtime_dependency_install=spec.runtime_dependency_install,
        )
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else _FAILED
    except BaseException:  # noqa: BLE001 - nobody else would say it
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def load() -> None:
    """Load what client apps need: torch too, if it is there."""
    for module in (*_LOADED, *(_LOADED_WITH_TORCH if find_spec("torch") else ())):
        import_module(module)


def main() -> None:
    """Run the SuperExec."""
    superexec: Any = import_module("flwr.supercore.superexec.run_superexec")
    if sys.platform == "linux":  # elsewhere, libraries may not survive a fork
        load()
        superexec.get_executor = lambda *given, **named: Forking()
    from flwr.supercore.cli.flower_superexec import flower_superexec

    sys.argv[0] = "flower-superexec"
    flower_superexec()


if __name__ == "__main__":
    main()
