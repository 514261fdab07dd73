"""`comity reproduce`: the paper's tables, its values beside ours."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from comity import __version__
from comity.experiments import adult, cifar10, synthetic
from comity.experiments.cells import Cell, Cells
from comity.experiments.experiment import Experiment
from comity.experiments.running import Job, Task, Tell
from comity.experiments.summary import Line, summarise, to_dict, to_markdown
from comity.files import write_text

Draw = Callable[[Experiment, str | Path | None, int], Task]
TASKS: dict[str, Draw] = {
    "synthetic": synthetic.task,
    "adult": adult.task,
    "cifar10": cifar10.task,
}
TABLE, TABLE_JSON = "table.md", "table.json"


@dataclass(frozen=True, eq=False)
class Reproduced:
    """What came of an experiment: the cells, and a line for each method."""

    experiment: Experiment
    cells: tuple[Cell, ...]
    lines: tuple[Line, ...]

    @property
    def heads(self) -> list[str]:
        """The heads of the table."""
        each = [[column, f"paper: {column}", "difference"] for column in self.experiment.columns]
        return ["method", *(head for three in each for head in three), "seeds", "time"]

    def rows(self) -> list[list[str]]:
        """Return the rows of the table: ours, the paper's and the difference, for every column."""
        return [
            [
                self.experiment.label(line.method),
                *(text for column in self.experiment.columns for text in self._beside(line, column)),
                str(line.seeds),
                f"{line.seconds:.0f} s",
            ]
            for line in self.lines
        ]

    def _beside(self, line: Line, column: str) -> list[str]:
        experiment = self.experiment
        places, scale = experiment.decimals, experiment.scale
        mean, spread = (line.mean, line.spread) if column == "mean" else (line.clients[column], line.spreads[column])
        ours = f"{scale * mean:.{places}f}" + (f" ± {scale * spread:.{places}f}" if line.seeds > 1 else "")
        paper = experiment.paper.get(line.method, {}).get(column)
        if paper is None:
            return [ours, "–", "–"]
        return [ours, f"{paper[0]:.{places}f} ± {paper[1]:.{places}f}", f"{scale * mean - paper[0]:+.{places}f}"]

    def to_markdown(self) -> str:
        """Return the table as Markdown, with what is to be known about it."""
        experiment = self.experiment
        parts = [f"# {experiment.title}\n"]
        if experiment.quick:
            parts.append("A quick look: fewer seeds and shorter trainings than the experiment has.\n")
        parts.append(to_markdown(self.heads, self.rows()))
        parts += [f"{note}\n" for note in (*experiment.notes, *self._stories())]
        return "\n".join(parts)

    def to_json(self) -> str:
        """Return everything as JSON."""
        told = {
            "experiment": asdict(self.experiment),
            "version": __version__,
            "python": platform.python_version(),
            "table": to_dict(self.lines),
            "cells": [asdict(cell) for cell in self.cells],
        }
        return json.dumps(told, ensure_ascii=False, indent=1) + "\n"

    def _stories(self) -> list[str]:
        """Return what coalitions were found, and how often."""
        told = [cell for cell in self.cells if cell.method == "ce" and "coalitions" in cell.story]
        found: dict[str, list[int]] = {}
        for cell in told:
            together = "; ".join("{" + ", ".join(each) + "}" for each in sorted(cell.story["coalitions"]))
            found.setdefault(f"{together} ({cell.story['verdict']})", []).append(cell.seed)
        return [
            f"Coalitions with seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}: {together}."
            for together, seeds in found.items()
        ]


def reproduce(
    experiment: Experiment, directory: str | Path | None, out: str | Path, tell: Tell | None = None
) -> Reproduced:
    """Run an experiment, keeping every cell in `out`: said again, it goes on where it stopped."""
    job: dict[str, Any] = {"experiment": experiment.name, "settings": experiment.settings, "quick": experiment.quick}
    cells = Cells.open(out, job)

    def draw(seed: int) -> Task:
        return TASKS[experiment.name](experiment, directory, seed)

    Job(experiment.methods, tuple(range(experiment.seeds)), draw).run(cells, tell or (lambda stage, done, of: None))
    filled = cells.every(Experiment.load(experiment.name).methods)
    found = Reproduced(experiment, filled, summarise(filled, experiment.metric))
    write_text(Path(out) / TABLE, found.to_markdown())
    write_text(Path(out) / TABLE_JSON, found.to_json())
    return found
