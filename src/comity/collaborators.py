"""Finding collaborators: the search on the simplex, then the smallest set that is nearly as good (paper, Section 4.2).

For every target at once: minimise its cross-fitted loss over weights on the simplex and the penalty, from several
starts; then drop collaborators one at a time, the least missed first, and keep the smallest set whose loss is
within some standard errors of the best. All of it speaks to a front through `Trials` and knows nothing of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce
from typing import Self

import numpy as np
from numpy.typing import NDArray

from comity.fronts.quadratic import Trials
from comity.fronts.simplex import Booleans, Floats, project

Integers = NDArray[np.intp]

PENALTIES: Floats = np.logspace(-8, 2, 11)
_LEAST, _MOST = np.log(1e-9), np.log(1e3)
_SMALL = 1e-2
_ENOUGH_DECREASE = 1e-4  # of what the slope promises (Armijo)
_SHORTER = 0.3
_TRIES = 6
_MANY = 12
_STALLED = 3  # steps without progress
_MOST_NUMBERS = 2e7  # in the systems of one batch, which bounds memory


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Where P searches stand: weights (P, N), logarithms of penalties (P,), losses (P,)."""

    weights: Floats
    log_penalty: Floats
    losses: Floats

    def some(self, chosen: Integers) -> Points:
        """Return some of the points."""
        return Points(self.weights[chosen], self.log_penalty[chosen], self.losses[chosen])

    def better_of(self, other: Points) -> Points:
        """Return of each pair the point with the smaller loss."""
        mine = self.losses <= other.losses
        return Points(
            np.where(mine[:, None], self.weights, other.weights),
            np.where(mine, self.log_penalty, other.log_penalty),
            np.where(mine, self.losses, other.losses),
        )

    def put(self, chosen: Integers, points: Points) -> None:
        """Put points in the place of some."""
        self.weights[chosen], self.log_penalty[chosen] = points.weights, points.log_penalty
        self.losses[chosen] = points.losses


@dataclass(frozen=True, slots=True, eq=False)
class Paths:
    """For each of P targets, shrinking sets of collaborators: from what the search found down to the target alone.

    `sets` (M, P, N), `points` M times, and the fold models `models` (M, P, K, d) of every stage. A target whose
    set is exhausted stays alone for the rest.
    """

    sets: Booleans
    points: tuple[Points, ...]
    models: Floats

    @property
    def losses(self) -> Floats:
        """The losses of every stage (M, P)."""
        return np.stack([points.losses for points in self.points])


@dataclass(frozen=True, slots=True)
class Search:
    """How collaborators are looked for.

    `steps` of spectral projected gradient from each start; sets within `standard_errors` of the best loss count as
    good as the best; only a gain over training alone of more than `standard_errors_to_join` standard errors is a
    reason to join.
    """

    steps: int = 40
    standard_errors: float = 1.0
    standard_errors_to_join: float = 1.0
    penalties: tuple[float, ...] = field(default=tuple(PENALTIES.tolist()))

    def best(self, trials: Trials, face: Booleans) -> Points:
        """Return the best point of every trial on its face (P, N) of the simplex, from several starts."""
        alone = np.zeros(face.shape)
        alone[np.arange(len(trials)), trials.target] = 1.0
        pooled = face / face.sum(axis=1, keepdims=True)
        between = (alone + pooled) / 2
        starts = [self.with_best_penalty(trials, weights) for weights in (alone, pooled, between)]
        # A large penalty, right for bad weights, would keep the search from better ones: once, it begins small.
        small = np.full(len(trials), np.log(_SMALL))
        starts.append(Points(between, small, trials.losses(between, small)))
        # A quarter of the way shows which start leads furthest; that one is followed to the end.
        ahead = [self.descend(trials, start, face, self.steps // 4) for start in starts]
        return self.descend(trials, reduce(Points.better_of, ahead), face)

    def with_best_penalty(self, trials: Trials, weights: Floats) -> Points:
        """Return weights with the penalty of the grid that gives the smallest loss."""
        logs = np.log(self.penalties)
        losses = np.stack([trials.losses(weights, np.full(len(trials), log)) for log in logs])
        best = losses.argmin(axis=0)
        return Points(weights.copy(), logs[best], losses[best, np.arange(len(trials))])

    def descend(self, trials: Trials, start: Points, face: Booleans, steps: int | None = None) -> Points:
        """Walk downhill on the face from a start and return the best points met."""
        best = Points(start.weights.copy(), start.log_penalty.copy(), start.losses.copy())
        going = np.arange(len(trials))
        walk = _Walk.begin(trials, start, face)
        for _ in range(self.steps if steps is None else steps):
            walk = walk.step()
            improved = np.flatnonzero(walk.at.losses < best.losses[going])
            best.put(going[improved], walk.at.some(improved))
            still = np.flatnonzero(walk.stalled < _STALLED)
            if not still.size:
                break
            if still.size < going.size:
                going, walk = going[still], walk.some(still)
        return best

    def shrink(self, trials: Trials, found: Points) -> Paths:
        """Return every trial's path from the set found down to the target alone, the least missed dropped first."""
        everybody = np.arange(len(trials))
        members = found.weights > 0
        members[everybody, trials.target] = True
        at = found.some(everybody)
        sets, points, models = [members.copy()], [at.some(everybody)], [trials.models(at.weights, at.log_penalty)]
        while (going := np.flatnonzero(members.sum(axis=1) > 1)).size:
            members[going] &= ~self._least_missed(trials, at, members, going)
            part, face = trials.some(going), members[going]
            weights = _confined(at.weights[going], face, part.target)
            kept = Points(weights, at.log_penalty[going], part.losses(weights, at.log_penalty[going]))
            refreshed = self.with_best_penalty(part, weights)
            at.put(going, self.descend(part, kept.better_of(refreshed), face, self.steps // 2))
            sets.append(members.copy())
            points.append(at.some(everybody))
            models.append(trials.models(at.weights, at.log_penalty))
        return Paths(np.stack(sets), tuple(points), np.stack(models))

    def _least_missed(self, trials: Trials, at: Points, members: Booleans, going: Integers) -> Booleans:
        """Return for each of some trials whom to drop (P, N): the one without whom its loss is smallest.

        Of more than `_MANY` collaborators a quarter is dropped at once, those least missed.
        """
        candidates = members[going].copy()
        candidates[np.arange(going.size), trials.target[going]] = False
        rows, others = np.nonzero(candidates)
        losses = np.full(candidates.shape, np.inf)
        for chunk in _chunks(rows.size, trials):
            who = going[rows[chunk]]
            part, face = trials.some(who), members[who]
            face[np.arange(who.size), others[chunk]] = False
            confined = _confined(at.weights[who], face, part.target)
            losses[rows[chunk], others[chunk]] = part.losses(confined, at.log_penalty[who])
        sizes = candidates.sum(axis=1)
        drop = np.where(sizes > _MANY, sizes // 4, 1)
        rank = losses.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
        dropped: Booleans = rank < drop[:, None]
        return dropped

    def choose(self, trials: Trials, paths: Paths) -> Integers:
        """Return the stage of each path that is taken: the smallest set that is nearly as good as the best.

        A gain over training alone that is not significant is none: then the last stage.
        """
        losses = paths.losses
        everybody = np.arange(len(trials))
        best = losses.argmin(axis=0)
        taken = best.copy()
        reference = paths.models[best, everybody]
        for stage in range(len(losses)):
            error = trials.standard_error(reference, paths.models[stage])
            near = losses[stage] - losses[best, everybody] <= self.standard_errors * error
            taken = np.where(near, np.maximum(taken, stage), taken)
        gain = losses[-1] - losses[taken, everybody]
        error = trials.standard_error(paths.models[taken, everybody], paths.models[-1])
        chosen: Integers = np.where(gain > self.standard_errors_to_join * error, taken, len(losses) - 1)
        return chosen


@dataclass(frozen=True, slots=True, eq=False)
class _Walk:
    """Spectral projected gradient (Birgin, Martínez and Raydan 2000), for P searches side by side.

    The length of a step is that of Barzilai and Borwein, apart for weights and penalty; it is shortened until the
    loss falls enough.
    """

    trials: Trials
    face: Booleans
    at: Points
    slope: Floats
    penalty_slope: Floats
    length: Floats
    penalty_length: Floats
    stalled: Integers

    @classmethod
    def begin(cls, trials: Trials, start: Points, face: Booleans) -> Self:
        losses, slope, penalty_slope = trials.derivatives(start.weights, start.log_penalty)
        at = Points(start.weights, start.log_penalty, losses)
        centred = slope - slope.mean(axis=1, keepdims=True)
        length = 0.3 / _positive(np.abs(centred).max(axis=1))
        penalty_length = 0.5 / _positive(np.abs(penalty_slope))
        stalled = np.zeros(len(trials), np.intp)
        return cls(trials, face, at, slope, penalty_slope, length, penalty_length, stalled)

    def some(self, chosen: Integers) -> _Walk:
        return _Walk(
            self.trials.some(chosen),
            self.face[chosen],
            self.at.some(chosen),
            self.slope[chosen],
            self.penalty_slope[chosen],
            self.length[chosen],
            self.penalty_length[chosen],
            self.stalled[chosen],
        )

    def step(self) -> _Walk:
        at, trials = self.at, self.trials
        by_weight = project(at.weights - self.length[:, None] * self.slope, self.face) - at.weights
        wished = at.log_penalty - np.clip(self.penalty_length * self.penalty_slope, -1.0, 1.0)
        by_penalty = np.clip(wished, _LEAST, _MOST) - at.log_penalty
        promise = (self.slope * by_weight).sum(axis=1) + self.penalty_slope * by_penalty
        weights, log_penalty = at.weights + by_weight, at.log_penalty + by_penalty
        share = np.ones(len(trials))
        losses = trials.losses(weights, log_penalty)
        for _ in range(_TRIES):
            short = np.flatnonzero(losses > at.losses + _ENOUGH_DECREASE * share * promise)
            if not short.size:
                break
            share[short] *= _SHORTER
            weights[short] = at.weights[short] + share[short, None] * by_weight[short]
            log_penalty[short] = at.log_penalty[short] + share[short] * by_penalty[short]
            losses[short] = trials.some(short).losses(weights[short], log_penalty[short])
        worse = losses > at.losses
        weights = np.where(worse[:, None], at.weights, weights)
        log_penalty = np.where(worse, at.log_penalty, log_penalty)
        losses, slope, penalty_slope = trials.derivatives(weights, log_penalty)
        progress = at.losses - losses > 1e-6 * np.abs(at.losses)
        return _Walk(
            trials,
            self.face,
            Points(weights, log_penalty, losses),
            slope,
            penalty_slope,
            _length(weights - at.weights, slope - self.slope, slope),
            _length((log_penalty - at.log_penalty)[:, None], (penalty_slope - self.penalty_slope)[:, None],
                    penalty_slope[:, None]),
            np.where(progress, 0, self.stalled + 1),
        )  # fmt: skip


def _length(moved: Floats, bent: Floats, slope: Floats) -> Floats:
    """Return the step length of Barzilai and Borwein, s·s / s·y; where the loss bends down, one across the simplex."""
    square, curvature = (moved * moved).sum(axis=1), (moved * bent).sum(axis=1)
    across = 1.0 / _positive(np.abs(slope - slope.mean(axis=1, keepdims=True) * (slope.shape[1] > 1)).max(axis=1))
    lengths: Floats = np.where(curvature > 1e-30, square / _positive(curvature), across)
    return lengths


def _positive(values: Floats) -> Floats:
    return np.maximum(values, 1e-30)


def _confined(weights: Floats, face: Booleans, target: Integers) -> Floats:
    """Return weights (P, N) on a face only, scaled to sum to one; if nothing is left there, the target's is one."""
    left = np.where(face, weights, 0.0)
    empty = np.flatnonzero(left.sum(axis=1) < 1e-9)
    left[empty, target[empty]] = 1.0
    return np.asarray(left / left.sum(axis=1, keepdims=True))


def _chunks(count: int, trials: Trials) -> Iterator[slice]:
    """Yield slices of so many trials at a time as memory allows."""
    numbers = trials.front.folds * trials.front.penalised.size**2
    size = max(1, int(_MOST_NUMBERS / numbers))
    for first in range(0, count, size):
        yield slice(first, first + size)
