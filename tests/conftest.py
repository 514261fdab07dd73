"""What all tests share."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import settings

from forking import Forked

settings.register_profile("comity", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("comity")

Run = Callable[..., subprocess.CompletedProcess[str]]


_SLOW = ("federation", "examples")  # directories of tests that take or wait for minutes, the longest first


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deal the slow tests to half of the workers, each to the beginning of its share; they wait most of their time.

    So none of them is left to the end, and the other half always has work for the processors. Shares are as xdist's
    worksteal makes them first: runs of equal length, as far as that goes.
    """
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    slow = [item for name in _SLOW for item in items if item.path.parent.name == name]
    quick = iter([item for item in items if item.path.parent.name not in _SLOW])
    left, dealt = len(items), []
    for place in range(workers):
        share = left // (workers - place)
        first = slow[place :: (workers + 1) // 2] if place < (workers + 1) // 2 else []
        dealt += [*first, *islice(quick, share - len(first))]
        left -= share
    items[:] = [*dealt, *quick]


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
