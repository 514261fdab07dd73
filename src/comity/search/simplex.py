"""The simplex of weights, non-negative numbers that sum to one, and its faces."""

import numpy as np

from comity.core.arrays import Booleans, Floats, Integers

_MIN_WEIGHT_LEFT = 1e-9


def project(points: Floats, face: Booleans | None = None) -> Floats:
    """Return the point of the simplex that is nearest to each row of `points` (P, N), by Euclidean distance.

    With `face` (P, N), weights are zero wherever `face` is False; each row of it needs a True. The projection of v is
    max(v - t, 0), with t such that it sums to one (Held, Wolfe and Crowder 1974).

    >>> project(np.array([[0.5, 0.8, -1.0]]))
    array([[0.35, 0.65, 0.  ]])
    >>> project(np.array([[0.5, 0.8, -1.0]]), np.array([[True, False, True]]))
    array([[1., 0., 0.]])
    """
    inside = points if face is None else np.where(face, points, -np.inf)
    descending = -np.sort(-inside, axis=1)
    counts = np.arange(1, points.shape[1] + 1)
    with np.errstate(invalid="ignore"):  # infinity minus infinity, outside the face
        thresholds = (np.cumsum(descending, axis=1) - 1) / counts
        kept = (descending > thresholds).sum(axis=1)
    threshold = thresholds[np.arange(len(points)), kept - 1]
    projected: Floats = np.maximum(inside - threshold[:, None], 0.0)
    return projected


def weights_alone(target: Integers, clients: int) -> Floats:
    """Return weights (P, N) with all weight on the target (P,)."""
    return np.asarray(target[:, None] == np.arange(clients), np.float64)


def equal_weights(face: Booleans) -> Floats:
    """Return equal weights (P, N) on a face."""
    return np.asarray(face / face.sum(axis=1, keepdims=True))


def restrict(weights: Floats, face: Booleans, target: Integers) -> Floats:
    """Return weights (P, N) restricted to a face and scaled to sum to one; if none are left, the target gets one."""
    left = np.where(face, weights, 0.0)
    empty = np.flatnonzero(left.sum(axis=1) < _MIN_WEIGHT_LEFT)
    left[empty, target[empty]] = 1.0
    return np.asarray(left / left.sum(axis=1, keepdims=True))
