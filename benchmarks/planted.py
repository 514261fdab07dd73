"""How good what is found is, on federations whose truth is known, against every subset tried."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from benchmarks.federations import Asked, true_losses
from benchmarks.measure import show
from comity.core.arrays import Floats
from comity.core.tasks import Task
from comity.deciding.decision import decide
from comity.families.glm.convex_front import ModelRequest
from comity.families.glm.quadratic_front import QuadraticFront
from comity.families.glm.searcher import FrontSearcher
from comity.research.datasets.synthetic import KINDS, Kind, planted
from comity.search.collaborators import Search
from comity.search.descent import Points
from comity.study import Study

TASKS: tuple[Task, ...] = ("regression", "classes")
SEEDS = 10  # of each kind and task
CLIENTS = (4, 5, 6, 7, 8)  # by seed, over and over
_LEAST_PENALTY = 1e-6
_ROUNDS = 20


@dataclass(frozen=True)
class Scored:
    """One federation: mean true losses relative to alone, and how the sets found agree with those of every subset."""

    kind: Kind
    task: Task
    pooled: float
    found: float
    exhaustive: float
    shared_edges: int
    found_edges: int
    true_edges: int
    same_equilibrium: bool
    stay_alone: float


def score(seed: int, kind: Kind, task: Task, search: Search) -> Scored:
    asked = Asked.of(planted(seed, kind, task, CLIENTS[seed % len(CLIENTS)]))
    clients, front = asked.federation.clients, asked.front()
    searcher = FrontSearcher(front, search)
    decision, tried = decide(searcher, clients), decide(searcher, clients, exhaustive=True)
    everybody = np.full((front.clients, front.clients), 1 / front.clients)
    pooled = search.with_best_penalty(front.trials(np.arange(front.clients)), everybody)
    alone, *others = (
        true_losses(asked.synthetic, asked.schema, _trained(asked, front, points))
        for points in (decision.points["alone"], pooled, decision.points["best"], tried.points["best"])
    )
    relative = [float((each / alone).mean()) for each in others]
    wanted = [frozenset(np.flatnonzero(row).tolist()) for row in decision.wishes]
    truth = [frozenset(np.flatnonzero(row).tolist()) for row in tried.wishes]
    return Scored(
        kind=kind,
        task=task,
        pooled=relative[0],
        found=relative[1],
        exhaustive=relative[2],
        shared_edges=sum(len(one & other) - 1 for one, other in zip(wanted, truth, strict=True)),
        found_edges=sum(map(len, wanted)) - len(clients),
        true_edges=sum(map(len, truth)) - len(clients),
        same_equilibrium=set(decision.equilibrium.coalitions) == set(tried.equilibrium.coalitions),
        stay_alone=float(np.mean([len(each) == 1 for each in wanted])),
    )


def _trained(asked: Asked, front: QuadraticFront, points: Points) -> Floats:
    """Return the models of all rows; those for classes are trained exactly."""
    start = front.models(np.arange(front.clients), points.weights, points.log_penalty)
    if not front.likelihood:
        return start
    penalties = np.maximum(np.exp(points.log_penalty), _LEAST_PENALTY)
    views = np.zeros(len(start), np.intp)
    return asked.convex.newton(ModelRequest(points.weights, penalties, views, start), _ROUNDS)


def main() -> None:
    search = Study("y").search_settings()
    scores = [score(seed, kind, task, search) for kind, task, seed in product(KINDS, TASKS, range(SEEDS))]
    print(f"\n{len(scores)} planted federations: mean true loss, that of training alone being 1")
    rows = [
        [f"{kind}, {task}", *_figures([each for each in scores if (each.kind, each.task) == (kind, task)])]
        for kind, task in product(KINDS, TASKS)
    ]
    rows += [[f"all, {task}", *_figures([each for each in scores if each.task == task])] for task in TASKS]
    show(
        ["federations", "alone", "pooled", "found", "every subset", "found / every subset", "edge F1",
         "same equilibrium", "stay alone"],
        [*rows, ["all", *_figures(scores)]],
    )  # fmt: skip


def _figures(scores: list[Scored]) -> list[str]:
    pooled, found, exhaustive = (
        np.mean([getattr(each, name) for each in scores]) for name in ("pooled", "found", "exhaustive")
    )
    shared, edges, true = (
        sum(getattr(each, name) for each in scores) for name in ("shared_edges", "found_edges", "true_edges")
    )
    return [
        "1",
        f"{pooled:.3f}",
        f"{found:.3f}",
        f"{exhaustive:.3f}",
        f"{found / exhaustive:.4f}",
        f"{2 * shared / (edges + true):.2f}" if edges + true else "",
        f"{np.mean([each.same_equilibrium for each in scores]):.0%}",
        f"{np.mean([each.stay_alone for each in scores]):.0%}",
    ]
