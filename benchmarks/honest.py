"""Whether the gains that are reported are true, on federations whose truth is known."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from benchmarks.federations import true_losses
from benchmarks.measure import show
from comity.core.arrays import Floats
from comity.core.kinds import ModelKind
from comity.core.tasks import MetricName, Task
from comity.deciding.decision import Decision
from comity.families.family import Request
from comity.federation import InProcess
from comity.research.datasets.synthetic import KINDS, TARGET, Kind, Synthetic, planted
from comity.solving.findings import Findings, learn
from comity.study import Study

METRICS: dict[Task, MetricName] = {"regression": "rmse", "classes": "log-loss"}
SEEDS = 6  # of each kind and task
CLIENTS = (4, 5, 6)  # by seed, over and over
_QUANTILE = 1.96  # of the normal distribution, for an interval of 95 %
_ALONE, _COALITION, _BEST, _ = range(len(ModelKind))


@dataclass(frozen=True)
class Judged:
    """One federation: how much the reported gains exceed the true ones, a mean over its clients, relative to alone.

    `coalition` and `best` are of the gains that are reported; `naive` of those that the folds show which also chose.
    """

    task: Task
    coalition: float
    best: float
    naive: float
    true_gain: float


def judge(seed: int, kind: Kind, task: Task) -> Judged:
    drawn = planted(seed, kind, task, CLIENTS[seed % len(CLIENTS)])
    federation = InProcess(drawn.clients())
    learned = learn(Request(federation, Study(TARGET, metric=METRICS[task], search="spo", seed=seed)))
    alone, coalition, best = true_metrics(drawn, learned)
    reported = np.stack([learned.evaluated.evaluations[client].gains for client in federation.clients], axis=1)
    values = np.array([learned.evaluated.evaluations[client].values[_ALONE] for client in federation.clients])
    decision = learned.decision
    assert isinstance(decision, Decision)
    losses = np.stack([decision.points["alone"].losses, decision.points["coalition"].losses])
    if task == "regression":
        losses = np.sqrt(losses) * learned.problem.schema.target.scale
    naive = (losses[1] - losses[0]) / losses[0]
    true = (coalition - alone) / alone
    # Both metrics are better when they are smaller: a gain is what was lost less.
    return Judged(
        task,
        coalition=-float((reported[_COALITION] / values - true).mean()),
        best=-float((reported[_BEST] / values - (best - alone) / alone).mean()),
        naive=-float((naive - true).mean()),
        true_gain=-float(true.mean()),
    )


def true_metrics(drawn: Synthetic, learned: Findings) -> Floats:
    """Return the metric of every kind of model and client (3, N) on fresh rows."""
    models = [learned.evaluated.models[kind] for kind in (ModelKind.ALONE, ModelKind.COALITION, ModelKind.BEST)]
    losses = np.stack([true_losses(drawn, learned.problem.schema, each) for each in models])
    return np.sqrt(losses) if drawn.task == "regression" else losses


def main() -> None:
    every = [judge(seed, kind, task) for kind, task, seed in product(KINDS, METRICS, range(SEEDS))]
    print(f"\n{len(every)} planted federations: gain reported minus true gain, as a share of the metric alone")
    rows = []
    for name, some in (
        *((METRICS[task], [each for each in every if each.task == task]) for task in METRICS),
        ("both", every),
    ):
        cells = [_interval([getattr(each, which) for each in some]) for which in ("coalition", "best", "naive")]
        rows.append([name, f"{len(some)}", f"{np.mean([each.true_gain for each in some]):.2%}", *cells])
    show(
        ["metric", "federations", "true gain", "bias: in the coalition", "bias: at best", "bias if not honest"],
        rows,
    )


def _interval(values: list[float]) -> str:
    """Return the mean over federations with its interval of 95 %; clients of one federation are not independent."""
    error = _QUANTILE * np.std(values, ddof=1) / np.sqrt(len(values))
    mean = np.mean(values)
    return f"{mean:+.2%} ({mean - error:+.2%} to {mean + error:+.2%})"
