"""What all tests share."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("comity", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("comity")

Run = Callable[..., subprocess.CompletedProcess[str]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that wait for other processes for minutes, so that none of them is the last."""
    items.sort(key=lambda item: "federation" not in item.path.parts)


@pytest.fixture
def comity(tmp_path: Path) -> Run:
    """The installed command, run in an empty directory, as a user types it."""
    beside = Path(sys.executable).with_name("comity")
    command = str(beside) if beside.exists() else shutil.which("comity")
    assert command, "comity is not installed; make test installs it"

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
