"""Filling the cells of a table, one method and seed after the other."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from comity.experiments.cells import Cell, Cells

Tell = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a method attained: each client's value, what it has alone if not as with `local`, and what else to tell."""

    values: dict[str, float]
    alone: dict[str, float] | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    story: dict[str, Any] = field(default_factory=dict)


class Task(Protocol):
    """Clients with rows to train with and rows to test with, drawn with one seed."""

    @property
    def rows(self) -> str:
        """A digest of whose rows train and test."""

    def run(self, method: str, before: dict[str, Any], tell: Tell) -> Outcome:
        """Run a method; `before` are the settings that were chosen with the first seed, if this is not the first."""


@dataclass(frozen=True, slots=True)
class Job:
    """Methods and seeds, the first of which is where settings are chosen; `draw` makes the task of a seed."""

    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    draw: Callable[[int], Task]

    def run(self, cells: Cells, tell: Tell) -> None:
        """Fill all cells that are still empty."""
        of = len(self.methods) * len(self.seeds)
        wanted = [(method, seed) for method in self.methods for seed in self.seeds]
        found = {at: cell for at in wanted if (cell := cells.load(*at)) is not None}
        for seed in self.seeds:
            task: Task | None = None
            for method in self.methods:
                if (method, seed) in found:
                    continue
                task = task or self.draw(seed)
                first = cells.load(method, self.seeds[0])
                tell(f"{method}, seed {seed}", len(found), of)
                began = time.perf_counter()
                outcome = task.run(method, first.settings if first else {}, tell)
                taken = time.perf_counter() - began
                local = cells.load("local", seed)
                own = outcome.values if method == "local" else local.values if local else {}
                alone = outcome.alone or own
                cell = Cell(
                    method, seed, outcome.values, alone, taken, task.rows, outcome.settings, outcome.story
                )  # fmt: skip
                cells.save(cell)
                found[method, seed] = cell
