"""An executor that forks client apps (``python -m comity.flower.deploy.executor``, in place of ``flower-superexec``).

Flower starts a new Python process for every message, which loads its modules for seconds, ten times longer than it
takes to answer. This process loads them once and forks for every message, so each message still has a new process.

The arguments are those of ``flower-superexec``. On systems where forking is not safe, Flower's own executor runs.
"""

import os
import signal
import sys
import traceback
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from flwr.supercore.constant import TaskType
from flwr.supercore.superexec.executor import LaunchResult
from flwr.supercore.superexec.executor.subprocess_executor import SubprocessExecutor
from flwr.supercore.superexec.executor.types import ExecutionSpec

_RUN_MODULE = "flwr.supernode.runtime.run_clientapp"
_MODULES = ("comity.flower.client_app", "comity.client.client", "comity.client.tables", _RUN_MODULE)
_TORCH_MODULES = tuple(f"comity.families.network.answers.{name}" for name in ("learner", "replies", "memory"))


class ForkingExecutor(SubprocessExecutor):
    """Runs every client app in a fork of this process."""

    def launch(self, spec: ExecutionSpec) -> LaunchResult:
        """Start a task: a client app in a fork, any other in Flower's way."""
        if spec.task_type != TaskType.CLIENT_APP:
            return super().launch(spec)
        if os.fork() == 0:
            _run(spec)
        return LaunchResult.accepted()

    def reconcile(self) -> None:
        """Reap the processes that have ended."""
        with suppress(ChildProcessError):  # there are no children
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _run(spec: ExecutionSpec) -> None:
    """Answer one message, and exit this process."""
    status = 1
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        if spec.suppress_output:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
        certificates = None if spec.insecure else spec.root_certificates_path
        run: Any = import_module(_RUN_MODULE)
        run.run_clientapp(
            runtime_api_address=spec.runtime_api_address,
            token=spec.token,
            insecure=spec.insecure,
            certificates=None if certificates is None else Path(certificates).read_bytes(),
            parent_pid=spec.parent_pid,
            runtime_dependency_install=spec.runtime_dependency_install,
        )
    except SystemExit as exit_:
        status = exit_.code if isinstance(exit_.code, int) else 1
    except BaseException:  # noqa: BLE001 - nobody else would report it
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def main() -> None:
    """Run the SuperExec."""
    superexec: Any = import_module("flwr.supercore.superexec.run_superexec")
    if sys.platform == "linux":  # on other systems, libraries may break in a fork
        for module in (*_MODULES, *(_TORCH_MODULES if find_spec("torch") else ())):
            import_module(module)
        superexec.get_executor = lambda *arguments, **options: ForkingExecutor()
    from flwr.supercore.cli.flower_superexec import flower_superexec

    sys.argv[0] = "flower-superexec"
    flower_superexec()


if __name__ == "__main__":
    main()
