"""The drawing of the components of the benefit graph: boxes, each to the right of those that it wants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
from matplotlib.patches import Patch

from comity.report.drawing.circle import BOLD, EM, Bounds, Point
from comity.report.drawing.columns import stack_columns
from comity.report.drawing.groups import Groups
from comity.report.drawing.labels import group_identifier, identifier, width_of
from comity.report.drawing.routes import bend_around
from comity.report.drawing.sheet import Sheet
from comity.report.drawing.widths import Edge, choose_widths

_CAPTION = (
    "Strongly connected components of the benefit graph\nAn arrow goes from a component to one that wants its clients"
)
_LINE_HEIGHT = 0.19  # inches
_PADDING = 0.12  # inches
_MAX_ROWS_IN_ONE_COLUMN = 6  # longer lists are set in several columns
_BETWEEN = 0.9  # inches between parts


@dataclass(frozen=True, slots=True)
class _Box:
    """The labels of a component's members, in one column or several, under a heading unless there is one member."""

    head: str
    labels: tuple[str, ...]

    @property
    def rows(self) -> int:
        """The number of labels in a column."""
        count = len(self.labels)
        return count if count <= _MAX_ROWS_IN_ONE_COLUMN else ceil(count / ceil(sqrt(count / 3)))

    @property
    def column(self) -> float:
        """The width of a column."""
        return EM * max(map(width_of, self.labels)) + _PADDING

    @property
    def size(self) -> Point:
        """The width and height of the box."""
        names = ceil(len(self.labels) / self.rows) * self.column
        width = max(names, EM * width_of(self.head) * BOLD + _PADDING) + _PADDING
        return width, (self.rows + bool(self.head)) * _LINE_HEIGHT + _PADDING

    def lines(self, corner: Point) -> list[Point]:
        """Return where the heading and then each label begins, given the upper left corner of the box."""
        left, top = corner[0] + _PADDING, corner[1] - (_PADDING + _LINE_HEIGHT) / 2
        first = top - _LINE_HEIGHT if self.head else top
        places = (divmod(number, self.rows) for number in range(len(self.labels)))
        return [(left, top), *((left + column * self.column, first - row * _LINE_HEIGHT) for column, row in places)]


def draw_components(components: Groups, weights: Mapping[Edge, float] | None) -> Sheet:
    """Draw a box for each component with the names of its members, and arrows between boxes."""
    sheet = Sheet()
    labels = components.labels
    boxes = {
        number: _Box(f"component {number + 1}" if len(members) > 1 else "", tuple(labels[client] for client in members))
        for number, members in enumerate(components.members)
    }
    parts = components.by_peel()
    layout = stack_columns([[boxes[number].size for number in part] for part in parts], head=0.0, between=_BETWEEN)
    patches: dict[int, Patch] = {}
    extents: dict[int, Bounds] = {}
    for number, corner in zip((number for part in parts for number in part), layout.corners, strict=True):
        width, height = boxes[number].size
        extents[number] = Bounds(corner[0], corner[1] - height, corner[0] + width, corner[1])
        patches[number] = _draw_box(sheet, boxes[number], corner, components, number)
    for (start, end), line_width in _widths_between(components, weights).items():
        ends = extents[start].centre, extents[end].centre
        others = np.array([tuple(extent) for number, extent in extents.items() if number not in (start, end)])
        sheet.arrow(
            *ends, identifier("between", str(start + 1), str(end + 1)), line_width, bend=bend_around(*ends, others),
            patchA=patches[start], patchB=patches[end], zorder=0.5,
        )  # fmt: skip
    sheet.caption(_CAPTION)
    return sheet


def _draw_box(sheet: Sheet, box: _Box, corner: Point, components: Groups, number: int) -> Patch:
    """Draw a box with its heading and labels."""
    members = components.members[number]
    gid = group_identifier("component", number + 1, members)
    patch = sheet.box(*corner, box.size, components.looks[number], gid)
    heading, *lines = box.lines(corner)
    if box.head:
        sheet.text(heading, box.head, "right", weight="bold")
    for client, label, start in zip(members, box.labels, lines, strict=True):
        sheet.text(start, label, "right", identifier("client", client))
    return patch


def _widths_between(components: Groups, weights: Mapping[Edge, float] | None) -> dict[tuple[int, int], float]:
    """Return the widths of the arrows between components: by the number of edges, or by the sum of their weights."""
    sums: dict[Edge, float] = {}
    number = dict(zip(components.clients, map(str, components.numbers.tolist()), strict=True))
    for edge in components.named(components.across):
        ends = number[edge[0]], number[edge[1]]
        sums[ends] = sums.get(ends, 0.0) + (1.0 if weights is None else max(weights.get(edge, 0.0), 0.0))
    same = len(set(sums.values())) <= 1
    widths = choose_widths(list(sums), None if same else sums)
    return {(int(start), int(end)): width for (start, end), width in widths.items()}
