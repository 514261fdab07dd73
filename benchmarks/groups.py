"""Whether planted groups are found, and nobody is tied to others where all are best off alone."""

import sys
import time
from dataclasses import dataclass

import numpy as np
from scipy.special import comb

from benchmarks.federations import Solved, in_parallel
from benchmarks.hierarchies import Setting
from benchmarks.measure import show
from comity.core.kinds import ModelKind
from comity.research.datasets.synthetic import Synthetic, two_groups

GROUPS, SINGLETONS = [0, 0, 0, 1, 1, 1], list(range(6))
# dim, rows, spread, noise; what the truth is, and how many seeds
PAPER = (
    (100, 75, 0.05, 1.0, GROUPS, 20),
    (100, 75, 0.1, 1.0, GROUPS, 20),
    (50, 60, 0.05, 1.0, GROUPS, 20),
    (20, 2000, 0.1, 0.01, SINGLETONS, 20),
    (20, 20000, 1.0, 0.01, SINGLETONS, 5),
)
# clients, groups, rows, columns, R², seeds; for classes ten times as many rows
LARGE = ((40, 4, 40, 24, 0.7, 10), (40, 4, 40, 24, 0.4, 10), (100, 5, 30, 20, 0.5, 10), (1000, 10, 100, 20, 0.5, 3))


@dataclass(frozen=True)
class Found:
    """How well groups were found: the index of agreement, losses over that of the true groups, and seconds."""

    index: float
    coalition: float
    best: float
    alone: float
    seconds: float


def large(task: str, clients: int, groups: int, rows: int, columns: int, explained: float) -> Setting:
    """Return the setting: coefficients N(0, I) a group plus 0.1 N(0, I) a client, and noise by R²."""
    scale = np.sqrt(columns)  # `Setting` divides by it
    if task == "classes":
        return Setting(task, clients, 10 * rows, columns, groups, 0.1, "classes", 1.0 * scale)
    noise = np.sqrt(1.01 * columns * (1 - explained) / explained)
    return Setting(task, clients, rows, columns, groups, 0.1, "regression", scale, noise)


def find(given: tuple[Synthetic, list[int]]) -> Found:
    synthetic, group = given
    start = time.perf_counter()
    solved = Solved.of(synthetic)
    seconds = time.perf_counter() - start
    truth = true_group_losses(solved, np.array(group)).mean()
    coalition, best, alone = (
        float(solved.losses(kind).mean() / truth) for kind in (ModelKind.COALITION, ModelKind.BEST, ModelKind.ALONE)
    )
    return Found(adjusted_rand(solved.coalition, group), coalition, best, alone, seconds)


def true_group_losses(solved: Solved, group: np.ndarray) -> np.ndarray:
    """Return the true loss (N,) of a model of all rows of each client's group, with a small ridge."""
    synthetic, losses = solved.synthetic, np.empty(len(group))
    rows = synthetic.test_rows()
    for number in np.unique(group):
        here = np.flatnonzero(group == number).tolist()
        x = np.vstack([synthetic.rows[i][0] for i in here])
        y = np.concatenate([synthetic.rows[i][1] for i in here])
        scores = rows.to_numpy() @ _fit(x, y, synthetic.task == "classes")
        if synthetic.task == "classes":
            yes = 1 / (1 + np.exp(-scores))
            predictions = np.column_stack([1 - yes, yes])
        else:
            predictions = scores
        losses[here] = [synthetic.true_loss(i, rows, predictions) for i in here]
    return losses


def _fit(x: np.ndarray, y: np.ndarray, classes: bool, ridge: float = 1.0) -> np.ndarray:
    penalty, model = ridge * np.eye(x.shape[1]), np.zeros(x.shape[1])
    if not classes:
        return np.linalg.solve(x.T @ x + penalty, x.T @ y)
    for _ in range(30):
        yes = 1 / (1 + np.exp(-(x @ model)))
        curvature = (x * (yes * (1 - yes))[:, None]).T @ x + penalty
        model = model - np.linalg.solve(curvature, x.T @ (yes - y) + penalty @ model)
    return model


def adjusted_rand(one: list[int], other: list[int]) -> float:
    """Return the adjusted Rand index (Hubert and Arabie 1985) of two partitions: 1 if they are the same."""
    table = np.zeros((max(one) + 1, max(other) + 1))
    np.add.at(table, (one, other), 1)
    pairs, rows, columns = (comb(each, 2).sum() for each in (table, table.sum(axis=1), table.sum(axis=0)))
    expected, most = rows * columns / comb(len(one), 2), (rows + columns) / 2
    return float((pairs - expected) / (most - expected)) if most != expected else 1.0


def main(only: str = "") -> None:
    print("\nThe paper's six clients: how often just the true coalitions are found")
    rows = []
    for dim, count, spread, noise, truth, seeds in PAPER:
        found = in_parallel(find, [(two_groups(seed, dim, count, spread, noise), truth) for seed in range(seeds)])
        right = sum(each.index == 1 for each in found)
        name = "two groups" if truth is GROUPS else "singletons"
        rows.append([f"{dim}", f"{count:,}", f"{spread}", f"{noise}", name, f"{right}/{seeds}", *_cells(found)])
    show(["dim", "rows", "ρ", "σ", "truth", "found", *COLUMNS], rows)
    print("\nMany clients in groups")
    rows = []
    for task in ("regression", "classes"):
        for clients, groups, count, columns, explained, seeds in LARGE:
            setting = large(task, clients, groups, count, columns, explained)
            if task == "classes" and explained == LARGE[1][4]:
                continue  # the noise of classes is their own
            found = in_parallel(find, [(setting.draw(seed), setting.group.tolist()) for seed in range(seeds)])
            r2 = f"{explained}" if task == "regression" else ""
            sizes = [f"{clients:,}", f"{groups}", f"{setting.rows:,}", f"{columns}", r2]
            rows.append([task, *sizes, f"{np.mean([each.index for each in found]):.3f}", *_cells(found)])
            print(" ".join(rows[-1]), file=sys.stderr, flush=True)
    show(["task", "clients", "groups", "rows", "columns", "R²", "adjusted Rand index", *COLUMNS], rows)


COLUMNS = ["loss in coalition / in true groups", "at best", "alone", "seconds"]


def _cells(found: list[Found]) -> list[str]:
    means = [np.mean([getattr(each, name) for each in found]) for name in ("coalition", "best", "alone")]
    return [*(f"{each:.3f}" for each in means), f"{np.mean([each.seconds for each in found]):.1f}"]
