"""The paper's own rule for collaborators: keep the clients whose weights exceed a threshold (Section 4.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from comity.core.arrays import Booleans, Floats, Integers
from comity.questions.search import ClipRule
from comity.search.choices import Choices
from comity.search.descent import Points, descend, points_at, take_exact, with_best_of
from comity.search.simplex import equal_weights, restrict, weights_alone
from comity.search.trials import Bounds, Objective, Trials


def choose_by_clip_rule(
    rule: ClipRule, trials: Trials, face: Booleans, logs: Floats, bounds: Bounds, steps: int
) -> Choices:
    """Choose collaborators on faces (P, N) of the simplex as the paper does.

    1. Search for weights from equal ones, none below the floor, with the best penalty of those tried.
    2. The clients whose weights exceed the threshold, and the target, are the collaborators.
    3. Search for weights on this smaller face.

    `logs` (P, M) are the logarithms of the penalties to try; `steps` is the length of a search, except for step 1 where
    the rule has its own.
    """
    only_target = weights_alone(trials.target, face.shape[1])
    alone = with_best_of(trials, only_target, logs)
    take_exact(trials, alone, only_target > 0)
    start = with_best_of(trials, equal_weights(face), logs)
    if rule.steps:
        best = _descend_as_paper(rule, trials, start, face)
    else:
        floored = _Floored(trials, face, rule.floor)
        found = descend(floored, start, face, steps, bounds)
        best = points_at(trials, floored.weights(found.weights), found.log_penalty)
    sets = face & (best.weights > rule.threshold)
    sets[np.arange(len(trials)), trials.target] = True
    start = with_best_of(trials, restrict(best.weights, sets, trials.target), logs)
    chosen = descend(trials, start, sets, steps, bounds)
    if not rule.steps:
        best = best.better_of(chosen)
    return Choices(sets, chosen, best, alone, np.maximum(chosen.losses - best.losses, 0.0))


def _descend_as_paper(rule: ClipRule, trials: Trials, start: Points, face: Booleans) -> Points:
    """Take gradient steps of a fixed rate, clip each and scale it to sum to one."""
    weights = clipped = start.weights
    for _ in range(rule.steps):
        _, slope, _ = trials.derivatives(weights, start.log_penalty)
        clipped = np.where(face, np.clip(weights - rule.rate * slope, rule.floor, 1.0), 0.0)
        weights = clipped / clipped.sum(axis=1, keepdims=True)
    return Points(weights, start.log_penalty, trials.losses(clipped, start.log_penalty))


@dataclass(frozen=True, slots=True, eq=False)
class _Floored:
    """An objective whose weights may not fall below a floor: w = floor + (1 - n·floor) v, with v on the simplex.

    n is the number of clients on the face (P, N); the search works on v.
    """

    objective: Objective
    face: Booleans
    floor: float

    def some(self, chosen: Integers) -> _Floored:
        return _Floored(self.objective.some(chosen), self.face[chosen], self.floor)

    def losses(self, free: Floats, log_penalty: Floats) -> Floats:
        return self.objective.losses(self.weights(free), log_penalty)

    def derivatives(self, free: Floats, log_penalty: Floats) -> tuple[Floats, Floats, Floats]:
        losses, by_weight, by_penalty = self.objective.derivatives(self.weights(free), log_penalty)
        return losses, by_weight * self._scale, by_penalty

    def weights(self, free: Floats) -> Floats:
        """Return the weights w (P, N) for v (P, N)."""
        lowest = (1 - self._scale) / self.face.sum(axis=1, keepdims=True)
        return np.asarray(np.where(self.face, lowest + self._scale * free, 0.0))

    @property
    def _scale(self) -> Floats:
        return np.asarray(np.maximum(1 - self.floor * self.face.sum(axis=1, keepdims=True), 0.0))
