"""How far a long job is, on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

import click

from comity.cli import ending

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_SELDOM = 30.0  # seconds between two lines in a log


class Stages:
    """A line for each stage of a job, with a bar and the time left.

    Where standard error is no terminal, there is a plain line every half a minute, so that the log of a long job tells
    how far it is, and a short one leaves nothing there. A `with` block ends it, whatever happens inside, and leaves the
    terminal as it was.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began: float | None = None
        self._told = 0.0
        self._progress: Progress | None = None
        self._stage: str | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._progress = _progress()
            self._progress.start()
        else:
            self._began = self._told = self._clock()
        return self

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Tell that of a stage so much of so much is done; what stands in brackets after its name may change."""
        ending.check()
        if self._progress is None:
            self._log(stage, done, total)
            return
        name = stage.partition(" (")[0]
        if name != self._stage:
            self._finish()
            self._stage = name
            # Of a single step nobody knows how long it takes: its bar runs to and fro.
            self._task = self._progress.add_task(stage, total=total if total > 1 else None, completed=done)
        elif self._task is not None:
            self._progress.update(self._task, completed=done, description=stage)

    def _log(self, stage: str, done: int, total: int) -> None:
        """Write a plain line, unless there was one a moment ago."""
        now = self._clock()
        if self._began is None or now - self._told < _SELDOM:
            return
        self._told = now
        far = f": {done} of {total}" if total > 1 else ""
        try:
            click.echo(f"{time_told(True, now - self._began, None)}: {stage}{far}", err=True)
        except OSError:  # whoever read it has gone, or the disk is full: that is no reason to end the work
            self._began = None

    def _finish(self) -> None:
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, total=1, completed=1)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._progress is not None:
            self._finish()
            self._progress.stop()


def _progress() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
    from rich.text import Text

    class Left(ProgressColumn):
        """The time left of a stage that goes on, or the time that one took."""

        def render(self, task: Task) -> Text:
            return Text(time_told(task.finished, task.finished_time, task.time_remaining), style="progress.remaining")

    return Progress(
        SpinnerColumn(finished_text="✓"),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        Left(),
        console=Console(stderr=True, markup=False, highlight=False),
        transient=True,
    )


def time_told(finished: bool, took: float | None, left: float | None) -> str:
    """Write how long a stage took or will still take, in seconds or minutes.

    >>> time_told(True, 2.4, 0), time_told(False, None, 75), time_told(False, None, None)
    ('2 s', '1:15 min left', '')
    """
    seconds = took if finished else left
    if seconds is None:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    return (f"{minutes}:{rest:02} min" if minutes else f"{rest} s") + ("" if finished else " left")
