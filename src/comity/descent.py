"""Downhill on the simplex: many searches side by side, each for the weights and the penalty of one target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from comity.simplex import Booleans, Floats, project
from comity.trials import Bounds, Integers

_ENOUGH_DECREASE = 1e-4  # of what the slope promises (Armijo)
_SHORTER = 0.3
_TRIES = 6
_STALLED = 3  # steps without progress
_FEWER = 0.8  # of the searches still going, it pays to leave the others out


class Objective(Protocol):
    """What is minimised: P functions of weights (P, N) and logarithms of penalties (P,)."""

    def __len__(self) -> int: ...

    def some(self, chosen: Integers) -> Self:
        """Return some of the functions."""

    def losses(self, weights: Floats, log_penalty: Floats) -> Floats:
        """Return the values (P,)."""

    def derivatives(self, weights: Floats, log_penalty: Floats) -> tuple[Floats, Floats, Floats]:
        """Return values (P,), derivatives by the weights (P, N) and by the logarithms of the penalties (P,)."""


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Where P searches stand: weights (P, N), logarithms of penalties (P,), losses (P,)."""

    weights: Floats
    log_penalty: Floats
    losses: Floats

    @classmethod
    def joined(cls, parts: Sequence[Points]) -> Points:
        """Return the points of all parts, one after the other."""
        return cls(*(np.concatenate(each) for each in zip(*map(_fields, parts), strict=True)))

    @classmethod
    def stacked(cls, parts: Sequence[Points]) -> Points:
        """Return M times P points as one, with a dimension for the M before all others."""
        return cls(*(np.stack(each) for each in zip(*map(_fields, parts), strict=True)))

    def some(self, chosen: Integers | int) -> Points:
        """Return some of the points."""
        return Points(self.weights[chosen], self.log_penalty[chosen], self.losses[chosen])

    def at(self, stages: Integers, places: Integers) -> Points:
        """Return points that were stacked, each by its stage and its place."""
        return Points(self.weights[stages, places], self.log_penalty[stages, places], self.losses[stages, places])

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
class Leaning:
    """An objective that also holds the weights near a place: loss + pull · |w - place|² (paper: none).

    A search over many weights fits the noise of few rows; leaning towards pooled weights tempers it. `place` (P, N),
    `pull` (P,).
    """

    objective: Objective
    place: Floats
    pull: Floats

    def __len__(self) -> int:
        return len(self.objective)

    def some(self, chosen: Integers) -> Leaning:
        """Return some of the functions."""
        return Leaning(self.objective.some(chosen), self.place[chosen], self.pull[chosen])

    def losses(self, weights: Floats, log_penalty: Floats) -> Floats:
        """Return the values (P,)."""
        return self.objective.losses(weights, log_penalty) + self._tension(weights)

    def derivatives(self, weights: Floats, log_penalty: Floats) -> tuple[Floats, Floats, Floats]:
        """Return values (P,), derivatives by the weights (P, N) and by the logarithms of the penalties (P,)."""
        losses, by_weight, by_penalty = self.objective.derivatives(weights, log_penalty)
        by_weight = by_weight + 2 * self.pull[:, None] * (weights - self.place)
        return losses + self._tension(weights), by_weight, by_penalty

    def _tension(self, weights: Floats) -> Floats:
        tension: Floats = self.pull * ((weights - self.place) ** 2).sum(axis=1)
        return tension


@dataclass(frozen=True, slots=True, eq=False)
class Floored:
    """An objective whose weights may not fall below a floor: w = floor + (1 - n·floor) v, with v on the simplex.

    n is how many clients the face (P, N) has; the points of a search are the v.
    """

    objective: Objective
    face: Booleans
    floor: float

    def __len__(self) -> int:
        return len(self.objective)

    def some(self, chosen: Integers) -> Floored:
        """Return some of the functions."""
        return Floored(self.objective.some(chosen), self.face[chosen], self.floor)

    def losses(self, weights: Floats, log_penalty: Floats) -> Floats:
        """Return the values (P,)."""
        return self.objective.losses(self._raised(weights), log_penalty)

    def derivatives(self, weights: Floats, log_penalty: Floats) -> tuple[Floats, Floats, Floats]:
        """Return values (P,), derivatives by the weights (P, N) and by the logarithms of the penalties (P,)."""
        losses, by_weight, by_penalty = self.objective.derivatives(self._raised(weights), log_penalty)
        return losses, by_weight * self._room, by_penalty

    def weights_of(self, points: Points) -> Points:
        """Return points with the weights w instead of v."""
        return Points(self._raised(points.weights), points.log_penalty, points.losses)

    @property
    def _room(self) -> Floats:
        return np.asarray(np.maximum(1 - self.floor * self.face.sum(axis=1, keepdims=True), 0.0))

    def _raised(self, weights: Floats) -> Floats:
        room = self._room
        lowest = (1 - room) / self.face.sum(axis=1, keepdims=True)
        return np.asarray(np.where(self.face, lowest + room * weights, 0.0))


def descend(objective: Objective, start: Points, face: Booleans, steps: int, bounds: Bounds) -> Points:
    """Walk downhill on faces (P, N) of the simplex from a start, and return the best points met.

    Logarithms of penalties stay within `bounds`, numbers or arrays (P,).
    """
    going = np.arange(len(objective))
    walk = _Walk.begin(objective, start, face, bounds)
    best = walk.at.some(going)
    for _ in range(steps):
        walk = walk.step()
        improved = np.flatnonzero(walk.at.losses < best.losses[going])
        best.put(going[improved], walk.at.some(improved))
        still = np.flatnonzero(walk.stalled < _STALLED)
        if not still.size:
            break
        if still.size < _FEWER * going.size:
            going, walk = going[still], walk.some(still)
    return best


@dataclass(frozen=True, slots=True, eq=False)
class _Walk:
    """Spectral projected gradient (Birgin, Martínez and Raydan 2000), for P searches side by side.

    The length of a step is that of Barzilai and Borwein, apart for weights and penalty; it is shortened until the
    loss falls enough.
    """

    objective: Objective
    face: Booleans
    at: Points
    slope: Floats
    penalty_slope: Floats
    length: Floats
    penalty_length: Floats
    stalled: Integers
    bounds: Bounds

    @classmethod
    def begin(cls, objective: Objective, start: Points, face: Booleans, bounds: Bounds) -> Self:
        losses, slope, penalty_slope = objective.derivatives(start.weights, start.log_penalty)
        at = Points(start.weights, start.log_penalty, losses)
        centred = slope - slope.mean(axis=1, keepdims=True)
        length = 0.3 / _positive(np.abs(centred).max(axis=1))
        penalty_length = 0.5 / _positive(np.abs(penalty_slope))
        stalled = np.zeros(len(objective), np.intp)
        return cls(objective, face, at, slope, penalty_slope, length, penalty_length, stalled, bounds)

    def some(self, chosen: Integers) -> _Walk:
        return _Walk(
            self.objective.some(chosen),
            self.face[chosen],
            self.at.some(chosen),
            self.slope[chosen],
            self.penalty_slope[chosen],
            self.length[chosen],
            self.penalty_length[chosen],
            self.stalled[chosen],
            _some(self.bounds, chosen),
        )

    def step(self) -> _Walk:
        at, objective = self.at, self.objective
        by_weight = project(at.weights - self.length[:, None] * self.slope, self.face) - at.weights
        wished = at.log_penalty - np.clip(self.penalty_length * self.penalty_slope, -1.0, 1.0)
        by_penalty = np.clip(wished, *self.bounds) - at.log_penalty
        promise = (self.slope * by_weight).sum(axis=1) + self.penalty_slope * by_penalty
        weights, log_penalty = at.weights + by_weight, at.log_penalty + by_penalty
        # Most steps are taken as they are, so that derivatives are asked for at once.
        losses, slope, penalty_slope = objective.derivatives(weights, log_penalty)
        missed = np.flatnonzero(losses > at.losses + _ENOUGH_DECREASE * promise)
        if missed.size:
            part = objective.some(missed)
            points = self._shortened(part, missed, Points(by_weight, by_penalty, promise))
            weights[missed], log_penalty[missed] = points.weights, points.log_penalty
            losses[missed], slope[missed], penalty_slope[missed] = part.derivatives(points.weights, points.log_penalty)
        progress = at.losses - losses > 1e-6 * np.abs(at.losses)
        return _Walk(
            objective,
            self.face,
            Points(weights, log_penalty, losses),
            slope,
            penalty_slope,
            _length(weights - at.weights, slope - self.slope, slope),
            _length((log_penalty - at.log_penalty)[:, None], (penalty_slope - self.penalty_slope)[:, None],
                    penalty_slope[:, None]),
            np.where(progress, 0, self.stalled + 1),
            self.bounds,
        )  # fmt: skip

    def _shortened(self, objective: Objective, missed: Integers, move: Points) -> Points:
        """Return where some searches go whose whole move was too far: part of the way, or nowhere."""
        start, move = self.at.some(missed), move.some(missed)
        share = np.full(missed.size, _SHORTER)
        there = start.some(np.arange(missed.size))
        left = np.arange(missed.size)
        for _ in range(_TRIES):
            weights = start.weights[left] + share[left, None] * move.weights[left]
            log_penalty = start.log_penalty[left] + share[left] * move.log_penalty[left]
            losses = objective.some(left).losses(weights, log_penalty)
            enough = losses <= start.losses[left] + _ENOUGH_DECREASE * share[left] * move.losses[left]
            there.put(left[enough], Points(weights, log_penalty, losses).some(np.flatnonzero(enough)))
            left = left[~enough]
            if not left.size:
                break
            share[left] *= _SHORTER
        return there


def _some(bounds: Bounds, chosen: Integers) -> Bounds:
    low, high = (bound[chosen] if isinstance(bound, np.ndarray) else bound for bound in bounds)
    return low, high


def _length(moved: Floats, bent: Floats, slope: Floats) -> Floats:
    """Return the step length of Barzilai and Borwein, s·s / s·y; where the loss bends down, one across the simplex."""
    square, curvature = (moved * moved).sum(axis=1), (moved * bent).sum(axis=1)
    across = 1.0 / _positive(np.abs(slope - slope.mean(axis=1, keepdims=True) * (slope.shape[1] > 1)).max(axis=1))
    lengths: Floats = np.where(curvature > 1e-30, square / _positive(curvature), across)
    return lengths


def _fields(points: Points) -> tuple[Floats, Floats, Floats]:
    return points.weights, points.log_penalty, points.losses


def _positive(values: Floats) -> Floats:
    return np.maximum(values, 1e-30)
