"""The exact front of log losses (logistic and softmax regression), in few rounds.

For weights w over the clients and a penalty λ the model minimises Σ w_j L_j(θ) / s + λ θᵀDθ, with L_j the sum of client
j's losses and s = Σ w_j n_j. `newton` finds many such models at once: a round asks every client for loss, slope and
curvature at all the models that give it a weight. `expand` replaces each client's loss by its second-order expansion
at the model of all rows pooled, which is a `QuadraticFront`: on it, collaborators are searched without asking anybody.
`expand_at` does so at a point of each client's own, where its search led.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from comity.federation import Federation
from comity.fronts.quadratic import QuadraticFront
from comity.likelihood import spare_intercepts
from comity.questions import Expand, Expansion, Moments, MomentsAnswer, Slopes, SlopesAnswer, Split
from comity.simplex import Floats
from comity.trials import Integers

_POOLED = 1e-3  # the penalty of the model at which losses are expanded
_SHORTER = 0.25
_ENOUGH = 1e-10  # of the loss, that another step promises
_MOST_MOVE = 5.0  # of a parameter in one step: features are standardised


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """M models to find: weights (M, N) over the clients, penalties (M,), the view (M,) of the rows, a start (M, d)."""

    weights: Floats
    penalties: Floats
    views: Integers
    start: Floats

    def some(self, chosen: Integers) -> Wanted:
        """Return some of them."""
        return Wanted(self.weights[chosen], self.penalties[chosen], self.views[chosen], self.start[chosen])


@dataclass(frozen=True, slots=True)
class ConvexFront:
    """The front of the clients of a federation, for a schema (JSON) with a target of classes and a split (JSON)."""

    federation: Federation
    schema: str
    split: str
    size: int
    outputs: int
    per_client: bool = False

    def newton(self, wanted: Wanted, rounds: int, tell: Callable[[int, int], None] | None = None) -> Floats:
        """Return the parameters (M, d) of the models, each client being asked at most `rounds` times.

        A step that does not lower the loss is shortened and tried again: undamped, Newton's method diverges on rows
        that are nearly separable.
        """
        costs = spare_intercepts(self.size, self.outputs)
        best, tried = wanted.start.copy(), wanted.start.copy()
        values = np.full(len(best), np.inf)
        going = np.arange(len(best))
        for number in range(rounds):
            if tell is not None:
                tell(number, rounds)
            part = wanted.some(going)
            loss, slope, curvature = self._ask(part, tried[going])
            penalty = part.penalties[:, None] * costs
            loss = loss + (penalty * tried[going] ** 2).sum(axis=1)
            slope = slope + 2 * penalty * tried[going]
            curvature[:, np.arange(self.size), np.arange(self.size)] += 2 * penalty
            better = loss <= values[going]
            short, ahead = going[~better], going[better]
            tried[short] = best[short] + _SHORTER * (tried[short] - best[short])
            best[ahead], values[ahead] = tried[ahead], loss[better]
            step = np.linalg.solve(curvature[better], slope[better][..., None])[..., 0]
            promise = (step * slope[better]).sum(axis=1)
            step *= np.minimum(1.0, _MOST_MOVE / np.maximum(np.abs(step).max(axis=1, keepdims=True), 1e-300))
            tried[ahead] = best[ahead] - step
            done = ahead[promise <= _ENOUGH * np.maximum(np.abs(values[ahead]), 1e-12)]
            # What was the last step is taken too, since it can only be a tiny one.
            best[done] = tried[done]
            going = np.setdiff1d(going, done, assume_unique=True)
            if not going.size:
                break
        return best

    def _ask(self, wanted: Wanted, at: Floats) -> tuple[Floats, Floats, Floats]:
        """Return weighted mean losses (M,), slopes (M, d) and curvatures (M, d, d) at parameters (M, d)."""
        asked: dict[str, Slopes] = {}
        chosen: dict[str, Integers] = {}
        for number, client in enumerate(self.federation.clients):
            here = np.flatnonzero(wanted.weights[:, number])
            if here.size:
                chosen[client] = here
                views = wanted.views[here].astype(np.float64)
                asked[client] = Slopes(self.schema, self.split, at[here], views)
        answers: dict[str, SlopesAnswer] = self.federation.ask(asked)
        count = len(at)
        loss, rows = np.zeros(count), np.zeros(count)
        slope, curvature = np.zeros((count, self.size)), np.zeros((count, self.size, self.size))
        position = {client: number for number, client in enumerate(self.federation.clients)}
        for client, answer in answers.items():
            here = chosen[client]
            weight = wanted.weights[here, position[client]]
            if self.per_client:
                weight = weight / answer.rows
            loss[here] += weight * answer.losses
            slope[here] += weight[:, None] * answer.slopes
            curvature[here] += weight[:, None, None] * answer.curvatures
            rows[here] += weight * answer.rows
        return loss / rows, slope / rows[:, None], curvature / rows[:, None, None]

    def pooled(self, rounds: int, tell: Callable[[int, int], None] | None = None) -> Floats:
        """Return the model of all clients' rows pooled, for every view that is no resample (1 + judges, d)."""
        split = Split.from_json(self.split)
        views = 1 + split.judges
        clients = len(self.federation.clients)
        start = np.zeros((views, self.size))
        weights = np.full((views, clients), 1 / clients)
        return self.newton(Wanted(weights, np.full(views, _POOLED), np.arange(views), start), rounds, tell)

    def expand_at(self, points: Floats) -> tuple[QuadraticFront, ...]:
        """Return the quadratic front of every view, expanded at a point of each client's own (1 + judges, N, d).

        Where clients differ much, the pooled model is far from what any of them wants, and so is an expansion there.
        """
        split = Split.from_json(self.split)
        everywhere = np.concatenate([points, np.repeat(points[:1], split.resamples, axis=0)])
        answers = self.federation.ask(
            {
                client: Expand(self.schema, self.split, everywhere, own)
                for own, client in enumerate(self.federation.clients)
            }
        ).values()
        return tuple(
            QuadraticFront(
                **_sums(answers, view),
                intercepts=self.outputs,
                per_client=self.per_client,
                likelihood=True,
                repeats=split.repeats,
                whole_gram=np.stack([answer.whole_gram[view] for answer in answers], axis=1),
                whole_cross=np.stack([answer.whole_cross[view] for answer in answers], axis=1),
            )
            for view in range(split.views)
        )

    def expand(self, points: Floats) -> tuple[QuadraticFront, ...]:
        """Return the quadratic front of every view, its losses expanded at the view's point (1 + judges, d).

        Resamples are expanded where all rows are.
        """
        split = Split.from_json(self.split)
        everywhere = np.concatenate([points, np.repeat(points[:1], split.resamples, axis=0)])
        return quadratic_fronts(
            self.federation, self.schema, split, everywhere, outputs=self.outputs, per_client=self.per_client
        )


def quadratic_fronts(
    federation: Federation, schema: str, split: Split, points: Floats, *, outputs: int, per_client: bool
) -> tuple[QuadraticFront, ...]:
    """Ask for moments, in one round, and return the quadratic front of every view.

    With no `points` (0, d), the target is a number and the fronts are exact.
    """
    answers = federation.ask(Moments(schema, split.to_json(), points)).values()
    return tuple(
        QuadraticFront(
            **_sums(answers, view),
            intercepts=outputs,
            per_client=per_client,
            likelihood=points.size > 0,
            repeats=split.repeats,
        )
        for view in range(split.views)
    )


def _sums(answers: Iterable[MomentsAnswer | Expansion], view: int) -> dict[str, Floats]:
    """Return the sums of all clients in a view, by name."""
    names = ("gram", "cross", "square", "rows")
    return {name: np.stack([getattr(answer, name)[view] for answer in answers]) for name in names}
