"""What all tests share."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import settings

from support.forking import Forked

settings.register_profile("comity", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("comity")

Run = Callable[..., subprocess.CompletedProcess[str]]

# A shell starts background jobs (`make test &`) with SIGINT ignored, and every command that a test starts would inherit
# that and could not be interrupted. A signal that is caught is reset to its default in a new program.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, lambda number, frame: None)


# Seconds, about, that files of tests take which wait for other processes most of their time.
_SLOW = {
    "federation/test_deployment.py": 250,
    "cli/test_federation_deployed.py": 140,
    "examples/test_runs.py": 110,
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deal the slow files to half of the workers, evenly, each to the beginning of its share.

    So none of them is left to the end, and the other half always has work for the processors. Shares are as xdist's
    worksteal makes them first: runs of equal length, as far as that goes.
    """
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    slow: dict[str, list[pytest.Item]] = {name: [] for name in _SLOW}
    quick = []
    for item in items:
        slow.get("/".join(item.path.parts[-2:]), quick).append(item)
    firsts: list[list[pytest.Item]] = [[] for _ in range(workers)]
    busy = [0] * ((workers + 1) // 2)
    for name, seconds in _SLOW.items():
        place = busy.index(min(busy))
        firsts[place] += slow[name]
        busy[place] += seconds
    left, rest, dealt = len(items), iter(quick), []
    for place, first in enumerate(firsts):
        share = left // (workers - place)
        dealt += [*first, *islice(rest, max(share - len(first), 0))]
        left -= share
    items[:] = [*dealt, *rest]


@pytest.fixture(scope="session")
def _forked() -> Iterator[Forked]:
    forked = Forked()
    yield forked
    forked.close()


@pytest.fixture(scope="session")
def command() -> str:
    """Where the installed command is."""
    beside = Path(sys.executable).with_name("comity")
    found = str(beside) if beside.exists() else shutil.which("comity")
    assert found, "comity is not installed; make test installs it"
    return found


@pytest.fixture
def installed(tmp_path: Path, command: str) -> Run:
    """The installed command, run in an empty directory, as a user types it."""

    def run(*arguments: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [command, *map(str, arguments)],
            cwd=options.pop("cwd", tmp_path),
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
            check=False,
            **options,
        )

    return run


@pytest.fixture
def comity(installed: Run, command: str, tmp_path: Path, _forked: Forked) -> Run:
    """The command, forked from a process that has loaded what it needs; with options of a process, as installed.

    `input` is what it reads from standard input; no file may grow past `largest` bytes.
    """

    def run(*arguments: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
        if options.keys() - {"input", "largest"}:
            return installed(*arguments, **options)
        return _forked.run([command, *map(str, arguments)], cwd=tmp_path, timeout=120, **options)

    return run
