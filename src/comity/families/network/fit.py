"""Networks at work on a federation: a front for all clients, searches at the clients, and the evaluation of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from comity.core.arrays import Floats
from comity.core.kinds import ModelKind
from comity.core.wording import mention
from comity.deciding.decision import Decision
from comity.deciding.searcher import Searcher
from comity.families.family import Evaluated, Fit, Request
from comity.families.network.hypernetworks import HypernetworkFront
from comity.families.network.modules import Functional, perceptron
from comity.families.network.searcher import ClientSearcher
from comity.families.network.trainer import train
from comity.families.network.training import Training
from comity.families.problem import Problem
from comity.questions import EvaluateModels, Evaluation, Recipe, Split, TrainAlone, TrainAloneAnswer

if TYPE_CHECKING:
    from comity.study import Study

_TUNING_RATE = 0.1  # relative to the rate at which clients train alone
_MIN_HELD_ROWS = 20  # to choose collaborators by
_RAYS_PER_STEP = 4  # gradients of a client in a step of the front, where their number is limited


@dataclass(frozen=True, eq=False)
class Setup:
    """What networks are trained: how clients train, the model that training starts from (D,), and the problem."""

    recipe: Recipe
    base: torch.Tensor
    training: Training
    problem: Problem


def perceptron_setup(
    problem: Problem, study: Study, gradients: int | None = None, *, depth: int | None = None
) -> Setup:
    """Return the setup of perceptrons for a table.

    `gradients` limits how many gradients of a client the front may take, and how many a model alone. `depth` is the
    number of hidden layers, as in the study unless given; 0 is a linear model.
    """
    depth = study.depth if depth is None else depth
    classes = len(problem.classes)
    recipe = Recipe(
        schema=problem.schema,
        width=study.width,
        depth=depth,
        loss="cross-entropy" if classes else "squared",
        folds=study.folds or 1,
        seed=study.seed,
    )
    module = perceptron(len(problem.schema.features), classes or 1, study.width, depth, study.seed)
    base, _ = Functional.of(module).initial()
    training = training_of(study)
    if gradients is not None:
        steps = max(1, gradients // _RAYS_PER_STEP)
        training = replace(training, steps=steps, per_step=_RAYS_PER_STEP, steps_alone=gradients)
    return Setup(recipe, base, training, problem)


def training_of(study: Study) -> Training:
    """Return how a front is trained: step by step with all clients, or with many steps at the clients in a round.

    In the latter case a look at the losses is a round of its own, and not worth it after every round.
    """
    if not study.local_steps:
        return Training(steps=study.steps, seed=study.seed)
    rounds = -(-study.steps // study.local_steps)
    return Training(steps=rounds, local_steps=study.local_steps, checks=max(1, rounds // 4), seed=study.seed)


@final
@dataclass(frozen=True, eq=False)
class NetworkFit(Fit):
    """Networks of one federation: trained when they are first needed."""

    request: Request
    setup: Setup

    @property
    def split(self) -> Split:  # type: ignore[override]
        """How rows are split: no outer folds, since clients keep rows for the evaluation."""
        return Split(folds=self.setup.recipe.folds, repeats=1, judges=1, resamples=0, seed=self.request.study.seed)

    @property
    def training(self) -> Mapping[str, Any]:  # type: ignore[override]
        """How networks were trained; without what the schema and the study say."""
        recipe = {name: getattr(self.setup.recipe, name) for name in ("loss", "personal", "batch", "double", "parts")}
        return {**recipe, **asdict(self.setup.training)}

    @cached_property
    def _front(self) -> HypernetworkFront:
        request, setup = self.request, self.setup

        def report(done: int, total: int, loss: float) -> None:
            request.progress(f"training the front (loss {loss:.3g})", done, total)

        rows = str(dict(setup.problem.rows))  # a saved training of other rows is not resumed
        with threadpool_limits(1):
            return train(request.federation, setup.recipe, setup.base, setup.training, report, request.checkpoint, rows)

    @cached_property
    def _alone(self) -> dict[str, TrainAloneAnswer]:
        """Every client's model of its own rows."""
        recipe, training = self.setup.recipe, self.setup.training
        self.request.progress("training alone", 0, 1)
        start = self.setup.base.to(torch.float64 if recipe.double else torch.float32).numpy()
        steps = training.steps_alone or training.steps
        question = TrainAlone(recipe, ModelKind.ALONE.value, start, steps, training.rate_alone)
        with threadpool_limits(1):
            return self.request.federation.ask(question)

    @cached_property
    def _counts(self) -> Floats:
        """What turns weights (N,) into shares of the objective."""
        by_row = self.request.study.weights == "sample"
        clients = self.request.federation.clients
        return np.array([self.setup.problem.rows[client] if by_row else 1 for client in clients], np.float64)

    def searchers(self) -> Sequence[Searcher]:
        """Return the one searcher: clients search on the front, with the rows that they hold out."""
        front, federation = self._front, self.request.federation
        return [
            ClientSearcher(
                federation=federation,
                recipe=self.setup.recipe,
                network=front.network,
                parameters=front.parameters,
                counts=self._counts,
                alone=np.array([self._alone[client].loss[0] for client in federation.clients]),
                # A front of all weights needs no leaning.
                search=replace(self.request.study.search_settings(), strengths=(0.0,), penalty=None),
            )
        ]

    def evaluate(self, decisions: Sequence[Decision]) -> Evaluated:
        """Take the models of a decision from the front, fine-tune them if the study says so, and evaluate them."""
        (decision,) = decisions
        clients = self.request.federation.clients
        own = np.stack([self._alone[client].parameters for client in clients])
        models = {kind: own.copy() for kind in ModelKind}
        shared: dict[ModelKind, list[int]] = {kind: [] for kind in ModelKind}
        with threadpool_limits(1):
            for kind in (ModelKind.COALITION, ModelKind.BEST, ModelKind.TOGETHER):
                weights = decision.points[kind].weights
                shares = weights * self._counts
                begin = self._front.models_of_all(shares / shares.sum(axis=1, keepdims=True))
                here = shared[kind] = np.flatnonzero(weights.sum(axis=1) > np.diag(weights)).tolist()
                models[kind][here] = begin[-1][here]
                if self.request.study.fine_tune and here and kind is not ModelKind.TOGETHER:
                    self._tune(kind, begin, here, models[kind])
            self.request.progress("evaluating", 0, 1)
            evaluations = self._evaluations(models, shared)
        zeros = {kind: np.zeros(len(clients)) for kind in ModelKind}
        doubles = {kind: each.astype(np.float64) for kind, each in models.items()}
        return Evaluated(doubles, zeros, evaluations, warnings=self._few_held_rows())

    def test(self, evaluated: Evaluated) -> Mapping[str, Evaluation]:
        """Return the evaluations: clients that keep rows for testing used these."""
        return evaluated.evaluations

    def _evaluations(
        self, models: Mapping[ModelKind, np.ndarray], shared: Mapping[ModelKind, Sequence[int]]
    ) -> dict[str, Evaluation]:
        """Ask how well each client's models do; models that are not shared have the personal parts of those alone."""
        questions = {}
        for place, client in enumerate(self.request.federation.clients):
            heads = tuple((kind if place in shared[kind] else ModelKind.ALONE).value for kind in ModelKind)
            parameters = np.stack([models[kind][place] for kind in ModelKind])
            questions[client] = EvaluateModels(self.setup.recipe, self.setup.problem.metric, parameters, heads)
        return self.request.federation.ask(questions)

    def _tune(self, kind: ModelKind, begin: np.ndarray, shared: Sequence[int], models: np.ndarray) -> None:
        """Train `begin` (K, N, D) further on the rows of each client that shares, and put the result into `models`."""
        clients, recipe = self.request.federation.clients, self.setup.recipe
        steps, rate = self.request.study.fine_tune, _TUNING_RATE * self.setup.training.rate_alone
        self.request.progress(f"tuning the models {kind}", 0, 1)
        starts = {clients[place]: np.ascontiguousarray(begin[:, place]) for place in shared}
        questions = {client: TrainAlone(recipe, kind.value, start, steps, rate) for client, start in starts.items()}
        for client, answer in self.request.federation.ask(questions).items():
            models[clients.index(client)] = answer.parameters

    def _few_held_rows(self) -> tuple[str, ...]:
        """Return a warning if clients hold out too few rows to choose collaborators by."""
        recipe, rows = self.setup.recipe, self.setup.problem.rows
        held = {client: count // recipe.parts if recipe.folds == 1 else count for client, count in rows.items()}
        few = [client for client, count in held.items() if count < _MIN_HELD_ROWS]
        if not few:
            return ()
        others = f" and {len(few) - 1} more have" if len(few) > 1 else " has"
        warning = f"client {few[0]!r}{others} fewer than {_MIN_HELD_ROWS} rows to choose collaborators by"
        if recipe.folds == 1:
            warning += f"; with five folds ({mention('folds', 5)}) all its rows choose, in five trainings"
        return (warning,)
