"""The layout of boxes in columns, part beside part; in inches."""

from __future__ import annotations

from collections.abc import Sequence

from comity.report.drawing.circle import Point

_MAX_HEIGHT = 6.5  # of a column, unless a single box is higher
_MAX_WIDTH = 16.0  # of a line of parts


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
