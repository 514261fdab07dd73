"""`comity compare`: all methods on a user's table, under the same splits and budgets."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from comity import __version__
from comity.baselines import Budget
from comity.client import Client
from comity.errors import InputError
from comity.experiments.baseline_run import BaselineRun
from comity.experiments.cautions import failures, few_rows, other_seeds, rates_at_the_end, without_value
from comity.experiments.cells import Cell, Cells
from comity.experiments.ours import OURS
from comity.experiments.running import Job, Tell, defaults
from comity.experiments.summary import HEADS, Line, coalitions_told, summarise, to_dict, to_markdown
from comity.experiments.tables import EVERY, TableTask, digest, divide
from comity.federation import InProcess
from comity.files import write_text
from comity.learn import agree_on
from comity.metrics import METRICS
from comity.study import Study

TABLE, TABLE_JSON = "table.md", "table.json"


@dataclass(frozen=True, slots=True)
class Comparison:
    """How methods are compared: which ones, over how many `seeds`, with one part in `parts` of the rows to test with.

    Every method may spend the `budget`, at the best of some `rates` by rows held out.
    """

    methods: tuple[str, ...] = EVERY
    seeds: int = 3
    parts: int = 5
    budget: Budget = field(default_factory=lambda: Budget(rounds=60, steps=5))
    rates: tuple[float, ...] = (0.01, 0.05, 0.2)

    def __post_init__(self) -> None:
        for name in self.methods:
            if name not in EVERY:
                raise InputError(f"there is no method {name!r}; there are {', '.join(EVERY)}")
        for name, least in (("seeds", 1), ("parts", 2)):
            if getattr(self, name) < least:
                raise InputError(f"{name} is {getattr(self, name)}; it must be {least} or more")
        if not self.rates:
            raise InputError("there is no rate to train at; give one or more")
        for rate in self.rates:
            replace(self.budget, rate=rate)  # which checks it

    def job(self, clients: tuple[Client, ...], study: Study) -> Job:
        """Return the job on some clients."""
        ordered = tuple(name for name in EVERY if name in self.methods)

        def draw(seed: int) -> TableTask:
            divided = divide(clients, study.target, self.parts, seed)
            # Models that take long are not trained again, neither baselines' nor ours.
            baselines = BaselineRun(self.rates, again=study.model == "linear")
            return TableTask(divided, replace(study, seed=seed), self.budget, baselines)

        return Job(ordered, tuple(range(study.seed, study.seed + self.seeds)), draw)

    def tests(self, clients: tuple[Client, ...], study: Study) -> dict[str, int]:
        """Return how many rows each client has to test with; with every seed, about as many."""
        divided = divide(clients, study.target, self.parts, study.seed)
        return {client.name: 0 if client.test is None else len(client.test) for client in divided}


@dataclass(frozen=True, eq=False)
class Compared:
    """What came of a comparison: the cells, and a line for each method.

    `tests` says how many rows clients have to test with, `rates` which ones baselines chose among, and `warnings` what
    was decided on the way about the columns.
    """

    metric: str
    cells: tuple[Cell, ...]
    lines: tuple[Line, ...]
    tests: dict[str, int] = field(default_factory=dict)
    rates: tuple[float, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What the values are."""
        better = "more" if METRICS[self.metric].more_is_better else "less"
        return f"{self.metric} on rows to test with ({better} is better)"

    def remarks(self) -> list[str]:
        """Return what the columns are, where our models differ, and what coalitions were found, with which seeds."""
        columns = (
            "mean: over clients and seeds; spread: the standard deviation of a seed's mean; worst client: that of each "
            "seed, on average; as well as alone: the share of clients with at least what they have by themselves; "
            "time: of a seed, on average."
        )
        ours = (
            "By themselves means local for baselines, and alone for spo and ce, whose models are trained in another "
            "way; so it tells what others bring, and not how models are trained. alone, spo and ce come of one search, "
            "and each has its whole time."
        )
        told = [columns, ours] if any(line.method in OURS for line in self.lines) else [columns]
        return [
            *told,
            *other_seeds(self.cells, self.metric),
            *failures(self.cells),
            *without_value(self.cells, self.metric),
            *few_rows(self.tests),
            *rates_at_the_end(self.cells, self.rates),
            *coalitions_told(self.cells),
        ]

    def to_markdown(self) -> str:
        """Return the table as Markdown, with what is to be known about it."""
        table = to_markdown(HEADS, (line.cells() for line in self.lines))
        return "\n".join([f"# {self.title}\n", table, *(f"{remark}\n" for remark in self.remarks())])

    def to_json(self) -> str:
        """Return the table and the cells as JSON."""
        told = {
            "metric": self.metric,
            "table": to_dict(self.lines),
            "remarks": self.remarks(),
            "warnings": self.warnings,
            "cells": [cell.to_dict() for cell in self.cells],
        }
        return json.dumps(told, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def compare(
    clients: Iterable[Client], study: Study, comparison: Comparison, out: str | Path, tell: Tell | None = None
) -> Compared:
    """Compare methods on clients' rows, keeping every cell in a directory: said again, it goes on where it stopped."""
    members = tuple(sorted(clients, key=lambda client: client.name))  # some methods draw for one client after another
    if len(members) < 2:
        raise InputError("there is one client only; there is nobody to train with")
    _, agreement, metric = agree_on(InProcess(members), study)
    tests = comparison.tests(members, study)  # which also refuses what cannot be divided, before anything is written
    told = asdict(comparison)
    del told["methods"], told["seeds"]  # more of either may be asked for later
    settings = {"study": asdict(study), "comparison": told, "version": __version__, "defaults": defaults()}
    cells = Cells.open(out, {**settings, "rows": digest(members)})
    job = comparison.job(members, study)
    job.run(cells, tell or (lambda stage, done, of: None))
    filled = cells.every(EVERY)  # also what earlier calls asked for
    lines = summarise(filled, metric)
    compared = Compared(metric, filled, lines, tests, comparison.rates, agreement.warnings)
    write_text(Path(out) / TABLE, compared.to_markdown())
    write_text(Path(out) / TABLE_JSON, compared.to_json())
    return compared
