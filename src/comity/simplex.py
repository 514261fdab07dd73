"""The simplex of weights: numbers that are not negative and sum to one."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]


def project(points: Floats, face: Booleans | None = None) -> Floats:
    """Return the nearest point of the simplex to each row of `points` (P, N), by Euclid's distance.

    With `face` (P, N), the nearest point whose weight is zero wherever `face` is False; each row of it needs a True.
    A point is max(v - t, 0) with t such that it sums to one (Held, Wolfe and Crowder 1974).

    >>> project(np.array([[0.5, 0.8, -1.0]]))
    array([[0.35, 0.65, 0.  ]])
    >>> project(np.array([[0.5, 0.8, -1.0]]), np.array([[True, False, True]]))
    array([[1., 0., 0.]])
    """
    inside = points if face is None else np.where(face, points, -np.inf)
    descending = -np.sort(-inside, axis=1)
    counts = np.arange(1, points.shape[1] + 1)
    with np.errstate(invalid="ignore"):  # minus infinity and minus infinity, outside the face
        thresholds = (np.cumsum(descending, axis=1) - 1) / counts
        kept = (descending > thresholds).sum(axis=1)
    threshold = thresholds[np.arange(len(points)), kept - 1]
    projected: Floats = np.maximum(inside - threshold[:, None], 0.0)
    return projected
