"""`comity reproduce`: runs the paper's experiments, and shows the paper's values next to ours."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from importlib.metadata import version
from itertools import chain
from pathlib import Path

from comity import __version__
from comity.core.files import write_text
from comity.core.progress import Progress
from comity.core.text import format_number
from comity.research.experiments import adult, cifar10, eicu, synthetic
from comity.research.experiments.cells import Cell, Cells, to_json
from comity.research.experiments.experiment import Experiment
from comity.research.experiments.methods import default_settings
from comity.research.experiments.summary import (
    MethodSummary,
    common_seeds,
    describe_coalitions,
    failures,
    gain_interval,
    summarise,
    to_dict,
    to_markdown,
)
from comity.research.experiments.task import Task, fill_cells

Draw = Callable[[Experiment, str | Path | None, int], Task]
TASKS: dict[str, Draw] = {
    "synthetic": synthetic.task,
    "adult": adult.task,
    "cifar10": cifar10.task,
    "eicu": eicu.task,
}
TABLE, TABLE_JSON = "table.md", "table.json"
_MIN_SEEDS_FOR_INTERVAL = 5  # with fewer, the interval of a gain is too wide to be useful


@dataclass(frozen=True, eq=False)
class Reproduction:
    """The results of an experiment: a cell for each method and seed."""

    experiment: Experiment
    cells: tuple[Cell, ...]

    @cached_property
    def summaries(self) -> tuple[MethodSummary, ...]:
        """A summary of each method over all seeds."""
        return summarise(self.cells, self.experiment.metric)

    @property
    def columns(self) -> list[str]:
        """The names of the table's columns."""
        experiment = self.experiment
        if experiment.transposed:
            names = [
                [experiment.label(summary.method), "paper", "difference"][: self._width(summary.method)]
                for summary in self.summaries
            ]
            return ["client", *chain(*names)]
        names = [[name, f"paper: {name}", "difference"][: self._width(name)] for name in self._entries]
        common = [f"with seed {', '.join(map(str, sorted(self._common)))}"] if self._common else []
        return ["method", *chain(*names), *common, "seeds", "time"]

    def rows(self) -> list[list[str]]:
        """Return the rows of the table: our values, the paper's and the differences."""
        experiment = self.experiment
        if experiment.transposed:
            return [
                [name, *chain(*(self._texts(each, name)[: self._width(each.method)] for each in self.summaries))]
                for name in self._entries
            ]
        common = summarise([cell for cell in self.cells if cell.seed in self._common], experiment.metric)
        means = {each.method: _text(experiment.scale * each.mean, experiment.decimals) for each in common}
        return [
            [
                experiment.label(summary.method),
                *chain(*(self._texts(summary, name)[: self._width(name)] for name in self._entries)),
                *([means[summary.method]] if means else []),
                summary.seeds_text,
                f"{summary.seconds:.0f} s",
            ]
            for summary in self.summaries
        ]

    @property
    def _entries(self) -> tuple[str, ...]:
        """What has values in the table: the clients or means of the paper's table, or all clients and their mean."""
        return self.experiment.columns or (*(self.summaries[0].clients if self.summaries else ()), "mean")

    @cached_property
    def _common(self) -> frozenset[int]:
        """The seeds that all methods have; none, if all methods have the same seeds."""
        return common_seeds(self.cells) or frozenset()

    def _width(self, name: str) -> int:
        """Return how many columns a method or an entry has: our value, the paper's if known, and the difference."""
        paper = self.experiment.paper
        if name not in paper and not any(name in entries for entries in paper.values()):
            return 1
        return 2 if self.experiment.other_clients else 3

    def _texts(self, summary: MethodSummary, name: str) -> list[str]:
        """Return our value, the paper's and the difference as text."""
        places, scale = self.experiment.decimals, self.experiment.scale
        mean, spread = summary.mean, summary.spread
        if name != "mean":
            mean, spread = summary.clients[name], summary.spreads[name]
        known = summary.trained > 1 and not math.isnan(mean)
        ours = _text(scale * mean, places) + (f" ± {scale * spread:.{places}f}" if known else "")
        paper = self.experiment.paper.get(summary.method, {}).get(name)
        if paper is None:
            return [ours, "–", "–"]
        theirs = f"{paper[0]:.{places}f}" + (f" ± {paper[1]:.{places}f}" if len(paper) > 1 else "")
        return [ours, theirs, _text(scale * mean - paper[0], places, "+")]

    @classmethod
    def from_json(cls, text: str) -> Reproduction:
        """Return the results that `to_json` wrote."""
        document = json.loads(text)
        return cls(Experiment.from_dict(document["experiment"]), tuple(map(Cell.from_dict, document["cells"])))

    def to_markdown(self, level: int = 1) -> str:
        """Return the table and its remarks as Markdown, under a heading of this level."""
        parts = [f"{'#' * level} {self.experiment.title}\n"]
        if self.experiment.quick:
            parts.append("A quick run: fewer seeds and rounds than the experiment has.\n")
        parts.append(to_markdown(self.columns, self.rows()))
        parts += [f"{remark}\n" for remark in self.remarks()]
        return "\n".join(parts)

    def to_json(self) -> str:
        """Return the experiment, its settings and its results as JSON."""
        return to_json(
            {
                "experiment": asdict(self.experiment),
                "version": __version__,
                "python": platform.python_version(),
                **{name: version(name) for name in ("numpy", "scipy", "torch")},
                "table": to_dict(self.summaries),
                "cells": list(map(asdict, self.cells)),
            }
        )

    def remarks(self) -> list[str]:
        """Return sentences on the data, gains, failures and coalitions, and the notes of the experiment."""
        found = [
            *(note for cell in self.cells[:1] for note in cell.details.get("notes", ())),
            *self._gains(),
            *failures(self.cells),
            *describe_coalitions(self.cells, self.experiment.label),
        ]
        notes, whole = self.experiment.notes, Experiment.load(self.experiment.name)
        methods, seeds = {cell.method for cell in self.cells}, {cell.seed for cell in self.cells}
        if not notes or not (self.experiment.quick or methods < set(whole.methods) or len(seeds) < whole.seeds):
            return [*notes, *found]
        scope = f"The following notes are about the whole experiment, with {whole.seeds} seeds and all methods."
        return [*found, scope, *notes]

    def _gains(self) -> list[str]:
        """Return the mean gains of methods over those they are compared with, with intervals."""
        experiment, sentences = self.experiment, []
        comparisons = len(experiment.compared_with)
        for method, other in experiment.compared_with.items():
            cells, base = ([cell for cell in self.cells if cell.method == name] for name in (method, other))
            if not base or [cell.seed for cell in cells] != [cell.seed for cell in base]:
                continue
            names = f"{experiment.label(method)} over {experiment.label(other)}"
            trained = sum(new.trained and old.trained for new, old in zip(cells, base, strict=True))
            if trained < _MIN_SEEDS_FOR_INTERVAL:
                sentences.append(f"{names}: fewer than {_MIN_SEEDS_FOR_INTERVAL} seeds, too few for an interval.")
                continue
            low, high = gain_interval(cells, base, experiment.settings["parts"], comparisons)
            verdict = "beyond chance" if low > 0 or high < 0 else "which may be chance"
            bounds = " to ".join(_text(experiment.scale * bound, experiment.decimals, "+") for bound in (low, high))
            seeds = "" if trained == len(base) else f" and {trained} of {len(base)} seeds"
            sentences.append(
                f"{names}, on average over clients{seeds}: {bounds}, {verdict} (95 % interval for all {comparisons} "
                "comparisons together by Bonferroni, corrected by Nadeau and Bengio for rows that seeds share)."
            )
        return sentences


def _text(value: float, places: int, sign: str = "") -> str:
    return "–" if math.isnan(value) else format_number(value, places, sign)


def reproduce(
    experiment: Experiment, directory: str | Path | None, out: str | Path, progress: Progress | None = None
) -> Reproduction:
    """Run an experiment and keep every cell in `out`, from where an interrupted run continues."""

    @lru_cache(maxsize=1)
    def draw(seed: int) -> Task:
        return TASKS[experiment.name](experiment, directory, seed)

    seeds = tuple(range(experiment.first_seed, experiment.first_seed + experiment.seeds))
    job = {
        "experiment": experiment.name,
        "settings": experiment.settings,
        "quick": experiment.quick,
        "rows": draw(seeds[0]).rows,
        "version": __version__,
        "defaults": default_settings(),
    }
    cells = Cells.open(out, job)
    fill_cells(cells, experiment.methods, seeds, draw, progress)
    filled = cells.load_all(Experiment.load(experiment.name).methods)
    # Earlier calls may have filled cells of other methods and more seeds.
    experiment = replace(
        experiment,
        methods=tuple(dict.fromkeys(cell.method for cell in filled)),
        seeds=len({cell.seed for cell in filled}),
    )
    reproduction = Reproduction(experiment, filled)
    write_text(Path(out) / TABLE, reproduction.to_markdown())
    write_text(Path(out) / TABLE_JSON, reproduction.to_json())
    return reproduction
