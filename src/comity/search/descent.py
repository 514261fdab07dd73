"""Descent on the simplex: many searches at once, each for the weights and the penalty of one target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from comity.core.arrays import Booleans, Floats, Integers
from comity.search.simplex import equal_weights, project
from comity.search.trials import Bounds, Objective, Trials

_SUFFICIENT_DECREASE = 1e-4  # as a share of the decrease that the gradient predicts (Armijo)
_STEP_REDUCTION = 0.3
_MAX_REDUCTIONS = 6
_MAX_STEPS_WITHOUT_PROGRESS = 3
_MAX_SHARE_ACTIVE = 0.8  # when fewer of the searches are active, it pays to leave the others out


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """The points of P searches: weights (P, N), logarithms of penalties (P,), losses (P,)."""

    weights: Floats
    log_penalty: Floats
    losses: Floats

    @classmethod
    def joined(cls, parts: Sequence[Points]) -> Points:
        """Return the points of all parts, one after the other."""
        return cls(*(np.concatenate(field) for field in zip(*map(_fields, parts), strict=True)))

    @classmethod
    def stacked(cls, parts: Sequence[Points]) -> Points:
        """Return M parts of P points each as one, with M as the first dimension."""
        return cls(*(np.stack(field) for field in zip(*map(_fields, parts), strict=True)))

    def some(self, chosen: int | slice | Integers | tuple[Integers, Integers]) -> Points:
        """Return some of the points; of stacked ones, by part and place."""
        return Points(self.weights[chosen], self.log_penalty[chosen], self.losses[chosen])

    def better_of(self, other: Points) -> Points:
        """Return the point with the smaller loss of each pair."""
        mine = self.losses <= other.losses
        return Points(
            np.where(mine[:, None], self.weights, other.weights),
            np.where(mine, self.log_penalty, other.log_penalty),
            np.where(mine, self.losses, other.losses),
        )

    def put(self, chosen: Integers, points: Points) -> None:
        """Replace some of the points, in place."""
        for mine, new in zip(_fields(self), _fields(points), strict=True):
            mine[chosen] = new


@dataclass(frozen=True, slots=True, eq=False)
class Regularised:
    """An objective that pulls the weights w towards a centre (P, N): loss + pull · |w - centre|², with `pull` (P,).

    A search over many weights fits the noise of few rows; a pull towards equal weights reduces this. The paper has no
    such term.
    """

    objective: Objective
    centre: Floats
    pull: Floats

    def some(self, chosen: Integers) -> Regularised:
        """Return some of the functions."""
        return Regularised(self.objective.some(chosen), self.centre[chosen], self.pull[chosen])

    def losses(self, weights: Floats, log_penalty: Floats) -> Floats:
        """Return the values (P,)."""
        return self.objective.losses(weights, log_penalty) + self._pull_loss(weights)

    def derivatives(self, weights: Floats, log_penalty: Floats) -> tuple[Floats, Floats, Floats]:
        """Return values (P,), derivatives by the weights (P, N) and by the logarithms of the penalties (P,)."""
        losses, by_weight, by_penalty = self.objective.derivatives(weights, log_penalty)
        by_weight = by_weight + 2 * self.pull[:, None] * (weights - self.centre)
        return losses + self._pull_loss(weights), by_weight, by_penalty

    def _pull_loss(self, weights: Floats) -> Floats:
        return np.asarray(self.pull * ((weights - self.centre) ** 2).sum(axis=1))


def regularise(
    trials: Trials, face: Booleans, strength: float, alone_losses: Floats, pooled_losses: Floats
) -> Trials | Regularised:
    """Return trials that pull weights towards equal ones, with a strength relative to the smaller of the losses (P,).

    Only a target that does better with equal weights than alone is pulled: others would be pulled towards clients that
    harm them.
    """
    if strength == 0:
        return trials
    pull = np.where(pooled_losses < alone_losses, strength * np.minimum(alone_losses, pooled_losses), 0.0)
    return Regularised(trials, equal_weights(face), np.maximum(pull, 0.0))


def points_at(trials: Trials, weights: Floats, log_penalty: Floats) -> Points:
    """Return weights (P, N) and penalties (P,) with their losses on the trials."""
    return Points(weights, log_penalty, trials.losses(weights, log_penalty))


def with_best_of(trials: Trials, weights: Floats, logs: Floats) -> Points:
    """Return weights (P, N), each with the penalty of least loss; `logs` (P, M) are the penalties' logarithms."""
    logs = np.unique(logs, axis=1)  # within narrow bounds, many are the same
    losses = trials.losses_by_penalty(weights, logs)
    best = losses.argmin(axis=0)
    rows = np.arange(len(trials))
    return Points(weights.copy(), logs[rows, best], losses[best, rows])


def clip_logs(logs: Floats, bounds: Bounds) -> Floats:
    """Return logarithms of penalties (P, M) clipped to bounds."""
    return np.asarray(np.clip(logs.T, *bounds).T)


def take_exact(trials: Trials, points: Points, members: Booleans) -> None:
    """Lower the losses of targets that are alone to those that are known exactly, in place.

    The expansion of a loss has similar errors for similar models, so that its value is kept where it is smaller.
    """
    if trials.alone_losses is not None:
        alone = np.flatnonzero(members.sum(axis=1) == 1)
        points.losses[alone] = np.minimum(points.losses[alone], trials.alone_losses[alone])


def descend(objective: Objective, start: Points, face: Booleans, steps: int, bounds: Bounds) -> Points:
    """Descend on faces (P, N) of the simplex from a start, and return the best points found.

    Logarithms of penalties stay within `bounds`, which are numbers or arrays (P,).

    1. Take a step of spectral projected gradient in every active search.
    2. Keep the best point of each search.
    3. Drop searches without progress from time to time; stop when none is active or after `steps`.
    """
    active = np.arange(len(start.losses))
    descent = _Descent(objective, start, face, bounds)
    best = descent.points.some(active)
    for _ in range(steps):
        descent.step()
        improved = np.flatnonzero(descent.points.losses < best.losses[active])
        best.put(active[improved], descent.points.some(improved))
        still = np.flatnonzero(descent.stalled < _MAX_STEPS_WITHOUT_PROGRESS)
        if not still.size:
            break
        if still.size < _MAX_SHARE_ACTIVE * active.size:
            active = active[still]
            descent.keep(still)
    return best


class _Descent:
    """Spectral projected gradient (Birgin, Martínez and Raydan 2000), for P searches at once.

    1. Take a step along the negative gradient, of Barzilai and Borwein's length, one for the weights and one for the
       penalty, and project it onto the face.
    2. Shorten it until the loss falls sufficiently (Armijo).
    """

    def __init__(self, objective: Objective, start: Points, face: Booleans, bounds: Bounds) -> None:
        self.objective, self.face = objective, face
        losses, self.slope, self.penalty_slope = objective.derivatives(start.weights, start.log_penalty)
        self.points = Points(start.weights, start.log_penalty, losses)
        self.least_log, self.greatest_log = (np.broadcast_to(bound, losses.shape) for bound in bounds)
        self.length = 0.3 / _positive(np.abs(self.slope - self.slope.mean(axis=1, keepdims=True)).max(axis=1))
        self.penalty_length = 0.5 / _positive(np.abs(self.penalty_slope))
        self.stalled = np.zeros(losses.shape, np.intp)

    def keep(self, chosen: Integers) -> None:
        """Drop all searches but some."""
        self.objective, self.points, self.face = (
            self.objective.some(chosen),
            self.points.some(chosen),
            self.face[chosen],
        )
        self.slope, self.penalty_slope = self.slope[chosen], self.penalty_slope[chosen]
        self.length, self.penalty_length = self.length[chosen], self.penalty_length[chosen]
        self.least_log, self.greatest_log = self.least_log[chosen], self.greatest_log[chosen]
        self.stalled = self.stalled[chosen]

    def step(self) -> None:
        """Take one step in every search."""
        before = self.points
        by_weight = project(before.weights - self.length[:, None] * self.slope, self.face) - before.weights
        target = before.log_penalty - np.clip(self.penalty_length * self.penalty_slope, -1.0, 1.0)
        by_penalty = np.clip(target, self.least_log, self.greatest_log) - before.log_penalty
        predicted = (self.slope * by_weight).sum(axis=1) + self.penalty_slope * by_penalty
        weights, log_penalty = before.weights + by_weight, before.log_penalty + by_penalty
        # Most steps need not be shortened, so that the derivatives are computed together with the losses.
        losses, slope, penalty_slope = self.objective.derivatives(weights, log_penalty)
        failed = np.flatnonzero(losses > before.losses + _SUFFICIENT_DECREASE * predicted)
        if failed.size:
            part = self.objective.some(failed)
            points = self._shortened(part, failed, Points(by_weight, by_penalty, predicted))
            weights[failed], log_penalty[failed] = points.weights, points.log_penalty
            losses[failed], slope[failed], penalty_slope[failed] = part.derivatives(points.weights, points.log_penalty)
        progress = before.losses - losses > 1e-6 * np.abs(before.losses)
        self.stalled = np.where(progress, 0, self.stalled + 1)
        self.length = _length(weights - before.weights, slope - self.slope, slope)
        self.penalty_length = _length(
            log_penalty - before.log_penalty, penalty_slope - self.penalty_slope, penalty_slope
        )
        self.points, self.slope, self.penalty_slope = Points(weights, log_penalty, losses), slope, penalty_slope

    def _shortened(self, objective: Objective, failed: Integers, move: Points) -> Points:
        """Return the points of some searches after a shorter move, or the old points if no length helps.

        `move` has the changes of weights and penalties, and of the losses as the gradient predicts them.
        """
        start, move = self.points.some(failed), move.some(failed)
        share = np.full(failed.size, _STEP_REDUCTION)
        result = start.some(np.arange(failed.size))
        left = np.arange(failed.size)
        for _ in range(_MAX_REDUCTIONS):
            weights = start.weights[left] + share[left, None] * move.weights[left]
            log_penalty = start.log_penalty[left] + share[left] * move.log_penalty[left]
            losses = objective.some(left).losses(weights, log_penalty)
            enough = losses <= start.losses[left] + _SUFFICIENT_DECREASE * share[left] * move.losses[left]
            result.put(left[enough], Points(weights, log_penalty, losses).some(np.flatnonzero(enough)))
            left = left[~enough]
            if not left.size:
                break
            share[left] *= _STEP_REDUCTION
        return result


def _length(moved: Floats, gradient_change: Floats, slope: Floats) -> Floats:
    """Return Barzilai and Borwein's step length, s·s / s·y, or one across the simplex where the curvature is negative.

    s is the last move and y the change of the gradient, of weights (P, N) or of penalties (P,).
    """
    moved, gradient_change, slope = (each.reshape(len(each), -1) for each in (moved, gradient_change, slope))
    square, curvature = (moved * moved).sum(axis=1), (moved * gradient_change).sum(axis=1)
    across = 1.0 / _positive(np.abs(slope - slope.mean(axis=1, keepdims=True) * (slope.shape[1] > 1)).max(axis=1))
    lengths: Floats = np.where(curvature > 1e-30, square / _positive(curvature), across)
    return lengths


def _fields(points: Points) -> tuple[Floats, Floats, Floats]:
    return points.weights, points.log_penalty, points.losses


def _positive(values: Floats) -> Floats:
    return np.maximum(values, 1e-30)
