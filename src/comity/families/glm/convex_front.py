"""The exact Pareto front of a federation, in few rounds of questions: one for squared losses, some for log losses.

For weights w over the clients and a penalty λ the model θ minimises Σ w_j L_j(θ) / s + λ θᵀDθ, with L_j the loss summed
over client j's n_j rows, s = Σ w_j n_j, and D as in `comity.families.glm.quadratic_front`. `newton` finds many such
models at once: a round asks every client for loss, gradient (slope) and Hessian (curvature) at all the models in which
it has a weight. Second-order expansions of the losses give a `QuadraticFront`, on which collaborators are searched
without further questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from comity.core.arrays import Floats, Integers
from comity.core.likelihood import penalty_factors
from comity.core.progress import Advance
from comity.families.glm.quadratic_front import QuadraticFront
from comity.federation import Federation
from comity.questions import Expand, Expansion, Moments, MomentsAnswer, Slopes, Split
from comity.questions.schema import Schema

_POOLED_PENALTY = 1e-3  # of the model at which losses are expanded
_SHORTENING = 0.25  # of a step that did not lower the loss
_MIN_DECREASE = 1e-10  # expected from another step, relative to the loss
_SUMS = ("gram", "cross", "square", "rows")
_MAX_CHANGE = 5.0  # of a parameter in one step: features are standardised


@dataclass(frozen=True, slots=True, eq=False)
class ModelRequest:
    """M models to train: weights (M, N) over the clients, penalties (M,), the views (M,) of the rows, starts (M, d)."""

    weights: Floats
    penalties: Floats
    views: Integers
    start: Floats

    @classmethod
    def joined(cls, parts: Sequence[ModelRequest]) -> ModelRequest:
        """Return the request for the models of all parts."""
        fields = zip(*((part.weights, part.penalties, part.views, part.start) for part in parts), strict=True)
        return cls(*map(np.concatenate, fields))

    def some(self, chosen: Integers) -> ModelRequest:
        """Return the request for some of the models."""
        return ModelRequest(self.weights[chosen], self.penalties[chosen], self.views[chosen], self.start[chosen])


@dataclass(frozen=True, slots=True)
class ConvexFront:
    """The front of a federation, for a schema and a split of the rows; `per_client` as in `QuadraticFront`."""

    federation: Federation
    schema: Schema
    split: Split
    per_client: bool = False

    @property
    def size(self) -> int:
        """The number of parameters, d."""
        return self.schema.parameters

    @property
    def intercepts(self) -> int:
        """The number of intercepts: one, or one for each of three or more classes."""
        return self.size // (len(self.schema.features) + 1)

    def newton(self, request: ModelRequest, rounds: int, progress: Advance | None = None) -> Floats:
        """Return the parameters (M, d) of the models by Newton's method; each client is asked at most `rounds` times.

        A step that does not lower the loss is shortened and tried again: undamped, Newton's method diverges on rows
        that are nearly separable.
        """
        penalised = penalty_factors(self.size, self.intercepts)
        best, tried = request.start.copy(), request.start.copy()
        values = np.full(len(best), np.inf)
        active = np.arange(len(best))
        for number in range(rounds):
            if progress is not None:
                progress(number, rounds)
            part = request.some(active)
            loss, slope, curvature = self._ask(part, tried[active])
            penalty = part.penalties[:, None] * penalised
            loss = loss + (penalty * tried[active] ** 2).sum(axis=1)
            slope = slope + 2 * penalty * tried[active]
            curvature[:, np.arange(self.size), np.arange(self.size)] += 2 * penalty
            better = loss <= values[active]
            worse, improved = active[~better], active[better]
            tried[worse] = best[worse] + _SHORTENING * (tried[worse] - best[worse])
            best[improved], values[improved] = tried[improved], loss[better]
            step = np.linalg.solve(curvature[better], slope[better][..., None])[..., 0]
            decrease = (step * slope[better]).sum(axis=1)
            step *= np.minimum(1.0, _MAX_CHANGE / np.maximum(np.abs(step).max(axis=1, keepdims=True), 1e-300))
            tried[improved] = best[improved] - step
            done = improved[decrease <= _MIN_DECREASE * np.maximum(np.abs(values[improved]), 1e-12)]
            best[done] = tried[done]  # without evaluating it, since this last step is tiny
            active = np.setdiff1d(active, done, assume_unique=True)
            if not active.size:
                break
        return best

    def _ask(self, request: ModelRequest, parameters: Floats) -> tuple[Floats, Floats, Floats]:
        """Return weighted mean losses (M,), slopes (M, d) and curvatures (M, d, d) at parameters (M, d)."""
        weights_of = dict(zip(self.federation.clients, request.weights.T, strict=True))
        chosen = {client: np.flatnonzero(weights) for client, weights in weights_of.items() if weights.any()}
        answers = self.federation.ask(
            {
                client: Slopes(self.schema, self.split, parameters[here], request.views[here].astype(np.float64))
                for client, here in chosen.items()
            }
        )
        count = len(parameters)
        loss, rows = np.zeros(count), np.zeros(count)
        slope, curvature = np.zeros((count, self.size)), np.zeros((count, self.size, self.size))
        for client, answer in answers.items():
            here = chosen[client]
            weight = weights_of[client][here]
            if self.per_client:
                weight = weight / answer.rows
            loss[here] += weight * answer.losses
            slope[here] += weight[:, None] * answer.slopes
            curvature[here] += weight[:, None, None] * answer.curvatures
            rows[here] += weight * answer.rows
        return loss / rows, slope / rows[:, None], curvature / rows[:, None, None]

    def pooled(self, rounds: int, progress: Advance | None = None) -> Floats:
        """Return the pooled model of all clients' rows, for every view that is not a resample (1 + judges, d)."""
        views, clients = 1 + self.split.judges, len(self.federation.clients)
        weights, penalties = np.full((views, clients), 1 / clients), np.full(views, _POOLED_PENALTY)
        start = np.zeros((views, self.size))
        return self.newton(ModelRequest(weights, penalties, np.arange(views), start), rounds, progress)

    def expand_at(self, points: Floats) -> tuple[QuadraticFront, ...]:
        """Return the quadratic front of every view, expanded at a separate point for each client (1 + judges, N, d).

        If clients differ much, the pooled model is far from each client's optimum, and an expansion at it is inexact.
        """
        everywhere = self._for_every_view(points)
        names = self.federation.clients
        asked = {name: Expand(self.schema, self.split, everywhere, own) for own, name in enumerate(names)}
        answers = list(self.federation.ask(asked).values())
        fronts = self._fronts(answers)
        return tuple(
            replace(
                front,
                whole_gram=np.stack([answer.whole_gram[view] for answer in answers], axis=1),
                whole_cross=np.stack([answer.whole_cross[view] for answer in answers], axis=1),
            )
            for view, front in enumerate(fronts)
        )

    def expand(self, points: Floats) -> tuple[QuadraticFront, ...]:
        """Ask for moments, in one round, and return the quadratic front of every view.

        Log losses are expanded at the view's point (1 + judges, d). For a number, whose squared loss needs no
        expansion, there are no points: (0, d).
        """
        question = Moments(self.schema, self.split, self._for_every_view(points))
        return self._fronts(list(self.federation.ask(question).values()))

    def _for_every_view(self, points: Floats) -> Floats:
        """Return the points (1 + judges, …) of views, and after them that of all rows for each resample."""
        return np.concatenate([points, np.repeat(points[:1], self.split.resamples, axis=0)])

    def _fronts(self, answers: Sequence[MomentsAnswer | Expansion]) -> tuple[QuadraticFront, ...]:
        """Return the front of every view from the sums of all clients."""
        return tuple(
            QuadraticFront(
                **{name: np.stack([getattr(answer, name)[view] for answer in answers]) for name in _SUMS},
                intercepts=self.intercepts,
                per_client=self.per_client,
                likelihood=bool(self.schema.target.classes),
                repeats=self.split.repeats,
            )
            for view in range(self.split.views)
        )
