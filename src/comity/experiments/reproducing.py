"""`comity reproduce`: the paper's tables, its values beside ours."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from comity import __version__
from comity.experiments import adult, cifar10, eicu, synthetic
from comity.experiments.cautions import failures
from comity.experiments.cells import Cell, Cells
from comity.experiments.experiment import Experiment
from comity.experiments.running import Job, Task, Tell, defaults
from comity.experiments.summary import (
    Line,
    coalitions_told,
    common_seeds,
    gain_interval,
    listed,
    summarise,
    to_dict,
    to_markdown,
)
from comity.files import write_text
from comity.writing import plain

Draw = Callable[[Experiment, str | Path | None, int], Task]
TASKS: dict[str, Draw] = {
    "synthetic": synthetic.task,
    "adult": adult.task,
    "cifar10": cifar10.task,
    "eicu": eicu.task,
}
TABLE, TABLE_JSON = "table.md", "table.json"
_FEWEST_SEEDS = 5  # with fewer, an interval of what is gained says nothing


@dataclass(frozen=True, eq=False)
class Reproduced:
    """What came of an experiment: the cells, and a line for each method."""

    experiment: Experiment
    cells: tuple[Cell, ...]
    lines: tuple[Line, ...]

    @property
    def heads(self) -> list[str]:
        """The heads of the table."""
        experiment = self.experiment
        if experiment.upright:
            return ["client", *(head for line in self.lines for head in self._heads_of(line))]
        each = [[column, f"paper: {column}", "difference"][: self._known(column)] for column in self.columns]
        together = [f"with seed {listed(sorted(self._common))}"] if self._common else []
        return ["method", *(head for few in each for head in few), *together, "seeds", "time"]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns: those of the paper, or all clients and their mean."""
        return self.experiment.columns or (*(self.lines[0].clients if self.lines else ()), "mean")

    def rows(self) -> list[list[str]]:
        """Return the rows of the table: ours, the paper's and the difference."""
        experiment = self.experiment
        if experiment.upright:
            return [
                [
                    column,
                    *(text for line in self.lines for text in self._beside(line, column)[: self._known(line.method)]),
                ]
                for column in self.columns
            ]
        return [
            [
                experiment.label(line.method),
                *(text for column in self.columns for text in self._beside(line, column)[: self._known(column)]),
                *(_text(experiment.scale * mean, experiment.decimals) for mean in self._in_common(line)),
                line.told_seeds,
                f"{line.seconds:.0f} s",
            ]
            for line in self.lines
        ]

    @cached_property
    def _common(self) -> frozenset[int]:
        """The seeds that all methods have; nothing, where these are all seeds: means are of the same then."""
        return common_seeds(self.cells) or frozenset()

    def _in_common(self, line: Line) -> tuple[float, ...]:
        """Return a method's mean with the seeds that all have, if there are others."""
        cells = [cell for cell in self.cells if cell.method == line.method and cell.seed in self._common]
        return tuple(each.mean for each in summarise(cells, self.experiment.metric))

    def _heads_of(self, line: Line) -> list[str]:
        label = self.experiment.label(line.method)
        return [label, "paper", "difference"][: self._known(line.method)]

    def _known(self, name: str) -> int:
        """Return how many columns a method or a column has: ours only, or also the paper's and the difference."""
        paper = self.experiment.paper
        most = 2 if self.experiment.others else 3
        return most if name in paper or any(name in columns for columns in paper.values()) else 1

    def _beside(self, line: Line, column: str) -> list[str]:
        """Return ours, the paper's and the difference as text."""
        experiment = self.experiment
        places, scale = experiment.decimals, experiment.scale
        mean, spread = (line.mean, line.spread) if column == "mean" else (line.clients[column], line.spreads[column])
        known = line.trained > 1 and not math.isnan(mean)
        ours = _text(scale * mean, places) + (f" ± {scale * spread:.{places}f}" if known else "")
        paper = experiment.paper.get(line.method, {}).get(column)
        if paper is None:
            return [ours, "–", "–"]
        told = f"{paper[0]:.{places}f}" + (f" ± {paper[1]:.{places}f}" if len(paper) > 1 else "")
        return [ours, told, _text(scale * mean - paper[0], places, "+")]

    @classmethod
    def from_json(cls, text: str) -> Reproduced:
        """Return what was written as JSON."""
        told = json.loads(text)
        experiment = Experiment.from_dict(told["experiment"])
        cells = tuple(Cell.from_dict(each) for each in told["cells"])
        return cls(experiment, cells, summarise(cells, experiment.metric))

    def to_markdown(self, level: int = 1) -> str:
        """Return the table as Markdown, with what is to be known about it, under a heading of this level."""
        experiment = self.experiment
        parts = [f"{'#' * level} {experiment.title}\n"]
        if experiment.quick:
            parts.append("A quick look: fewer seeds and shorter trainings than the experiment has.\n")
        parts.append(to_markdown(self.heads, self.rows()))
        parts += [f"{note}\n" for note in self.remarks()]
        return "\n".join(parts)

    def to_json(self) -> str:
        """Return everything as JSON."""
        told = {
            "experiment": asdict(self.experiment),
            "version": __version__,
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "scipy", "torch")},
            "table": to_dict(self.lines),
            "cells": [cell.to_dict() for cell in self.cells],
        }
        return json.dumps(told, ensure_ascii=False, indent=1, allow_nan=False) + "\n"

    def remarks(self) -> list[str]:
        """Return what is to be known about the table, and what coalitions were found, with which seeds."""
        of_data = [note for cell in self.cells[:1] for note in cell.story.get("notes", ())]
        found = [
            *of_data,
            *self._gains(),
            *failures(self.cells),
            *coalitions_told(self.cells, self.experiment.label),
        ]
        notes, whole = self.experiment.notes, Experiment.load(self.experiment.name)
        methods, seeds = {cell.method for cell in self.cells}, {cell.seed for cell in self.cells}
        if not notes or not (self.experiment.quick or methods < set(whole.methods) or len(seeds) < whole.seeds):
            return [*notes, *found]
        said = f"What follows was written of the whole experiment, with {whole.seeds} seeds and all methods."
        return [*found, said, *notes]

    def _gains(self) -> list[str]:
        """Return what methods gain on average over those they are compared with, and whether chance could do it."""
        experiment, told = self.experiment, []
        by_method = {line.method: [cell for cell in self.cells if cell.method == line.method] for line in self.lines}
        for method, other in experiment.compared.items():
            each, base = by_method.get(method, []), by_method.get(other, [])
            if not base or [cell.seed for cell in each] != [cell.seed for cell in base]:
                continue
            names = f"{experiment.label(method)} over {experiment.label(other)}"
            trained = sum(one.trained and two.trained for one, two in zip(each, base, strict=True))
            if trained < _FEWEST_SEEDS:
                told.append(f"{names}: with fewer than {_FEWEST_SEEDS} seeds, nothing can be said of chance.")
                continue
            low, high = gain_interval(each, base, experiment.settings["parts"], len(experiment.compared))
            sure = "beyond chance" if low > 0 or high < 0 else "so it may be chance"
            least, most = (plain(experiment.scale * bound, experiment.decimals, "+") for bound in (low, high))
            of_seeds = "" if trained == len(base) else f" and {trained} of {len(base)} seeds"
            told.append(
                f"{names}, on average over clients{of_seeds}: {least} to {most}, {sure} (an interval of 95 % for all "
                f"{len(experiment.compared)} of these together, by Bonferroni; that seeds share rows is allowed for as "
                "by Nadeau and Bengio)."
            )
        return told


def _text(value: float, places: int, sign: str = "") -> str:
    return "–" if math.isnan(value) else plain(value, places, sign)


def reproduce(
    experiment: Experiment, directory: str | Path | None, out: str | Path, tell: Tell | None = None
) -> Reproduced:
    """Run an experiment, keeping every cell in `out`: said again, it goes on where it stopped."""

    @lru_cache(maxsize=1)
    def draw(seed: int) -> Task:
        return TASKS[experiment.name](experiment, directory, seed)

    seeds = tuple(range(experiment.first, experiment.first + experiment.seeds))
    job: dict[str, Any] = {
        "experiment": experiment.name,
        "settings": experiment.settings,
        "quick": experiment.quick,
        "rows": draw(seeds[0]).rows,
        "version": __version__,
        "defaults": defaults(),
    }
    cells = Cells.open(out, job)
    Job(experiment.methods, seeds, draw).run(cells, tell or (lambda stage, done, of: None))
    filled = cells.every(Experiment.load(experiment.name).methods)
    # What there is may be of earlier calls, for other methods and more seeds.
    experiment = replace(
        experiment,
        methods=tuple(dict.fromkeys(cell.method for cell in filled)),
        seeds=len({cell.seed for cell in filled}),
    )
    found = Reproduced(experiment, filled, summarise(filled, experiment.metric))
    write_text(Path(out) / TABLE, found.to_markdown())
    write_text(Path(out) / TABLE_JSON, found.to_json())
    return found
