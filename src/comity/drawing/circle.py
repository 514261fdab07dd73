"""Where clients stand on a circle, with their labels; in inches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, degrees, pi, sin
from typing import NamedTuple

from comity.drawing.labels import width_of

NODE = 0.17  # the radius of a node
FONT = 9.0  # points
EM = FONT / 72
BOLD = 1.2  # how much wider bold text is
_INSIDE = 1.9  # ems that fit into a node
_APART = 0.1
_MOST_LEVEL = 14  # on a circle of more clients labels are turned, since level ones would overlap at its top
_GAP = 0.7  # between groups on a circle, in places

Point = tuple[float, float]


class Bounds(NamedTuple):
    """A box: its left, lower, right and upper end."""

    left: float
    low: float
    right: float
    high: float

    @classmethod
    def around(cls, points: Sequence[Point]) -> Bounds:
        """Return the smallest box with some points."""
        across, up = zip(*points, strict=True)
        return cls(min(across), min(up), max(across), max(up))

    @property
    def width(self) -> float:
        """From left to right."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """From low to high."""
        return self.high - self.low

    @property
    def centre(self) -> Point:
        """The point in the middle."""
        return (self.left + self.right) / 2, (self.low + self.high) / 2

    def wider(self, margin: float) -> Bounds:
        """Return the box with a margin around it."""
        return Bounds(self.left - margin, self.low - margin, self.right + margin, self.high + margin)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a node stands and where its label does: from `at` on to the `side`, turned by so many degrees."""

    node: Point
    label: Point
    side: str
    turn: float = 0.0

    def moved(self, across: float, up: float) -> Place:
        """Return the place elsewhere."""
        (x, y), (u, v) = self.node, self.label
        return Place((x + across, y + up), (u + across, v + up), self.side, self.turn)


@dataclass(frozen=True, slots=True)
class Circle:
    """Clients on a circle around the origin, and the box that holds them with their labels."""

    places: tuple[Place, ...]
    bounds: Bounds


def fit_inside(labels: Sequence[str]) -> bool:
    """Return whether labels stand in nodes, which they do if all of them fit; else beside."""
    return all(width_of(label) <= _INSIDE for label in labels)


def circle(labels: Sequence[str], sizes: Sequence[int], *, inside: bool, wide: bool) -> Circle:
    """Return places on a circle, clockwise from its top, for groups of these `sizes`, one after the other.

    Labels stand `inside` of nodes, or beside them. A `wide` circle leaves more room for arrows.

    >>> [place.node for place in circle(["a", "b"], [2], inside=True, wide=False).places]
    [(-0.61, 0.0), (0.61, 0.0)]
    """
    count = len(labels)
    gap = _GAP if 1 < len(sizes) < count else 0.0
    slots = count + gap * len(sizes)
    radius = 0.0 if count == 1 else 0.8 + 0.1 * slots if wide else 0.45 + 0.08 * slots
    places: list[Place] = []
    slot = 0.0
    for size in sizes:
        for _ in range(size):
            angle = _angle(slot, slots, count)
            places.append(_place(radius, angle, inside=inside, turned=count > _MOST_LEVEL))
            slot += 1
        slot += gap
    corners = [end for place, label in zip(places, labels, strict=True) for end in _corners(place, label)]
    return Circle(tuple(places), Bounds.around(corners))


def _angle(slot: float, slots: float, count: int) -> float:
    """Return the angle of a slot: clockwise from the top, but two stand side by side."""
    if count == 1:
        return -pi / 2  # its label stands below
    return (pi if count == 2 else pi / 2) - 2 * pi * slot / slots


def _place(radius: float, angle: float, *, inside: bool, turned: bool) -> Place:
    across, up = round(cos(angle), 9), round(sin(angle), 9)
    node = (radius * across, radius * up)
    if inside:
        return Place(node, node, "in")
    away = radius + NODE + _APART
    label = (away * across, away * up)
    if turned:
        turn = degrees(angle)
        return Place(node, label, "right", turn) if across >= 0 else Place(node, label, "left", turn - 180)
    if abs(across) < 0.15:
        return Place(node, label, "above" if up > 0 else "below")
    return Place(node, label, "right" if across > 0 else "left")


def _corners(place: Place, label: str) -> list[Point]:
    """Return points that a node and its label reach."""
    (x, y), (u, v) = place.node, place.label
    width, half = EM * width_of(label), 0.6 * EM
    reach = [(x - NODE, y - NODE), (x + NODE, y + NODE)]
    if place.side == "in":
        return reach
    if place.side in ("above", "below"):
        edge = v + (2 if place.side == "above" else -2) * half
        return [*reach, (u - width / 2, edge), (u + width / 2, edge)]
    length = width if place.side == "right" else -width
    turn = place.turn * pi / 180
    end = (u + length * cos(turn), v + length * sin(turn))
    return [*reach, *((p + side, q + side) for p, q in ((u, v), end) for side in (-half, half))]
