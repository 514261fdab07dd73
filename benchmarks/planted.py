"""How good what is found is, on small federations of several kinds whose truth is known."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from benchmarks.federations import Solved, in_parallel
from benchmarks.measure import show
from comity.core.kinds import ModelKind
from comity.core.tasks import Task
from comity.research.datasets.synthetic import KINDS, Kind, planted

TASKS: tuple[Task, ...] = ("regression", "classes")
SEEDS = 20  # of each kind and task
CLIENTS = (4, 5, 6, 7, 8)  # by seed, over and over


@dataclass(frozen=True)
class Scored:
    """One federation: mean true losses, and the shares of clients that want nobody, and that are alone in the end."""

    alone: float
    pooled: float
    coalition: float
    found: float
    want_nobody: float
    stay_alone: float


def score(given: tuple[Kind, Task, int]) -> Scored:
    kind, task, seed = given
    solved = Solved.of(planted(seed, kind, task, CLIENTS[seed % len(CLIENTS)]))
    losses = {each: float(solved.losses(each).mean()) for each in ModelKind}
    return Scored(
        alone=losses[ModelKind.ALONE],
        pooled=losses[ModelKind.TOGETHER],
        coalition=losses[ModelKind.COALITION],
        found=losses[ModelKind.BEST],
        want_nobody=float((solved.decision.wishes.sum(axis=1) == 1).mean()),
        stay_alone=float((~np.asarray(solved.joined, np.bool_)).mean()),
    )


def main() -> None:
    print(f"\nMean true loss, {SEEDS} federations a row; that of training alone is 1")
    rows = []
    for kind, task in product(KINDS, TASKS):
        scores = in_parallel(score, [(kind, task, seed) for seed in range(SEEDS)])
        means = {name: float(np.mean([getattr(each, name) for each in scores])) for name in Scored.__dataclass_fields__}
        relative = [means[name] / means["alone"] for name in ("pooled", "coalition", "found")]
        over = means["found"] / min(means["alone"], means["pooled"])
        shares = [f"{means[name]:.0%}" for name in ("want_nobody", "stay_alone")]
        rows.append([f"{kind}, {task}", "1", *(f"{each:.3f}" for each in relative), f"{over:.4f}", *shares])
    show(
        ["federations", "alone", "pooled", "in coalition", "found (at best)", "found / the lower", "want nobody",
         "stay alone"],
        rows,
    )  # fmt: skip
