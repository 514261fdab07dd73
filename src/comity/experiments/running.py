"""Filling the cells of a table, one method and seed after the other."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from comity.baselines import METHODS
from comity.errors import InputError
from comity.experiments.cells import Cell, Cells

Tell = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a method attained: each client's value, and what else to tell.

    `alone` is what clients have by themselves, if that is not what they have with `local`; `seconds` how long it took,
    if that was not now.
    """

    values: dict[str, float]
    alone: dict[str, float] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    story: dict[str, Any] = field(default_factory=dict)
    seconds: float | None = None


def defaults() -> dict[str, Any]:
    """Return what baselines are set to unless told: cells of other settings are not taken for the same."""
    return {name: asdict(method) for name, method in METHODS.items()}


class Task(Protocol):
    """Clients with rows to train with and rows to test with, drawn with one seed."""

    @property
    def rows(self) -> str:
        """A digest of whose rows train and test."""

    def run(self, method: str, tell: Tell) -> Outcome:
        """Run a method."""


@dataclass(frozen=True, slots=True)
class Job:
    """Methods and seeds; `draw` makes the task of a seed."""

    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    draw: Callable[[int], Task]

    def run(self, cells: Cells, tell: Tell) -> None:
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
                        f"{cells.directory}: what is kept of {method!r} with seed {seed} is of other rows; give "
                        "another directory"
                    )
                if kept is None:
                    hear = _with_seed(tell, seed)
                    hear(method, number, len(self.seeds))
                    cells.save(_filled(task, method, seed, hear))


def _filled(task: Task, method: str, seed: int, tell: Tell) -> Cell:
    """Return the cell of a method that is run now."""
    began = time.perf_counter()
    outcome = task.run(method, tell)
    seconds = time.perf_counter() - began if outcome.seconds is None else outcome.seconds
    return Cell(method, seed, outcome.values, outcome.alone, seconds, task.rows, outcome.settings, outcome.story)


def _with_seed(tell: Tell, seed: int) -> Tell:
    """Return what tells of stages with the seed before their names."""
    return lambda stage, done, of: tell(f"seed {seed}, {stage}", done, of)
