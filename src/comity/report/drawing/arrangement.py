"""The layout of coalitions and their clients: peels from left to right, each coalition a circle in a box."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain

from comity.report.drawing.circle import BOLD, EM, Bounds, Circle, Place, Point, fit_inside, place_on_circle
from comity.report.drawing.columns import stack_columns
from comity.report.drawing.groups import Groups
from comity.report.drawing.labels import width_of

_PADDING = 0.14  # inches
_HEADING = 0.24  # inches: the height of a heading


@dataclass(frozen=True, slots=True)
class Box:
    """A coalition's circle, with room for a heading above it; `corner` is the upper left one."""

    number: int
    head: str
    circle: Circle
    corner: Point = (0.0, 0.0)

    @property
    def size(self) -> Point:
        """Its width and height."""
        width = max(self.circle.bounds.width, EM * width_of(self.head) * BOLD)
        return width + 2 * _PADDING, self.circle.bounds.height + _HEADING + 2 * _PADDING

    @property
    def bounds(self) -> Bounds:
        """The rectangle that it covers."""
        return Bounds.below(self.corner, self.size)

    @property
    def centre(self) -> Point:
        """The centre of the circle."""
        (width, height), (x, y) = self.size, self.circle.bounds.centre
        return self.corner[0] + width / 2 - x, self.corner[1] - (height + _HEADING) / 2 - y

    @property
    def heading(self) -> Point:
        """Where its heading begins."""
        return self.corner[0] + _PADDING, self.corner[1] - _HEADING / 2 - _PADDING / 2


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Boxes, the places of clients, the centres of their circles, and where each peel begins if peels are known."""

    boxes: tuple[Box, ...]
    places: Mapping[str, Place]
    centres: Mapping[str, Point]
    peels: tuple[Point, ...]


def arrange(groups: Groups) -> Arrangement:
    """Return the layout of the coalitions and their clients."""
    inside = fit_inside(list(groups.labels.values()))

    def box_of(number: int) -> Box:
        labels = [groups.labels[client] for client in groups.members[number]]
        head = f"coalition {number + 1}" if len(labels) > 1 else "alone"
        return Box(number, head, place_on_circle(labels, [len(labels)], inside=inside, wide=False))

    parts = [[box_of(number) for number in part] for part in groups.by_peel()]
    with_peels = groups.peels is not None
    sizes = [[box.size for box in part] for part in parts]
    corners, peels = stack_columns(sizes, head=0.3 if with_peels else 0.0, between=0.6)
    boxes = tuple(replace(box, corner=corner) for box, corner in zip(chain.from_iterable(parts), corners, strict=True))
    places: dict[str, Place] = {}
    centres: dict[str, Point] = {}
    for box in boxes:
        for client, place in zip(groups.members[box.number], box.circle.places, strict=True):
            places[client], centres[client] = place.moved(*box.centre), box.centre
    return Arrangement(boxes, places, centres, tuple(peels) if with_peels else ())
