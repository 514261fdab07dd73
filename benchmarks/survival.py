"""Counts and survival: planted groups of clients, and breast cancer in six regions (TCGA-BRCA)."""

import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

import comity
from benchmarks.groups import adjusted_rand
from benchmarks.measure import show
from comity.core.arrays import Floats
from comity.core.cox import CoxLoss
from comity.core.kinds import ModelKind
from comity.core.metrics import METRICS
from comity.core.tasks import Task
from comity.research.datasets.outcomes import two_groups_of
from comity.rows.encoding import encode

SETTINGS: dict[Task, dict[str, Any]] = {
    "counts": {"target": "falls", "task": "counts"},
    "survival": {"task": "survival", "time": "days", "event": "died"},
}
# task, rows of a client, columns
PLANTED: list[tuple[Literal["counts", "survival"], int, int]] = [
    ("counts", 60, 12),
    ("counts", 150, 20),
    ("survival", 100, 12),
    ("survival", 150, 20),
]
SEEDS, TEST_ROWS = 10, 2000
FILE = Path("tables") / "tcga-brca.csv"
REGIONS = ("Northeast", "South", "West", "Midwest", "Europe", "Canada")  # FLamby's six centres, in its order
FLAMBY_ALONE = (0.644, 0.527, 0.850, 0.596, 0.851, 0.667)  # its published figures of local training
SPLITS, TESTED = 20, 0.25
EARLIEST = 0.5  # days: some rows were followed for 0 days
KINDS = (ModelKind.ALONE, ModelKind.COALITION, ModelKind.BEST, ModelKind.TOGETHER)


def main() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", comity.ComityWarning)
        _planted()
        directory = os.environ.get("COMITY_DATA")
        if not directory or not (Path(directory) / FILE).exists():
            print(f"breast cancer is left out: set COMITY_DATA to the directory that has {FILE}", file=sys.stderr)
            return
        rows = pd.read_csv(Path(directory) / FILE)
        rows["days"] = rows["days"].clip(lower=EARLIEST)
        _published_split(rows)
        _further_splits(rows)


def _planted() -> None:
    print(f"\nEight clients of two groups, {SEEDS} seeds; deviance of counts, or concordance of survival, on new rows")
    table = []
    for task, count, columns in PLANTED:
        found, scores = [], []
        for seed in range(SEEDS):
            train, test = two_groups_of(task, seed, count, columns, test=TEST_ROWS)
            result = comity.solve(train, client="client", **SETTINGS[task])
            numbers = [next(n for n, each in enumerate(result.coalitions) if c in each) for c in result.clients]
            found.append(adjusted_rand(numbers, [int(client) % 2 for client in result.clients]))
            scores.append(
                [np.mean(_scores(result.metric, task, test, _predicted(result, kind, test))) for kind in KINDS]
            )
        sizes = [task, f"{count}", f"{columns}", f"{np.mean(found):.3f}"]
        table.append([*sizes, *(f"{value:.3f}" for value in np.mean(scores, axis=0))])
    show(["task", "rows", "columns", "adjusted Rand index", "alone", "coalition", "at best", "together"], table)


def _predicted(result: comity.Result, kind: ModelKind, rows: pd.DataFrame) -> Floats:
    return np.asarray(result.predict(rows, model=kind)["prediction"], np.float64)


def _scores(metric: str, task: Task, rows: pd.DataFrame, predicted: Floats, clients: tuple[str, ...] = ()) -> Floats:
    """Return the metric of each client."""
    target = rows["falls"] if task == "counts" else np.where(rows["died"], rows["days"], -rows["days"])
    values, owners = np.asarray(target, np.float64), rows["client"].to_numpy()
    found = []
    for client in clients or sorted(set(owners)):
        here = owners == client
        found.append(METRICS[metric].measure(predicted[here], values[here], np.ones((1, here.sum())))[0])
    return np.array(found)


def pooled_cox(result: comity.Result, train: pd.DataFrame, ridge: float = 1e-4) -> Callable[[pd.DataFrame], Floats]:
    """Return the relative risks of one Cox regression of all clients, each a stratum of its own.

    It is the fit of maximum likelihood, but for a ridge that keeps columns apart which explain each other.
    """
    features, owners = encode(train, result.schema)[:, :-1], train["client"].to_numpy()
    targets = np.where(train["died"], train["days"], -train["days"])
    strata = [CoxLoss(features[owners == client], targets[owners == client]) for client in result.clients]
    model = np.zeros(features.shape[1])
    for _ in range(50):
        slopes, curvatures = zip(*(each.derivatives(model, np.ones(len(each.target))) for each in strata), strict=True)
        step = np.linalg.solve(sum(curvatures) + ridge * np.eye(model.size), sum(slopes) + ridge * model)
        model = model - step * min(1.0, 2 / np.abs(step).max())

    def risks(rows: pd.DataFrame) -> Floats:
        return np.asarray(encode(rows, result.schema)[:, :-1] @ model)

    return risks


def _both(train: pd.DataFrame, test: pd.DataFrame, seed: int) -> dict[str, Floats]:
    """Return the concordance in each region of comity's models and of the pooled Cox regression."""
    result = comity.solve(train, client="client", seed=seed, **SETTINGS["survival"])

    def score(predicted: Floats) -> Floats:
        return _scores("concordance", "survival", test, predicted, REGIONS)

    found = {kind.value: score(_predicted(result, kind, test)) for kind in KINDS}
    return found | {"Cox regression, stratified by region": score(pooled_cox(result, train)(test))}


def _published_split(rows: pd.DataFrame) -> None:
    train, test = (rows[rows["fold"] == fold].drop(columns="fold") for fold in ("train", "test"))
    events = ", ".join(f"{test.loc[test['client'] == region, 'died'].sum()}" for region in REGIONS)
    print(f"\nTCGA-BRCA, FLamby's split: concordance on test rows (with {events} deaths), mean over five seeds")
    found = [_both(train, test, seed) for seed in range(5)]
    table = [["FLamby, local (published)", *(f"{value:.3f}" for value in (*FLAMBY_ALONE, np.mean(FLAMBY_ALONE)))]]
    _show({name: np.mean([each[name] for each in found], axis=0) for name in found[0]}, table)


def _further_splits(rows: pd.DataFrame) -> None:
    print(
        f"\nTCGA-BRCA, {SPLITS} further splits: a quarter of the deaths and of the others of each region are test rows"
    )
    found = []
    for seed in range(SPLITS):
        rng, tested = np.random.default_rng(seed), np.zeros(len(rows), np.bool_)
        for here in rows.groupby(["client", "died"]).indices.values():
            tested[rng.permutation(here)[: max(1, round(TESTED * len(here)))]] = True
        found.append(_both(rows[~tested].drop(columns="fold"), rows[tested].drop(columns="fold"), seed))
    means = {name: np.array([each[name] for each in found]) for name in found[0]}
    _show({name: np.nanmean(each, axis=0) for name, each in means.items()}, [])
    apart = {name: np.nanmean(means["coalition"] - each, axis=1) for name, each in means.items() if name != "coalition"}
    for name, each in apart.items():
        print(f"coalition - {name}: {each.mean():+.3f} (standard error over splits {each.std() / np.sqrt(SPLITS):.3f})")


def _show(found: dict[str, Floats], table: list[list[str]]) -> None:
    rows = [[name, *(f"{value:.3f}" for value in (*values, values.mean()))] for name, values in found.items()]
    show(["model", *REGIONS, "mean"], [*table, *rows])
