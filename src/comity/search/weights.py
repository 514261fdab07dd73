"""Weights on faces of the simplex, and the points that a search makes of them."""

from __future__ import annotations

import numpy as np

from comity.core.arrays import Booleans, Floats, Integers
from comity.search.descent import Points, Regularised
from comity.search.trials import Bounds, Trials

_MIN_WEIGHT_LEFT = 1e-9


def weights_alone(trials: Trials, face: Booleans) -> Floats:
    """Return weights (P, N) with all weight on the target."""
    weights = np.zeros(face.shape)
    weights[np.arange(len(trials)), trials.target] = 1.0
    return weights


def equal_weights(face: Booleans) -> Floats:
    """Return equal weights (P, N) on a face."""
    return np.asarray(face / face.sum(axis=1, keepdims=True))


def restrict(weights: Floats, face: Booleans, target: Integers) -> Floats:
    """Return weights (P, N) restricted to a face and scaled to sum to one; if none are left, the target gets one."""
    left = np.where(face, weights, 0.0)
    empty = np.flatnonzero(left.sum(axis=1) < _MIN_WEIGHT_LEFT)
    left[empty, target[empty]] = 1.0
    return np.asarray(left / left.sum(axis=1, keepdims=True))


def clip_logs(logs: Floats, bounds: Bounds) -> Floats:
    """Return logarithms of penalties (P, M) clipped to bounds."""
    return np.asarray(np.clip(logs.T, *bounds).T)


def with_best_of(trials: Trials, weights: Floats, logs: Floats) -> Points:
    """Return weights (P, N), each with the penalty of least loss; `logs` (P, M) are the penalties' logarithms."""
    logs = np.unique(logs, axis=1)  # within narrow bounds, many are the same
    losses = trials.losses_by_penalty(weights, logs)
    best = losses.argmin(axis=0)
    rows = np.arange(len(trials))
    return Points(weights.copy(), logs[rows, best], losses[best, rows])


def points_at(trials: Trials, weights: Floats, log_penalty: Floats) -> Points:
    """Return weights (P, N) and penalties (P,) with their losses on the trials."""
    return Points(weights, log_penalty, trials.losses(weights, log_penalty))


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


def take_exact(trials: Trials, points: Points, members: Booleans) -> None:
    """Lower the losses of targets that are alone to those that are known exactly, in place.

    The expansion of a loss has similar errors for similar models, so that its value is kept where it is smaller.
    """
    if trials.alone_losses is not None:
        alone = np.flatnonzero(members.sum(axis=1) == 1)
        points.losses[alone] = np.minimum(points.losses[alone], trials.alone_losses[alone])
