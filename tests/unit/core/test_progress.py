"""The progress of a job in a log, where standard error is no terminal."""

import io
import sys

import pytest

from comity.core.progress import Stages


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_log_has_a_line_every_half_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    """If every stage wrote a line, logs would be full of them; if none did, nobody would know whether a job runs."""
    clock = Clock()
    with Stages(clock=clock) as stages:
        for second in range(0, 100, 5):
            clock.now = 1000.0 + second
            stages("seed 0, fedavg (loss 1.2)", second, 400)
        stages("reading", 0, 1)
    written = capsys.readouterr()
    assert written.out == ""
    assert written.err.splitlines() == [
        "30 s: seed 0, fedavg (loss 1.2): 30 of 400",
        "1:00 min: seed 0, fedavg (loss 1.2): 60 of 400",
        "1:30 min: seed 0, fedavg (loss 1.2): 90 of 400",
    ]


def test_a_stage_of_one_step_is_logged_without_a_count(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with Stages(clock=clock) as stages:
        clock.now += 45
        stages("reading", 0, 1)
    assert capsys.readouterr().err == "45 s: reading\n"


def test_a_log_that_cannot_be_written_does_not_end_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk or a reader that has gone would cost hours of training."""

    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

    clock, full = Clock(), Full()
    monkeypatch.setattr(sys, "stderr", full)
    with Stages(clock=clock) as stages:
        for _ in range(3):
            clock.now += 45
            stages("training", 0, 10)


def test_short_jobs_leave_nothing_in_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    with Stages() as stages:
        stages("searching", 0, 10)
    assert capsys.readouterr().err == ""
