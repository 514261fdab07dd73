"""Where coalitions stand, and their clients in them: peels from left to right, each coalition a circle in a box."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from comity.drawing.circle import BOLD, EM, Bounds, Circle, Place, Point, circle, fit_inside
from comity.drawing.columns import columns
from comity.drawing.groups import Groups
from comity.drawing.labels import width_of

_PAD = 0.14
_HEAD = 0.24


@dataclass(frozen=True, slots=True)
class Box:
    """A coalition's circle, with room for a heading above it; `corner` is its left upper one."""

    number: int
    head: str
    circle: Circle
    corner: Point = (0.0, 0.0)

    @property
    def size(self) -> Point:
        """Its width and height."""
        bounds = self.circle.bounds
        return max(bounds.width, EM * width_of(self.head) * BOLD) + 2 * _PAD, bounds.height + _HEAD + 2 * _PAD

    @property
    def bounds(self) -> Bounds:
        """Where it is."""
        (left, top), (width, height) = self.corner, self.size
        return Bounds(left, top - height, left + width, top)

    @property
    def centre(self) -> Point:
        """The middle of the circle."""
        (width, height), (x, y) = self.size, self.circle.bounds.centre
        return self.corner[0] + width / 2 - x, self.corner[1] - (height + _HEAD) / 2 - y

    @property
    def heading(self) -> Point:
        """Where its heading begins."""
        return self.corner[0] + _PAD, self.corner[1] - _HEAD / 2 - _PAD / 2


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Boxes, the places of clients and the middles of their circles, and where each peel begins, if peels are known."""

    boxes: tuple[Box, ...]
    places: Mapping[str, Place]
    centres: Mapping[str, Point]
    peels: tuple[Point, ...]


def arrange(groups: Groups) -> Arrangement:
    """Return where everything stands."""
    labels, parts = groups.labels, groups.by_peel()
    inside = fit_inside(list(labels.values()))
    boxes = [_box(groups.members[number], number, labels, inside=inside) for part in parts for number in part]
    headed = groups.peels is not None
    sizes = iter(boxes)
    stand = columns(
        [[next(sizes).size for _ in part] for part in parts], head=0.3 if headed else 0.0, between=0.6
    )  # fmt: skip
    placed = tuple(
        Box(box.number, box.head, box.circle, corner) for box, corner in zip(boxes, stand.corners, strict=True)
    )
    places: dict[str, Place] = {}
    centres: dict[str, Point] = {}
    for box in placed:
        for client, place in zip(groups.members[box.number], box.circle.places, strict=True):
            places[client], centres[client] = place.moved(*box.centre), box.centre
    return Arrangement(placed, places, centres, stand.heads if headed else ())


def _box(members: tuple[str, ...], number: int, labels: Mapping[str, str], *, inside: bool) -> Box:
    head = f"coalition {number + 1}" if len(members) > 1 else "alone"
    return Box(number, head, circle([labels[client] for client in members], [len(members)], inside=inside, wide=False))
