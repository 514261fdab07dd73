"""Arrows between clients: how wide they are, and how they bend to avoid other nodes and boxes."""

from collections.abc import Hashable, Mapping, Sequence
from math import dist, isfinite
from typing import TypeVar

import numpy as np

from comity.core.arrays import Floats
from comity.core.names import shown
from comity.errors import InputError
from comity.report.drawing.circle import Point

Edge = tuple[str, str]  # a collaborator, and the client that wants it
Weights = Mapping[Edge, float] | None  # what the collaborator contributes, if it is known
AnyEdge = TypeVar("AnyEdge", bound=Hashable)
_MIN_WIDTH, _MAX_WIDTH = 0.5, 3.2  # points
_MAX_EDGES_AT_FULL_WIDTH = 30
_BEND = 0.14  # as a share of the length
_MAX_OFFSET = 0.25  # inches from the straight line to the control point
_DETOURS = (0.35, -0.35, 0.6, -0.6, 1.0, -1.0, 1.5, -1.5, 2.1, -2.1, 2.8, -2.8, 3.6, -3.6)  # inches to the side
_MAX_BEND = 1.2
_COLLINEAR = 1e-6
_CLEARANCE = 0.06  # inches around a box
_SHARES = np.linspace(0.02, 0.98, 33)[:, None]


def check_weights(weights: Mapping[Edge, object] | None) -> None:
    """Check that every weight is a finite number."""
    for edge, weight in (weights or {}).items():
        if not isinstance(weight, int | float | np.number) or not isfinite(weight):
            raise InputError(f"the weight of edge {shown(edge)} is {shown(weight)}; give a finite number")


def choose_widths(edges: Sequence[AnyEdge], weights: Mapping[AnyEdge, float] | None) -> dict[AnyEdge, float]:
    """Return the width of each edge in points: proportional to its weight, or equal for all without weights.

    >>> choose_widths([("a", "b"), ("b", "a")], {("a", "b"): 2.0})
    {('a', 'b'): 3.2, ('b', 'a'): 0.5}
    """
    if weights is None:
        return dict.fromkeys(edges, 1.0 if len(edges) <= _MAX_EDGES_AT_FULL_WIDTH else 0.7)
    found = {edge: max(weights.get(edge, 0.0), 0.0) for edge in edges}
    most = max(found.values(), default=0.0) or 1.0
    return {edge: _MIN_WIDTH + (_MAX_WIDTH - _MIN_WIDTH) * weight / most for edge, weight in found.items()}


def usual_bend(start: Point, end: Point) -> float:
    """Return the usual bend of an arrow, as a share of its length: two opposite arrows stay apart.

    >>> usual_bend((0, 0), (1, 0)), usual_bend((0, 0), (10, 0))
    (0.14, 0.025)
    """
    return min(_BEND, _MAX_OFFSET / max(dist(start, end), _MAX_OFFSET))


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
    length = dist(start, end)
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
