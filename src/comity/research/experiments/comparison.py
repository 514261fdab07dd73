"""Compares methods on a user's table, under the same splits and budgets; `comity.compare` is the public function."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated

import pandas as pd

from comity import __version__
from comity.client import Client
from comity.core.files import write_text
from comity.core.metrics import METRICS
from comity.core.progress import Progress
from comity.core.settings import check_settings, names, numbers_list, real, whole
from comity.errors import InputError
from comity.families.problem import state_problem
from comity.families.registry import FAMILIES
from comity.federation import InProcess
from comity.research.baselines import Budget
from comity.research.experiments.cells import Cell, Cells, to_json
from comity.research.experiments.methods import ALL_METHODS, COMITY_METHODS, BaselineRun, default_settings
from comity.research.experiments.summary import (
    COLUMNS,
    MethodSummary,
    describe_coalitions,
    failures,
    few_test_rows,
    missing_values,
    rates_at_the_ends,
    summarise,
    to_dict,
    to_markdown,
    unequal_seeds,
)
from comity.research.experiments.table_task import TableTask, digest, divide
from comity.research.experiments.task import fill_cells
from comity.study import Study

TABLE, TABLE_JSON = "table.md", "table.json"


@dataclass(frozen=True, slots=True)
class ComparisonSettings:
    """How methods are compared: which `methods`, with how many `seeds`, and one part in `parts` of the rows for tests.

    Every method may spend the `budget`, at the best of some `rates` by held-out loss.
    """

    methods: Annotated[tuple[str, ...], names("method", ALL_METHODS)] = ALL_METHODS
    seeds: Annotated[int, whole(1)] = 3
    parts: Annotated[int, whole(2)] = 5
    budget: Budget = field(default_factory=lambda: Budget(rounds=60, steps=5))
    rates: Annotated[tuple[float, ...], numbers_list(real(0, closed=False), "rates")] = (0.01, 0.05, 0.2)

    def __post_init__(self) -> None:
        check_settings(self)

    def test_rows(self, clients: tuple[Client, ...], study: Study) -> dict[str, int]:
        """Return each client's number of test rows with the first seed; with the others, it is about the same."""
        divided = divide(clients, study.target, self.parts, study.seed)
        return {client.name: 0 if client.test is None else len(client.test) for client in divided}


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The results of methods on the same rows; `comity.compare` returns one.

    Attributes:
        metric: The metric of all values, on test rows.
        cells: The results of each method with each seed.
        test_rows: Each client's number of test rows per seed.
        rates: The rates that baselines chose from.
        warnings: Warnings about the columns of the table.
    """

    metric: str
    cells: tuple[Cell, ...]
    test_rows: dict[str, int] = field(default_factory=dict)
    rates: tuple[float, ...] = ()
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"{self.title}\n{self.to_frame().to_string(float_format=lambda value: f'{value:.4g}', na_rep='–')}"

    @cached_property
    def summaries(self) -> tuple[MethodSummary, ...]:
        """A summary of each method over all seeds."""
        return summarise(self.cells, self.metric)

    @property
    def title(self) -> str:
        """The metric, and whether more or less of it is better."""
        better = "more" if METRICS[self.metric].more_is_better else "less"
        return f"{self.metric} on test rows ({better} is better)"

    def to_frame(self) -> pd.DataFrame:
        """Return the leaderboard: a row for each method, the best mean first.

        Returns:
            A table with the methods as index and these columns: ``mean`` of the metric over clients and seeds;
            ``spread``, the standard deviation of that mean over seeds; ``worst_client``, the value of the worst client
            of each seed, averaged; ``gain``, the mean improvement over the clients' models alone (``local`` for
            baselines, ``alone`` for comity's methods); ``no_worse``, the share of clients with at least their value
            alone; ``seeds`` with which the method trained; and ``seconds`` per seed.
        """
        columns = ["mean", "spread", "worst", "gain", "no_worse", "trained", "seconds"]
        frame = pd.DataFrame(to_dict(self.summaries), columns=["method", *columns]).set_index("method")
        frame = frame.astype({"spread": float}).rename(columns={"worst": "worst_client", "trained": "seeds"})
        return frame.sort_values("mean", ascending=not METRICS[self.metric].more_is_better, kind="stable")

    def remarks(self) -> list[str]:
        """Return sentences that explain the table: its columns, caveats, and the coalitions that were found."""
        columns = (
            "mean: over clients and seeds; spread: the standard deviation of this mean over seeds; worst client: of "
            "each seed, averaged over seeds; no worse than alone: the share of clients with at least the value of "
            "their model alone; time: per seed."
        )
        alone = (
            "The model alone is local for baselines, and alone for spo and ce, which are trained in another way than "
            "baselines: so the share shows the effect of collaboration, not of the training. alone, spo and ce come "
            "from one search, and each row shows its whole time."
        )
        return [
            columns,
            *([alone] if any(summary.method in COMITY_METHODS for summary in self.summaries) else []),
            *unequal_seeds(self.cells, self.metric),
            *failures(self.cells),
            *missing_values(self.cells, self.metric),
            *few_test_rows(self.test_rows),
            *rates_at_the_ends(self.cells, self.rates),
            *describe_coalitions(self.cells),
        ]

    def to_markdown(self) -> str:
        """Return the table and its remarks as Markdown."""
        table = to_markdown(COLUMNS, (summary.texts() for summary in self.summaries))
        return "\n".join([f"# {self.title}\n", table, *(f"{remark}\n" for remark in self.remarks())])

    def to_json(self) -> str:
        """Return the table and the cells as JSON."""
        return to_json(
            {
                "metric": self.metric,
                "table": to_dict(self.summaries),
                "remarks": self.remarks(),
                "warnings": self.warnings,
                "cells": list(map(asdict, self.cells)),
            }
        )


def run_comparison(
    clients: Iterable[Client],
    study: Study,
    settings: ComparisonSettings,
    out: str | Path,
    progress: Progress | None = None,
) -> Comparison:
    """Compare methods on clients' rows and keep every cell in `out`, from where an interrupted run continues."""
    members = tuple(sorted(clients, key=lambda client: client.name))  # some methods draw for clients in their order
    if len(members) < 2:
        raise InputError("there is only one client; give two or more, so that there are others to train with")
    problem = state_problem(InProcess(members), study)
    test_rows = settings.test_rows(members, study)  # raises an error before anything is written
    kept = asdict(settings)
    del kept["methods"], kept["seeds"]  # a later call may have more of these
    job = {"study": asdict(study), "comparison": kept, "version": __version__, "defaults": default_settings()}
    cells = Cells.open(out, {**job, "rows": digest(members)})
    # Perceptrons take long, so neither baselines' nor comity's are refitted.
    baselines = BaselineRun(settings.rates, refit=FAMILIES[study.model].exact)

    def draw(seed: int) -> TableTask:
        divided = divide(members, study.target, settings.parts, seed)
        return TableTask(divided, replace(study, seed=seed), settings.budget, baselines)

    methods = tuple(name for name in ALL_METHODS if name in settings.methods)
    fill_cells(cells, methods, tuple(range(study.seed, study.seed + settings.seeds)), draw, progress)
    filled = cells.load_all(ALL_METHODS)  # also those of earlier calls
    comparison = Comparison(problem.metric, filled, test_rows, settings.rates, problem.warnings)
    write_text(Path(out) / TABLE, comparison.to_markdown())
    write_text(Path(out) / TABLE_JSON, comparison.to_json())
    return comparison
