"""Fills the cells of a table of results, one method and seed after the other."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from comity.core.progress import Progress
from comity.errors import InputError
from comity.research.baselines import METHODS
from comity.research.experiments.cells import Cell, Cells


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a method attained: each client's value of the metric on its test rows.

    `alone` are the values of the clients' models alone, unless these are the values of the method `local`. `settings`
    are those that were chosen, `details` anything else to report, and `seconds` the time, if it was not spent now.
    """

    values: dict[str, float]
    alone: dict[str, float] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    seconds: float | None = None


def default_settings() -> dict[str, Any]:
    """Return the default settings of the baselines: cells that were made with other defaults are not reused."""
    return {name: asdict(method) for name, method in METHODS.items()}


class Task(Protocol):
    """Clients with training rows and test rows, drawn with one seed."""

    @property
    def rows(self) -> str:
        """A digest of all training and test rows."""

    def run(self, method: str, progress: Progress) -> Outcome:
        """Run a method."""


@dataclass(frozen=True, slots=True)
class Job:
    """Methods and seeds; `draw` makes the task of a seed."""

    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    draw: Callable[[int], Task]

    def run(self, cells: Cells, progress: Progress) -> None:
        """Fill all cells that are still empty."""
        for number, seed in enumerate(self.seeds):
            left = [method for method in self.methods if cells.load(method, seed) is None]
            task = self.draw(seed) if left else None
            for method in self.methods:
                kept = cells.load(method, seed)
                if task is None:
                    continue
                if kept is not None and kept.rows != task.rows:
                    raise InputError(
                        f"{cells.directory}: the kept result of {method!r} with seed {seed} is of other rows; give "
                        "another directory"
                    )
                if kept is None:
                    with_seed = _with_seed(progress, seed)
                    with_seed(method, number, len(self.seeds))
                    cells.save(_fill(task, method, seed, with_seed))


def _fill(task: Task, method: str, seed: int, progress: Progress) -> Cell:
    """Run a method and return its cell."""
    began = time.perf_counter()
    outcome = task.run(method, progress)
    seconds = time.perf_counter() - began if outcome.seconds is None else outcome.seconds
    return Cell(method, seed, outcome.values, outcome.alone, seconds, task.rows, outcome.settings, outcome.details)


def _with_seed(progress: Progress, seed: int) -> Progress:
    """Return a progress callback that puts the seed before the names of stages."""
    return lambda stage, done, total: progress(f"seed {seed}, {stage}", done, total)
