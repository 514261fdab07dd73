"""The bend of arrows, chosen so that they avoid other nodes and boxes."""

from __future__ import annotations

from math import hypot

import numpy as np

from comity.core.arrays import Floats
from comity.report.drawing.circle import Point

_BEND = 0.14  # as a share of the length
_MAX_OFFSET = 0.25  # inches from the straight line to the control point
_DETOURS = (0.35, -0.35, 0.6, -0.6, 1.0, -1.0, 1.5, -1.5, 2.1, -2.1, 2.8, -2.8, 3.6, -3.6)  # inches to the side
_MAX_BEND = 1.2
_COLLINEAR = 1e-6
_CLEARANCE = 0.06  # inches around a box
_SHARES = np.linspace(0.02, 0.98, 33)[:, None]


def usual_bend(start: Point, end: Point) -> float:
    """Return the usual bend of an arrow, as a share of its length: two opposite arrows stay apart.

    >>> usual_bend((0, 0), (1, 0)), usual_bend((0, 0), (10, 0))
    (0.14, 0.025)
    """
    return min(_BEND, _MAX_OFFSET / max(hypot(end[0] - start[0], end[1] - start[1]), _MAX_OFFSET))


def bend_inward(start: Point, end: Point, centre: Point) -> float:
    """Return the bend of an arrow on a circle: towards the centre, away from other nodes.

    Of two opposite arrows one is bent more, so that both are visible.
    """
    (x, y), (u, v) = ((point[0] - centre[0], point[1] - centre[1]) for point in (start, end))
    usual = usual_bend(start, end)
    return usual if x * v - y * u < _COLLINEAR else -2 * usual


def bend_around(start: Point, end: Point, boxes: Floats) -> float:
    """Return the bend with which an arrow crosses the fewest boxes (k, 4), given by left, lower, right and upper edge.

    >>> bend_around((0, 0), (4, 0), np.array([[1.5, -0.3, 2.5, 0.3]])) > 0.2
    True
    """
    length = hypot(end[0] - start[0], end[1] - start[1])
    usual = usual_bend(start, end)
    if not length or not boxes.size:
        return usual
    bends = [usual, *(2 * detour / length for detour in _DETOURS if abs(2 * detour / length) <= _MAX_BEND)]
    return min(bends, key=lambda bend: _count_crossed(start, end, bend, boxes))


def middle_of(start: Point, end: Point, bend: float) -> Point:
    """Return the midpoint of a bent arrow."""
    across, up = end[0] - start[0], end[1] - start[1]
    return (start[0] + end[0] + bend * up) / 2, (start[1] + end[1] - bend * across) / 2


def _count_crossed(start: Point, end: Point, bend: float, boxes: Floats) -> int:
    """Return how many boxes a quadratic curve crosses, judged by points on it."""
    first, last = np.array(start), np.array(end)
    control = 2 * np.array(middle_of(start, end, bend)) - (first + last) / 2
    points = (1 - _SHARES) ** 2 * first + 2 * _SHARES * (1 - _SHARES) * control + _SHARES**2 * last
    x, y = points[:, 0, None], points[:, 1, None]
    left, low, right, high = (boxes + _CLEARANCE * np.array([-1, -1, 1, 1])).T
    within = (x > left) & (x < right) & (y > low) & (y < high)
    return int(within.any(axis=0).sum())
