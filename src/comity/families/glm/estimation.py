"""Fronts and models of a federation, for numbers and for classes: what clients are asked, and in how many rounds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import final

import numpy as np
from threadpoolctl import threadpool_limits

from comity.core.arrays import Floats
from comity.core.kinds import ModelKind
from comity.core.progress import Progress
from comity.deciding.decision import Decision
from comity.families.glm.convex_front import ConvexFront, ModelRequest
from comity.families.glm.quadratic_front import QuadraticFront
from comity.questions import FitAlone, FitAloneAnswer
from comity.search.collaborators import Search

OWN_PENALTIES = np.logspace(-6, 1, 8)  # from which the folds choose that of a client's own model of classes
_ROUNDS_TO_POOL = 8
_ROUNDS_TO_EXPAND = 5
_ROUNDS_TO_FIT = 10
_MAX_NUMBERS_EXPANDED = 2e6  # in expansions at a separate point for each client; with more, all share one point

Models = dict[ModelKind, Floats]
"""An array for each kind of model."""


@final
@dataclass(frozen=True)
class Regression:
    """For a number: exact fronts, from one round of moments; `progress` is called with each stage."""

    front: ConvexFront
    progress: Progress

    def fronts(self) -> tuple[QuadraticFront, ...]:
        """Return the front of every view."""
        self.progress("asking for moments", 0, 1)
        return self.front.expand(np.empty((0, self.front.size)))

    def models(self, fronts: Sequence[QuadraticFront], decisions: Sequence[Decision]) -> tuple[Models, Models]:
        """Return of each kind the models (V, N, d) and their penalties (V, N), for the decision in each of V views."""
        models, penalties = {}, {}
        for kind in ModelKind:
            points = [decision.points[kind] for decision in decisions]
            models[kind] = np.stack([front.own_models(at) for front, at in zip(fronts, points, strict=True)])
            penalties[kind] = np.exp([at.log_penalty for at in points])
        return models, penalties


@final
@dataclass(frozen=True)
class Classes:
    """For classes: the search uses quadratic expansions of the losses, and the final models are trained exactly.

    `penalties` are those among which the folds choose for a client's own model.
    """

    front: ConvexFront
    penalties: Floats
    progress: Progress

    @cached_property
    def _own(self) -> dict[str, FitAloneAnswer]:
        """Each client's own models."""
        self.progress("training alone", 0, 1)
        return self.front.federation.ask(FitAlone(self.front.schema, self.front.split, self.penalties))

    def fronts(self) -> tuple[QuadraticFront, ...]:
        """Return the front of every view."""
        clients = len(self._own)
        points = self.front.pooled(_ROUNDS_TO_POOL, partial(self.progress, "training on all rows"))
        self.progress("asking for curvatures", 0, 1)
        fronts = self._with_exact_losses(self.front.expand(points))
        if clients**2 * points.shape[1] ** 2 > _MAX_NUMBERS_EXPANDED:
            return fronts
        # Losses are expanded again where each client's search ended: expansions are most exact near their point.
        search = Search(strengths=(0.0,), penalty=float(self.penalties[0]) if len(self.penalties) == 1 else None)
        everybody, face = np.arange(clients), np.ones((clients, clients), np.bool_)
        requests = []
        for view, front in enumerate(fronts[: len(points)]):
            with threadpool_limits(1):
                at = search.best(front.trials(everybody), face)
            penalties, views = np.exp(at.log_penalty), np.full(clients, view)
            requests.append(ModelRequest(at.weights, penalties, views, front.own_models(at)))
        found = self.front.newton(
            ModelRequest.joined(requests), _ROUNDS_TO_EXPAND, partial(self.progress, "training for each")
        )
        self.progress("asking for curvatures", 0, 1)
        return self._with_exact_losses(self.front.expand_at(found.reshape(len(points), clients, -1)))

    def _with_exact_losses(self, fronts: tuple[QuadraticFront, ...]) -> tuple[QuadraticFront, ...]:
        """Return fronts with every client's exact loss alone, and the least penalty of models that it shares.

        An expansion does not show that nearly separable rows lead to extreme parameters. The penalty times the number
        of rows is what shrinks parameters, so a shared model keeps as much of it as the client's own model needs.
        """
        exact = []
        for view, front in enumerate(fronts):
            rows = front.rows.sum(axis=1)
            penalties = np.array([answer.penalties[view] for answer in self._own.values()])
            losses = np.array([answer.losses[view] for answer in self._own.values()])
            least = np.maximum(penalties * rows / rows.sum(), self.penalties.min())
            exact.append(replace(front, alone_losses=losses, least_penalty=least))
        return tuple(exact)

    def models(self, fronts: Sequence[QuadraticFront], decisions: Sequence[Decision]) -> tuple[Models, Models]:
        """Return of each kind the models (V, N, d) and their penalties (V, N)."""
        views = len(fronts)
        alone = np.stack([answer.parameters[:views] for answer in self._own.values()], axis=1)
        own_penalties = np.stack([answer.penalties[:views] for answer in self._own.values()], axis=1)
        models = {kind: alone.copy() for kind in ModelKind}
        penalties = {kind: own_penalties.copy() for kind in ModelKind}
        places: list[tuple[ModelKind, int, int | slice]] = []
        requests = []
        for view, (front, decision) in enumerate(zip(fronts, decisions, strict=True)):
            for kind in ModelKind:
                at = decision.points[kind]
                if kind is ModelKind.TOGETHER:  # one model for all
                    chosen, penalty = np.array([0]), np.exp(at.log_penalty[:1])
                    places.append((kind, view, slice(None)))
                else:
                    chosen = np.flatnonzero(at.weights.sum(axis=1) > np.diag(at.weights))
                    least = [self._least(front, own_penalties[view, i], at.weights[i], i) for i in chosen.tolist()]
                    penalty = np.maximum(np.exp(at.log_penalty[chosen]), least)
                    places += [(kind, view, client) for client in chosen.tolist()]
                start = front.own_models(at)[chosen]
                requests.append(ModelRequest(at.weights[chosen], penalty, np.full(chosen.size, view), start))
        request = ModelRequest.joined(requests)
        found = self.front.newton(request, _ROUNDS_TO_FIT, partial(self.progress, "training together"))
        for (kind, view, place), model, taken in zip(places, found, request.penalties, strict=True):
            models[kind][view, place], penalties[kind][view, place] = model, taken
        return models, penalties

    def _least(self, front: QuadraticFront, own: float, weights: Floats, client: int) -> float:
        """Return the least penalty of a model that a client shares, from its own: see `_with_exact_losses`."""
        if len(self.penalties) == 1:
            return float(self.penalties[0])
        rows = front.rows.sum(axis=1) / front.repeats
        gathered = weights @ front.total_rows / max((weights * front.unit).max(), 1e-300)
        return float(max(own * min(rows[client] / gathered, 1.0), self.penalties.min()))
