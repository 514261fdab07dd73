"""Flower's command line, when it does not go well: one message, and a status that says so."""

import time
from pathlib import Path

import pytest

from comity.errors import FormatError
from comity.flower.deploy.launch import RunStatus
from comity.flower.deploy.registration import read_keys, read_nodes
from support.deployment import Deployment
from support.standin import write_stand_in


def test_a_run_without_a_superlink_fails_with_one_line(tmp_path: Path) -> None:
    asleep = Deployment(tmp_path / "trial", ["a"], app=write_stand_in(tmp_path / "app"))
    began = time.monotonic()
    done = asleep.run(timeout=120)
    assert done.returncode == 1
    (line,) = done.stdout.strip().splitlines()
    assert line.startswith("flwr run failed: Connection to the SuperLink is unavailable.")
    assert time.monotonic() - began < 60


def test_an_invalid_app_fails_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    done = Deployment(tmp_path / "trial", ["a"], app=tmp_path / "app").run(timeout=120)
    assert done.returncode == 1
    assert "flwr run failed: " in done.stdout
    assert "Traceback" not in done.stdout


def test_an_unknown_mode_is_refused(tmp_path: Path) -> None:
    done = Deployment(tmp_path / "trial", ["a"]).run("learn; rm", timeout=60)
    assert done.returncode == 2
    assert "give solve or check" in done.stdout


@pytest.mark.parametrize("text", ["x", "a = 1", "[keys]", "keys = 3", "[keys]\na = 3"])
def test_an_invalid_file_of_keys_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "clients.toml").write_text(text)
    with pytest.raises(FormatError, match=r"clients\.toml: "):
        read_keys(tmp_path / "clients.toml")


@pytest.mark.parametrize("text", ["x", "[]", '{"a": "b"}', "3"])
def test_an_invalid_file_of_nodes_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "nodes.json").write_text(text)
    with pytest.raises(FormatError, match=r"nodes\.json: "):
        read_nodes(tmp_path / "nodes.json")


def test_no_nodes_are_known_before_registration(tmp_path: Path) -> None:
    assert read_nodes(tmp_path / "nodes.json") == {}


@pytest.mark.parametrize(
    ("status", "text", "completed"),
    [
        (RunStatus("7", "finished:completed", "N/A"), "run 7 completed", True),
        (RunStatus("7", "finished:failed", "no good"), "run 7 failed: no good", False),
        (RunStatus("7", "running", ""), "run 7 running", False),
    ],
)
def test_a_run_status_as_text(status: RunStatus, text: str, completed: bool) -> None:
    assert str(status) == text
    assert status.completed is completed
