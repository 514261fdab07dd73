"""Table 1: the paper's six synthetic clients, by its procedure, by comity, and by an exhaustive search."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np
import torch

from comity.client import Client
from comity.core.progress import Progress
from comity.deciding.decision import decide
from comity.families.network.rays import Rays
from comity.families.network.searcher import ClientSearcher
from comity.families.network.trainer import train
from comity.families.network.training import Training
from comity.families.problem import state_problem
from comity.federation import InProcess
from comity.game.equilibrium import find_equilibrium
from comity.game.peels import Equilibrium
from comity.questions import EvaluateModels, Recipe
from comity.questions.search import ClipRule
from comity.research.baselines import Budget
from comity.research.datasets.synthetic import TARGET, Synthetic, two_groups
from comity.research.experiments.cells import Outcome
from comity.research.experiments.experiment import Experiment
from comity.research.experiments.methods import BaselineRun
from comity.research.experiments.table_task import TableTask, digest
from comity.search.collaborators import Search
from comity.study import Study

_DIM = 20
_MIN_WEIGHT = 1 / 15  # of the paper's procedure, as are the next two
_RATE = 0.01
_STEPS = 200


@dataclass(frozen=True, eq=False)
class SyntheticTask:
    """Both sides of the table, drawn with one seed; a client's value is its mean squared error on new rows."""

    sides: dict[str, Synthetic]
    settings: dict[str, Any]
    seed: int

    @property
    def rows(self) -> str:
        """A digest of all rows."""
        return digest([client for side in self._tasks.values() for client in side.clients])

    @cached_property
    def _tasks(self) -> dict[str, TableTask]:
        study = Study(TARGET, metric="rmse", search="spo", seed=self.seed)
        return {
            side: TableTask(members(drawn), study, Budget(), BaselineRun((0.1,))) for side, drawn in self.sides.items()
        }

    def run(self, method: str, progress: Progress) -> Outcome:
        """Run a method on both sides."""
        whole = Outcome({})
        seconds = 0.0
        for side, drawn in self.sides.items():
            progress(f"{method}, {side}", 0, 1)
            began = time.perf_counter()
            found = PROCEDURES[method](self, drawn) if method in PROCEDURES else self._by_comity(side, method, progress)
            seconds += time.perf_counter() - began if found.seconds is None else found.seconds
            for name in ("values", "alone", "details"):
                getattr(whole, name).update({f"{side} {key}": value for key, value in getattr(found, name).items()})
        return replace(whole, seconds=seconds)

    def _by_comity(self, side: str, method: str, progress: Progress) -> Outcome:
        found = self._tasks[side].run(method, progress)
        noise = self.sides[side].noise
        values, alone = (
            {client: error**2 + noise**2 for client, error in errors.items()} for errors in (found.values, found.alone)
        )
        return replace(found, values=values, alone=alone)


def task(experiment: Experiment, directory: str | Path | None, seed: int) -> SyntheticTask:
    """Return the task of a seed; no files are needed."""
    settings = experiment.settings
    sides = {side: two_groups(seed, _DIM, noise=settings["noise"], **settings[side]) for side in ("left", "right")}
    return SyntheticTask(sides, settings, seed)


def members(drawn: Synthetic) -> tuple[Client, ...]:
    """Return the clients, with new test rows whose target has no noise."""
    tests = drawn.test_rows()
    return tuple(
        Client(name, frame, test=tests.assign(**{TARGET: tests.to_numpy() @ truth}))
        for (name, frame), truth in zip(drawn.frames().items(), drawn.truth, strict=True)
    )


def by_the_paper(task: SyntheticTask, drawn: Synthetic) -> Outcome:
    """Return the outcome of the paper's procedure: an affine hypernetwork, clipped weights, and few steps."""
    federation = InProcess(members(drawn))
    schema = state_problem(federation, Study(TARGET)).schema
    recipe = Recipe(schema=schema, depth=0, loss="squared", judged=False, batch=512, seed=task.seed)
    steps, rays = task.settings["steps"], Rays(sparse=0.0)
    training = Training(kind="linear", steps=steps, rate=1e-2, per_step=4, rays=rays, checks=1, seed=task.seed)
    front = train(federation, recipe, torch.zeros(_DIM + 1), training)
    rate, clients = _RATE * schema.target.scale**2, len(federation.clients)
    rule = ClipRule(floor=_MIN_WEIGHT, threshold=task.settings["threshold"], steps=_STEPS, rate=rate)
    searching = ClientSearcher(
        federation=federation,
        recipe=recipe,
        network=front.network,
        parameters=front.parameters,
        counts=np.ones(clients),
        alone=np.full(clients, np.nan),
        search=Search(strengths=(0.0,), clip_rule=rule),
    )
    decision = decide(searching, federation.clients)
    models = front.models(decision.searched.weights)
    questions = {
        client: EvaluateModels(recipe, "rmse", models[place : place + 1], ("now",))
        for place, client in enumerate(federation.clients)
    }
    answers = federation.ask(questions)
    return Outcome(
        {client: float(answer.values[0]) ** 2 + drawn.noise**2 for client, answer in answers.items()},
        by_every_subset(task, drawn).alone,
        details=_details([list(edge) for edge in decision.graph.edges()], decision.equilibrium),
    )


def by_every_subset(task: SyntheticTask, drawn: Synthetic) -> Outcome:
    """Return the outcome of an exhaustive search: each client's subset whose pooled model errs least on new rows."""
    names, tests = drawn.names, drawn.test_rows()
    squares = {name: (x.T @ x, x.T @ y) for name, (x, y) in zip(names, drawn.rows, strict=True)}
    errors: dict[str, dict[frozenset[str], float]] = {name: {} for name in names}
    for subset in chain.from_iterable(combinations(names, size) for size in range(1, len(names) + 1)):
        gram, cross = (sum(squares[member][part] for member in subset) for part in range(2))
        predictions = tests.to_numpy() @ np.linalg.solve(gram, cross)
        for member in subset:
            errors[member][frozenset(subset)] = drawn.true_loss(names.index(member), tests, predictions)

    def best(client: str, remaining: frozenset[str]) -> frozenset[str]:
        return min((subset for subset in errors[client] if subset <= remaining), key=errors[client].__getitem__)

    found = find_equilibrium(names, best)
    values = {client: errors[client][best(client, found.coalition_of(client))] for client in names}
    alone = {client: errors[client][frozenset([client])] for client in names}
    edges = [[giver, taker] for taker in names for giver in sorted(best(taker, frozenset(names)) - {taker})]
    return Outcome(values, alone, details=_details(edges, found))


def _details(edges: list[list[str]], equilibrium: Equilibrium) -> dict[str, Any]:
    coalitions = [sorted(coalition) for coalition in equilibrium.coalitions]
    return {"edges": edges, "coalitions": coalitions, "equilibrium": equilibrium.to_dict()}


PROCEDURES: dict[str, Callable[[SyntheticTask, Synthetic], Outcome]] = {
    "paper": by_the_paper,
    "subsets": by_every_subset,
}
