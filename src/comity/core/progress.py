"""Progress of long jobs: the functions that they report to, and its display on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    import rich.progress

Progress = Callable[[str, int, int], None]
"""Called with a stage, and how much of it is done of how much in total."""
Advance = Callable[[int, int], None]
"""Called with how much is done of how much in total, within one stage."""
TrainingProgress = Callable[[int, int, float], None]
"""Called with the steps done, their total, and the loss."""
Notify = Callable[[str], None]
"""Called with a sentence for the people who run a job."""
_LOG_INTERVAL = 30.0  # seconds between two lines in a log


def progress_bar(shown: bool) -> AbstractContextManager[Progress]:
    """Return a context with what long work reports to: `Stages`, or a function that does nothing."""
    return Stages() if shown else nullcontext(lambda stage, done, total: None)


class Stages:
    """The progress of a job: a line for each stage, with a bar and the time left.

    If standard error is not a terminal, a plain line is written every half minute: the log of a long job shows its
    progress, and a short job leaves nothing there. It is used in a `with` block, which restores the terminal at the
    end, whatever happens inside.
    """

    def __init__(self, check: Callable[[], None] | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._check = check
        self._clock = clock
        self._began: float | None = None
        self._logged = 0.0
        self._bars: rich.progress.Progress | None = None
        self._stage: str | None = None
        self._task: rich.progress.TaskID | None = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._bars = _make_bars()
            self._bars.start()
        else:
            self._began = self._logged = self._clock()
        return self

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show the done and total steps of a stage; a remark in brackets after its name may change."""
        if self._check is not None:
            self._check()
        if self._bars is None:
            self._log(stage, done, total)
            return
        name = stage.partition(" (")[0]
        if name != self._stage:
            self._finish()
            self._stage = name
            # The duration of a single step is unknown: its bar runs back and forth.
            self._task = self._bars.add_task(stage, total=total if total > 1 else None, completed=done)
        elif self._task is not None:
            self._bars.update(self._task, completed=done, description=stage)

    def _log(self, stage: str, done: int, total: int) -> None:
        """Write a plain line, unless one was written recently."""
        now = self._clock()
        if self._began is None or now - self._logged < _LOG_INTERVAL:
            return
        self._logged = now
        progress = f": {done} of {total}" if total > 1 else ""
        try:
            print(f"{_format_time(now - self._began)}: {stage}{progress}", file=sys.stderr, flush=True)
        except OSError:  # the reader has gone, or the disk is full: no reason to stop the job
            self._began = None

    def _finish(self) -> None:
        if self._bars is not None and self._task is not None:
            self._bars.update(self._task, total=1, completed=1)

    def __exit__(self, *error: object) -> None:
        if self._bars is not None:
            self._finish()
            self._bars.stop()


def _make_bars() -> rich.progress.Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
    from rich.text import Text

    class Left(ProgressColumn):
        """The time left in a running stage, or the time that a finished one took."""

        def render(self, task: Task) -> Text:
            seconds = task.finished_time if task.finished else task.time_remaining
            text = "" if seconds is None else _format_time(seconds) + ("" if task.finished else " left")
            return Text(text, style="progress.remaining")

    return Progress(
        SpinnerColumn(finished_text="✓"),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        Left(),
        console=Console(stderr=True, markup=False, highlight=False),
        transient=True,
    )


def _format_time(seconds: float) -> str:
    """Write a duration.

    >>> _format_time(2.4), _format_time(75)
    ('2 s', '1:15 min')
    """
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02} min" if minutes else f"{rest} s"
