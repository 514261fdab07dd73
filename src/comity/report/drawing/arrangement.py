"""The layout of boxes in columns, and of coalitions: peels from left to right, each coalition a circle in a box."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from comity.core.text import number_coalitions
from comity.report.drawing.circle import BOLD, EM, Bounds, Place, Point, fit_inside, place_on_circle
from comity.report.drawing.groups import Groups
from comity.report.drawing.labels import width_of

# Inches:
_PADDING = 0.14
_HEADING = 0.24  # the height of a heading
_MAX_HEIGHT = 6.5  # of a column, unless a single box is higher
_MAX_WIDTH = 16.0  # of a line of parts


@dataclass(frozen=True, slots=True)
class Box:
    """A coalition's circle, the rectangle `inner` around it, and room for a heading; `corner` is the upper left one."""

    number: int
    head: str
    circle: list[Place]
    inner: Bounds
    corner: Point = (0.0, 0.0)

    @property
    def size(self) -> Point:
        """Its width and height."""
        width = max(self.inner.width, EM * width_of(self.head) * BOLD)
        return width + 2 * _PADDING, self.inner.height + _HEADING + 2 * _PADDING

    @property
    def bounds(self) -> Bounds:
        """The rectangle that it covers."""
        return Bounds.below(self.corner, self.size)

    @property
    def centre(self) -> Point:
        """The centre of the circle."""
        (width, height), (x, y) = self.size, self.inner.centre
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
    inside, called = fit_inside(list(groups.labels.values())), number_coalitions(groups.sizes.tolist())

    def box_of(number: int) -> Box:
        labels = [groups.labels[client] for client in groups.members[number]]
        head = f"coalition {called[number]}" if len(labels) > 1 else called[number]
        return Box(number, head, *place_on_circle(labels, [len(labels)], inside=inside, wide=False))

    parts = [[box_of(number) for number in part] for part in groups.by_peel()]
    with_peels = groups.peels is not None
    sizes = [[box.size for box in part] for part in parts]
    corners, peels = stack_columns(sizes, head=0.3 if with_peels else 0.0, between=0.6)
    boxes = tuple(replace(box, corner=corner) for box, corner in zip(chain.from_iterable(parts), corners, strict=True))
    places: dict[str, Place] = {}
    centres: dict[str, Point] = {}
    for box in boxes:
        for client, place in zip(groups.members[box.number], box.circle, strict=True):
            places[client], centres[client] = place.moved(*box.centre), box.centre
    return Arrangement(boxes, places, centres, tuple(peels) if with_peels else ())


def stack_columns(parts: Sequence[Sequence[Point]], *, head: float, between: float) -> tuple[list[Point], list[Point]]:
    """Place boxes of these widths and heights: parts beside each other, and the boxes of each part in columns.

    Above each part, `head` inches stay free. Returns the upper left corner of each box, and of each part.

    >>> stack_columns([[(1, 1), (1, 1)], [(2, 1)]], head=0, between=0.5)
    ([(0.0, 0.0), (0.0, -1.25), (1.5, -0.625)], [(0.0, 0.0), (1.5, -0.625)])
    """
    stacks = [_stack(boxes, between / 2) for boxes in parts]
    corners: list[Point] = []
    heads: list[Point] = []
    top = 0.0
    for line in _wrap([width for _, width, _ in stacks], between, _MAX_WIDTH):
        line_height = max(stacks[number][2] for number in line)
        left = 0.0
        for number in line:
            offsets, width, height = stacks[number]
            part_top = top - (line_height - height) / 2
            heads.append((left, part_top))
            corners += [(left + across, part_top - head - down) for across, down in offsets]
            left += width + between
        top -= head + line_height + between
    return corners, heads


def _stack(boxes: Sequence[Point], gap: float) -> tuple[list[Point], float, float]:
    """Place boxes below each other, in as many columns as needed; return their offsets, the width and the height."""
    heights = [height for _, height in boxes]
    offsets: list[Point] = []
    left = tallest = 0.0
    for column in _wrap(heights, gap, max(_MAX_HEIGHT, *heights)):
        column_width = max(boxes[number][0] for number in column)
        down = 0.0
        for number in column:
            width, height = boxes[number]
            offsets.append((left + (column_width - width) / 2, down))
            down += height + gap
        tallest = max(tallest, down - gap)
        left += column_width + gap
    return offsets, left - gap, tallest


def _wrap(lengths: Sequence[float], gap: float, limit: float) -> list[list[int]]:
    """Return the positions of the lengths, with a new list wherever the limit would be exceeded."""
    lists: list[list[int]] = [[]]
    used = 0.0
    for number, length in enumerate(lengths):
        if lists[-1] and used + length > limit:
            lists.append([])
            used = 0.0
        lists[-1].append(number)
        used += length + gap
    return lists
