"""Table 1: the paper's six synthetic clients, by its own procedure, by ours, and in truth."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from comity.baselines import Budget
from comity.client import Client
from comity.collaborators import ClipRule, Search
from comity.datasets.synthetic import TARGET, Synthetic, two_groups
from comity.decide import decide
from comity.equilibrium import find_equilibrium
from comity.experiments.baseline_run import BaselineRun
from comity.experiments.experiment import Experiment
from comity.experiments.running import Outcome, Tell
from comity.experiments.tables import TableTask, digest
from comity.federation import InProcess
from comity.fronts.hypernetwork import Training, train
from comity.learn import agree_on
from comity.neural.rays import Rays
from comity.neural.recipe import Recipe
from comity.questions import JudgeModels
from comity.searching import AtClients
from comity.study import Study

Floats = NDArray[np.float64]
SIDES = ("left", "right")
_DIM = 20
_FLOOR = 1 / 15
_RATE = 0.01
_STEPS = 200


@dataclass(frozen=True, eq=False)
class SyntheticTask:
    """Both settings of the table, drawn with one seed; a client's value is its mean squared error on new rows."""

    sides: dict[str, Synthetic]
    settings: dict[str, Any]
    seed: int
    _ours: dict[str, TableTask] = field(default_factory=dict, init=False, repr=False)

    @property
    def rows(self) -> str:
        """A digest of all rows."""
        return digest([client for drawn in self.sides.values() for client in members(drawn)])

    def run(self, method: str, tell: Tell) -> Outcome:
        """Run a method on both sides."""
        values: dict[str, float] = {}
        alone: dict[str, float] = {}
        story: dict[str, Any] = {}
        seconds = 0.0
        for side, drawn in self.sides.items():
            tell(f"{method}, {side}", 0, 1)
            began = time.perf_counter()
            found = WAYS[method](self, drawn) if method in WAYS else self._by_us(side, method, tell)
            seconds += time.perf_counter() - began if found.seconds is None else found.seconds
            values |= {f"{side} {client}": error for client, error in found.values.items()}
            alone |= {f"{side} {client}": error for client, error in found.alone.items()}
            story |= {f"{side} {key}": each for key, each in found.story.items()}
        return Outcome(values, alone, story=story, seconds=seconds)

    def _by_us(self, side: str, method: str, tell: Tell) -> Outcome:
        if side not in self._ours:
            study = Study(TARGET, metric="rmse", seed=self.seed)
            self._ours[side] = TableTask(members(self.sides[side]), study, Budget(), BaselineRun((0.1,)))
        found = self._ours[side].run(method, tell)
        noise = self.sides[side].noise
        values, alone = (
            {client: value**2 + noise**2 for client, value in each.items()} for each in (found.values, found.alone)
        )
        return replace(found, values=values, alone=alone)


def task(experiment: Experiment, directory: str | Path | None, seed: int) -> SyntheticTask:
    """Return the task of a seed; nothing is read."""
    settings = experiment.settings
    drawn = {
        side: two_groups(seed, _DIM, settings[side]["rows"], settings[side]["spread"], settings["noise"])
        for side in SIDES
    }
    return SyntheticTask(drawn, settings, seed)


def members(drawn: Synthetic) -> tuple[Client, ...]:
    """Return the clients, with new rows to test with, whose target has no noise."""
    tests = drawn.test_rows()
    return tuple(
        Client(name, frame, test=tests.assign(**{TARGET: tests.to_numpy() @ truth}))
        for (name, frame), truth in zip(drawn.frames().items(), drawn.truth, strict=True)
    )


def by_the_paper(task: SyntheticTask, drawn: Synthetic) -> Outcome:
    """Return what the paper's procedure finds: its hypernetwork, its clipped weights, its few steps."""
    federation = InProcess(members(drawn))
    _, agreement, _ = agree_on(federation, Study(TARGET))
    variance = agreement.schema.target.scale**2
    recipe = Recipe(
        schema=agreement.schema.to_json(), depth=0, loss="squared", judged=False, batch=512, seed=task.seed
    )  # fmt: skip
    training = Training(
        kind="linear",
        steps=task.settings["steps"],
        rate=1e-2,
        per_step=4,
        rays=Rays(sparse=0.0),
        checks=1,
        seed=task.seed,
    )
    front = train(federation, recipe, torch.zeros(_DIM + 1), training)
    rule = ClipRule(floor=_FLOOR, threshold=task.settings["threshold"], steps=_STEPS, rate=_RATE * variance)
    clients = len(federation.clients)
    searching = AtClients(
        federation=federation,
        recipe=recipe.to_json(),
        network=front.network.to_json(),
        parameters=front.parameters,
        counts=np.ones(clients),
        alone=np.full(clients, np.nan),
        search=Search(strengths=(0.0,), clip_rule=rule),
    )
    decision = decide(searching, federation.clients)
    models = front.models(decision.searched.weights)
    answers = federation.ask(
        {
            client: JudgeModels(recipe.to_json(), "rmse", models[place : place + 1], json.dumps(["now"]))
            for place, client in enumerate(federation.clients)
        }
    )
    return Outcome(
        {client: float(each.values[0]) ** 2 + drawn.noise**2 for client, each in answers.items()},
        by_every_subset(task, drawn).alone,
        story={
            "coalitions": [sorted(each) for each in decision.equilibrium.coalitions],
            "edges": [list(edge) for edge in decision.graph.edges()],
            "equilibrium": decision.equilibrium.to_dict(),
        },
    )


def by_every_subset(task: SyntheticTask, drawn: Synthetic) -> Outcome:
    """Return the truth: of all subsets with a client, the one whose pooled least squares err least on new rows."""
    names, everybody = drawn.names, range(len(drawn.names))
    tests = drawn.test_rows()
    squares = [(x.T @ x, x.T @ y) for x, y in drawn.rows]
    errors: dict[frozenset[int], Floats] = {}
    for size in range(1, len(names) + 1):
        for subset in combinations(everybody, size):
            gram, cross = (sum(squares[member][part] for member in subset) for part in range(2))
            predictions = tests.to_numpy() @ np.linalg.solve(gram, cross)
            errors[frozenset(subset)] = np.array([drawn.true_loss(i, tests, predictions) for i in everybody])

    def best(client: str, remaining: frozenset[str]) -> list[str]:
        own = names.index(client)
        inside = [each for each in errors if own in each and all(names[member] in remaining for member in each)]
        return [names[member] for member in min(inside, key=lambda each: float(errors[each][own]))]

    found = find_equilibrium(names, best)
    values = {}
    for own, client in enumerate(names):
        chosen = frozenset(names.index(each) for each in best(client, found.coalition_of(client)))
        values[client] = float(errors[chosen][own])
    wishes = {client: best(client, frozenset(names)) for client in names}
    return Outcome(
        values,
        {client: float(errors[frozenset([own])][own]) for own, client in enumerate(names)},
        story={
            "coalitions": [sorted(each) for each in found.coalitions],
            "edges": [[giver, taker] for taker, givers in wishes.items() for giver in givers if giver != taker],
            "equilibrium": found.to_dict(),
        },
    )


WAYS: dict[str, Callable[[SyntheticTask, Synthetic], Outcome]] = {"paper": by_the_paper, "subsets": by_every_subset}
