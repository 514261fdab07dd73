"""`comity.compare`: a leaderboard of methods of federated learning on a user's table.

This module imports torch only when `compare` is called, so that the error can say that it is missing.
"""

from __future__ import annotations

import tempfile
import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from comity.client import Client
from comity.core.extras import require
from comity.core.progress import Progress, progress_bar
from comity.core.settings import check_known
from comity.errors import ComityWarning, InputError
from comity.federation import InProcess
from comity.solving.solve import open_source
from comity.study import Study

if TYPE_CHECKING:
    from comity.client.tables.sources import Source
    from comity.core.tasks import MetricName, Task
    from comity.research.experiments.comparison import Comparison


def compare(
    source: Source | InProcess,
    client: str | None = None,
    target: str | None = None,
    *,
    methods: tuple[str, ...] | None = None,
    seeds: int = 3,
    seed: int = 0,
    parts: int = 5,
    rounds: int = 60,
    local_steps: int = 5,
    rates: tuple[float, ...] = (0.01, 0.05, 0.2),
    model: Literal["linear", "mlp"] = "linear",
    width: int = 32,
    depth: int = 1,
    task: Task | None = None,
    metric: MetricName | None = None,
    exclude: tuple[str, ...] = (),
    keep: tuple[str, ...] = (),
    categories: tuple[str, ...] = (),
    id: str | None = None,  # noqa: A002 - as on the command line
    group: str | None = None,
    encoding: str = "utf-8",
    without: tuple[str, ...] = (),
    out: str | Path | None = None,
    progress: bool | Progress = False,
    **unknown: object,
) -> Comparison:
    """Compare baselines of federated learning and comity's models on the same rows, with the same budget.

    For every seed, one part of each client's rows is drawn for tests; all methods train on the others. comity's methods
    are ``alone`` (each client's model alone), ``ce`` (the models of the stable coalitions) and ``spo`` (each client's
    best model, with all clients willing). The baselines are in `comity.research.baselines.METHODS`.

    Args:
        source: A table (a DataFrame, or a CSV, Parquet or Excel file), a table for each client (a mapping by name, or a
            directory), or an `InProcess` federation.
        client: The column with the name of each row's client, if the rows are in one table.
        target: The column to predict.
        methods: Names of methods; all by default.
        seeds: The number of runs, each with different test rows.
        seed: The first seed.
        parts: One part in `parts` of the rows is for tests.
        rounds: Rounds of training that a method may use.
        local_steps: Gradients that a client computes per round.
        rates: Learning rates of baselines; for each baseline and seed the one with the lowest held-out loss is taken.
        model: Linear models, or perceptrons (``mlp``).
        width: Units in each hidden layer of a perceptron.
        depth: Hidden layers of a perceptron.
        task: Regression or classes; by default it follows from the target.
        metric: The metric to compare; by default auc for classes and rmse for regression.
        exclude: Columns to leave out.
        keep: Columns of numbers that look like identifiers and are features.
        categories: Columns of numbers, with few different values, to take for categories.
        id: A column that identifies rows, and is no feature.
        group: A column whose rows with equal values, such as those of one patient, are held out together; it is no
            feature.
        encoding: The encoding of CSV files.
        without: Clients to leave out.
        out: A directory for the results of each method and seed, from which an interrupted comparison continues; by
            default nothing is kept.
        progress: Show a progress bar on standard error; or a function, called with the stage, the steps done and
            their total.
        **unknown: Refused, with a suggestion.

    Returns:
        The comparison, whose `to_frame()` is the leaderboard.

    Raises:
        InputError: If a setting or the table is wrong.
        MissingDependencyError: If torch is not installed.

    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> rows = pd.DataFrame(rng.normal(size=(120, 3)), columns=["a", "b", "c"])
    >>> rows["site"] = np.repeat(["North", "South", "West"], 40)
    >>> rows["y"] = rows["a"] + rows["b"] + rng.normal(size=120)
    >>> found = compare(rows, client="site", target="y", methods=["local", "fedavg"], seeds=1, rounds=20, rates=[0.05])
    >>> list(found.to_frame().index)
    ['fedavg', 'local']
    """
    check_known(unknown, compare.__annotations__)
    if target is None:
        raise InputError("say which column to predict: target=")
    require("torch", "to compare with methods that train by gradients")
    from comity.core.tasks import BY_EXPANSION, task_of
    from comity.research.baselines import Budget
    from comity.research.experiments.comparison import ComparisonSettings, run_comparison
    from comity.research.experiments.methods import ALL_METHODS

    if task in BY_EXPANSION[1:] or task_of(metric or "") in BY_EXPANSION[1:]:
        raise InputError("methods are compared for a number or classes only; leave the task out, or take another one")
    study = Study(
        target,
        client=client,
        task=task,
        metric=metric,
        exclude=exclude,
        keep=keep,
        categories=categories,
        id=id,
        group=group,
        encoding=encoding,
        without=without,
        seed=seed,
        model=model,
        width=width,
        depth=depth,
    )
    chosen = ALL_METHODS if methods is None else methods
    settings = ComparisonSettings(chosen, seeds, parts, Budget(rounds, local_steps), rates)
    opened = open_source(source, study)
    federation = opened.federation
    members = (
        [each for each in federation.members if isinstance(each, Client)] if isinstance(federation, InProcess) else []
    )
    if len(members) < len(federation.clients):
        raise InputError("methods are compared on rows in this process; give tables, or an InProcess of Clients")
    for note in opened.warnings:
        warnings.warn(note, ComityWarning, stacklevel=2)
    bar = progress_bar(progress) if isinstance(progress, bool) else nullcontext(progress)
    with tempfile.TemporaryDirectory() as scratch, bar as report:
        comparison = run_comparison(members, opened.study_of_rest(study), settings, out or scratch, report)
    for note in comparison.warnings:
        warnings.warn(note, ComityWarning, stacklevel=2)
    return comparison
