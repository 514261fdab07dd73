"""How arrows are bent, so that they pass neither nodes nor boxes of others."""

from __future__ import annotations

from math import hypot

import numpy as np
from numpy.typing import NDArray

from comity.drawing.circle import Point

Floats = NDArray[np.float64]
BEND = 0.14  # of the length
_MOST = 0.25  # and at most so many inches, in the control point
_DETOURS = (0.35, -0.35, 0.6, -0.6, 1.0, -1.0, 1.5, -1.5, 2.1, -2.1, 2.8, -2.8, 3.6, -3.6)  # inches to the side
_STEEPEST = 1.2
_STRAIGHT = 1e-6
_CLEAR = 0.06
_SHARES = np.linspace(0.02, 0.98, 33)[:, None]


def bend_of(start: Point, end: Point) -> float:
    """Return how much an arrow is bent, as a share of its length: what goes to and fro is seen as two.

    >>> bend_of((0, 0), (1, 0)), bend_of((0, 0), (10, 0))
    (0.14, 0.025)
    """
    return min(BEND, _MOST / max(hypot(end[0] - start[0], end[1] - start[1]), _MOST))


def bend_inward(start: Point, end: Point, centre: Point) -> float:
    """Return the bend of an arrow on a circle: towards its centre, so that it passes no other node.

    Of two that go to and fro one is bent more, so that both are seen.
    """
    (x, y), (u, v) = ((at[0] - centre[0], at[1] - centre[1]) for at in (start, end))
    usual = bend_of(start, end)
    return usual if x * v - y * u < _STRAIGHT else -2 * usual


def bend_around(start: Point, end: Point, boxes: Floats) -> float:
    """Return the bend with which an arrow meets the fewest of some boxes (k, 4): left, lower, right and upper end.

    >>> bend_around((0, 0), (4, 0), np.array([[1.5, -0.3, 2.5, 0.3]])) > 0.2
    True
    """
    length = hypot(end[0] - start[0], end[1] - start[1])
    usual = bend_of(start, end)
    if not length or not boxes.size:
        return usual
    bends = [usual, *(2 * detour / length for detour in _DETOURS if abs(2 * detour / length) <= _STEEPEST)]
    return min(bends, key=lambda bend: _met(start, end, bend, boxes))


def middle_of(start: Point, end: Point, bend: float) -> Point:
    """Return the point in the middle of a bent arrow."""
    across, up = end[0] - start[0], end[1] - start[1]
    return (start[0] + end[0] + bend * up) / 2, (start[1] + end[1] - bend * across) / 2


def _met(start: Point, end: Point, bend: float, boxes: Floats) -> int:
    """Return how many boxes a quadratic curve meets, by points on it."""
    first, last = np.array(start), np.array(end)
    control = 2 * np.array(middle_of(start, end, bend)) - (first + last) / 2
    points = (1 - _SHARES) ** 2 * first + 2 * _SHARES * (1 - _SHARES) * control + _SHARES**2 * last
    x, y = points[:, 0, None], points[:, 1, None]
    left, low, right, high = (boxes + _CLEAR * np.array([-1, -1, 1, 1])).T
    within = (x > left) & (x < right) & (y > low) & (y < high)
    return int(within.any(axis=0).sum())
