"""Boosted trees: real tables of many clients, and how honest reported gains are where the truth is known."""

import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

import comity
from benchmarks.measure import show
from comity.core.arrays import Floats
from comity.core.kinds import ModelKind

TABLES, SEEDS, LEAST_ROWS = "tables", 3, 20
PLANTED, PLANTED_ROWS, TEST_ROWS = ("groups", "identical", "unrelated"), (40, 80), 400
PLANTED_SEEDS, CLIENTS, NOISE = 10, 6, 0.5


def main() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", comity.ComityWarning)
        _planted()
        directory = os.environ.get("COMITY_DATA")
        if not directory or not (Path(directory) / TABLES).is_dir():
            print(f"tables are left out: set COMITY_DATA to the directory that has {TABLES}", file=sys.stderr)
            return
        _tables(Path(directory) / TABLES)


def _planted() -> None:
    print(
        f"\nSix clients, {PLANTED_SEEDS} seeds: gain in RMSE over alone, as it is reported and on {TEST_ROWS} new rows"
    )
    table = []
    for kind in PLANTED:
        for rows in PLANTED_ROWS:
            told, true, joined = [], [], []
            for seed in range(PLANTED_SEEDS):
                train, test = (
                    _products(kind, each, 1000 * seed + number) for number, each in enumerate((rows, TEST_ROWS))
                )
                result = comity.solve(train, client="client", target="y", model="boosting")
                errors = {each: _by_client(result, test, each) for each in (ModelKind.ALONE, ModelKind.COALITION)}
                gained = errors[ModelKind.ALONE] - errors[ModelKind.COALITION]
                told.append(np.mean([-each.gain.value for each in result.utilities.values()]))
                true.append(gained.mean())
                joined.append(np.mean([len(result.equilibrium.coalition_of(each)) > 1 for each in result.clients]))
            apart = np.subtract(told, true)
            error = apart.std(ddof=1) / np.sqrt(len(apart))
            sizes = [kind, str(rows), f"{np.mean(joined):.0%}"]
            table.append([*sizes, f"{np.mean(told):.3f}", f"{np.mean(true):.3f}", f"{apart.mean():+.3f} ± {error:.3f}"])
    show(["clients", "rows", "joined", "reported", "true", "difference"], table)


def _products(kind: str, rows: int, seed: int) -> pd.DataFrame:
    """Return rows whose target is a product of two columns: which, and with what sign, depends on the client."""
    rng = np.random.default_rng(seed)
    frames = []
    for client in range(CLIENTS):
        x = rng.uniform(-1, 1, size=(rows, 4))
        first = client % 4 if kind == "unrelated" else 0
        sign = -1 if (kind == "groups" and client > 2) or (kind == "unrelated" and client > 3) else 1
        value = 3 * sign * x[:, first] * x[:, (first + 1) % 4] + NOISE * rng.normal(size=rows)
        frames.append(pd.DataFrame(x, columns=list("abcd")).assign(client=f"c{client}", y=value))
    return pd.concat(frames, ignore_index=True)


def _by_client(result: comity.Result, test: pd.DataFrame, kind: ModelKind) -> "pd.Series[float]":
    errors = (result.predict(test, model=kind)["prediction"] - test["y"]) ** 2
    return np.sqrt(errors.groupby(test["client"]).mean())


def _tables(directory: Path) -> None:
    print(f"\nReal tables, {SEEDS} seeds, half of each client's rows: loss over the target's variance, or log loss")
    table, ratios = [], []
    for path in sorted(directory.glob("*.csv")):
        if "target" not in pd.read_csv(path, nrows=1):
            continue
        losses = np.mean([_losses(pd.read_csv(path), seed) for seed in range(SEEDS)], axis=0)
        ratios.append(losses[2] / losses[:4])
        table.append([path.stem, *(f"{each:.4f}" for each in losses), f"{losses[2] / losses[0]:.3f}"])
    show(["table", "alone", "together", "at best", "one model of all rows", "linear at best", "best / alone"], table)
    print(f"best / one model of all rows, mean over tables: {np.mean([each[3] for each in ratios]):.3f}")


def _losses(rows: pd.DataFrame, seed: int) -> Floats:
    """Return losses: boosting alone, together and at best, one boosting of all rows, and linear models at best."""
    classes = rows["target"].nunique() == 2
    if classes:
        rows["target"] = (rows["target"] == rows["target"].max()).astype(int)
    rows["client"] = "c" + rows["client"].astype(str)
    rows = rows[rows.groupby("client")["target"].transform("size") >= LEAST_ROWS].reset_index(drop=True)
    order = np.random.default_rng(seed).permutation(len(rows))
    rank = rows.iloc[order].groupby("client").cumcount().sort_index()
    trains = rank < rows.groupby("client")["target"].transform("size") / 2
    train, test = rows[trains].reset_index(drop=True), rows[~trains].reset_index(drop=True)
    boosting = comity.solve(train, client="client", target="target", model="boosting")
    linear = comity.solve(train, client="client", target="target")
    kinds = (ModelKind.ALONE, ModelKind.TOGETHER, ModelKind.BEST)
    ways = [*((boosting, kind) for kind in kinds), (linear, ModelKind.BEST)]
    column = "p_1" if classes else "prediction"
    predicted = [result.predict(test, model=kind)[column].to_numpy(np.float64) for result, kind in ways]
    predicted.insert(3, _pooled(train, test, classes=classes))
    target = test["target"].to_numpy(np.float64)
    if not classes:
        return np.array([((target - each) ** 2).mean() / target.var() for each in predicted])
    chances = np.clip(predicted, 1e-12, 1 - 1e-12)
    return np.asarray(-(target * np.log(chances) + (1 - target) * np.log(1 - chances)).mean(axis=1))


def _pooled(train: pd.DataFrame, test: pd.DataFrame, *, classes: bool) -> Floats:
    """Return predictions by one boosting of all rows, which knows nothing of clients."""
    both = pd.get_dummies(pd.concat([train, test]).drop(columns=["client", "target"])).astype(np.float64)
    features, new = both.iloc[: len(train)], both.iloc[len(train) :]
    kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    model = kind(random_state=0).fit(features, train["target"])
    return np.asarray(model.predict_proba(new)[:, 1] if classes else model.predict(new))
