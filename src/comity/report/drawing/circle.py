"""The places of clients and their labels on a circle; in inches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, degrees, pi, sin
from typing import NamedTuple

from comity.report.drawing.labels import width_of

NODE = 0.17  # radius of a node
FONT = 9.0  # points
EM = FONT / 72
BOLD = 1.2  # how much wider bold text is
_MAX_EMS_INSIDE = 1.9  # width of a label that fits into a node
_LABEL_GAP = 0.1  # between a node and its label
_MAX_LEVEL_LABELS = 14  # with more clients, labels are rotated: level ones would overlap at the top of the circle
_GROUP_GAP = 0.7  # between groups on a circle, as a share of the gap between clients

Point = tuple[float, float]


class Bounds(NamedTuple):
    """A rectangle: its left, lower, right and upper edges."""

    left: float
    low: float
    right: float
    high: float

    @classmethod
    def around(cls, points: Sequence[Point]) -> Bounds:
        """Return the smallest rectangle that contains some points."""
        across, up = zip(*points, strict=True)
        return cls(min(across), min(up), max(across), max(up))

    @classmethod
    def below(cls, corner: Point, size: Point) -> Bounds:
        """Return the rectangle of a width and height with this upper left corner."""
        (left, top), (width, height) = corner, size
        return cls(left, top - height, left + width, top)

    @property
    def width(self) -> float:
        """The distance from left to right."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """The distance from low to high."""
        return self.high - self.low

    @property
    def centre(self) -> Point:
        """The point in the middle."""
        return (self.left + self.right) / 2, (self.low + self.high) / 2

    def wider(self, margin: float) -> Bounds:
        """Return the rectangle with a margin around it."""
        return Bounds(self.left - margin, self.low - margin, self.right + margin, self.high + margin)


@dataclass(frozen=True, slots=True)
class Place:
    """The positions of a node and of its label, the side on which the label extends, and its rotation in degrees."""

    node: Point
    label: Point
    side: str
    turn: float = 0.0

    def moved(self, across: float, up: float) -> Place:
        """Return the place shifted by a vector."""
        (x, y), (u, v) = self.node, self.label
        return Place((x + across, y + up), (u + across, v + up), self.side, self.turn)


def fit_inside(labels: Sequence[str]) -> bool:
    """Return whether all labels fit into nodes; otherwise they are written beside them."""
    return all(width_of(label) <= _MAX_EMS_INSIDE for label in labels)


def place_on_circle(
    labels: Sequence[str], sizes: Sequence[int], *, inside: bool, wide: bool
) -> tuple[list[Place], Bounds]:
    """Place clients on a circle around the origin, clockwise from its top, in groups of these `sizes`.

    Labels are written `inside` the nodes, or beside them. A `wide` circle leaves more room for arrows. Returns the
    places, and the rectangle that contains the nodes and labels.

    >>> [place.node for place in place_on_circle(["a", "b"], [2], inside=True, wide=False)[0]]
    [(-0.61, 0.0), (0.61, 0.0)]
    """
    count = len(labels)
    gap = _GROUP_GAP if 1 < len(sizes) < count else 0.0
    slots = count + gap * len(sizes)
    radius = 0.0 if count == 1 else 0.8 + 0.1 * slots if wide else 0.45 + 0.08 * slots
    # One client is at the bottom, so that its label is below; two are side by side; more begin at the top.
    first = {1: -pi / 2, 2: pi}.get(count, pi / 2)
    places: list[Place] = []
    slot = 0.0
    for size in sizes:
        for _ in range(size):
            angle = first - 2 * pi * slot / slots
            places.append(_place(radius, angle, inside=inside, turned=count > _MAX_LEVEL_LABELS))
            slot += 1
        slot += gap
    corners = [corner for place, label in zip(places, labels, strict=True) for corner in _corners(place, label)]
    return places, Bounds.around(corners)


def _place(radius: float, angle: float, *, inside: bool, turned: bool) -> Place:
    across, up = round(cos(angle), 9), round(sin(angle), 9)
    node = (radius * across, radius * up)
    if inside:
        return Place(node, node, "in")
    away = radius + NODE + _LABEL_GAP
    label = (away * across, away * up)
    if turned:
        turn = degrees(angle)
        return Place(node, label, "right", turn) if across >= 0 else Place(node, label, "left", turn - 180)
    if abs(across) < 0.15:
        return Place(node, label, "above" if up > 0 else "below")
    return Place(node, label, "right" if across > 0 else "left")


def _corners(place: Place, label: str) -> list[Point]:
    """Return the outermost points of a node and its label."""
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
