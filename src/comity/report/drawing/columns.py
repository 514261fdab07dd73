"""The layout of boxes in columns, part beside part; in inches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from comity.report.drawing.circle import Point


@dataclass(frozen=True, slots=True)
class Columns:
    """The upper left corner of each box, and the upper left corner of each part."""

    corners: tuple[Point, ...]
    heads: tuple[Point, ...]


def stack_columns(
    parts: Sequence[Sequence[Point]], *, head: float, between: float, max_height: float = 6.5, max_width: float = 16.0
) -> Columns:
    """Place boxes of these widths and heights: parts beside each other, and the boxes of each part in columns.

    Above each part, `head` inches stay free. Columns are no higher than `max_height` unless a single box is, and a
    new line of parts begins where they would be wider than `max_width`.

    >>> stack_columns([[(1, 1), (1, 1)], [(2, 1)]], head=0, between=0.5)
    Columns(corners=((0.0, 0.0), (0.0, -1.25), (1.5, -0.625)), heads=((0.0, 0.0), (1.5, -0.625)))
    """
    gap = between / 2
    stacks = [_stack(boxes, gap, max([max_height, *(height for _, height in boxes)])) for boxes in parts]
    lines: list[list[int]] = [[]]
    used = 0.0
    for number, stack in enumerate(stacks):
        if lines[-1] and used + stack.width > max_width:
            lines.append([])
            used = 0.0
        lines[-1].append(number)
        used += stack.width + between
    corners: list[Point] = []
    heads: list[Point] = []
    top = 0.0
    for line in lines:
        height = max(stacks[number].height for number in line)
        left = 0.0
        for number in line:
            heads.append((left, top - (height - stacks[number].height) / 2))
            corners += [
                (left + across, top - head - down - (height - stacks[number].height) / 2)
                for across, down in stacks[number].corners
            ]
            left += stacks[number].width + between
        top -= head + height + between
    return Columns(tuple(corners), tuple(heads))


@dataclass(frozen=True, slots=True)
class _Stack:
    corners: list[Point]
    width: float
    height: float


def _stack(boxes: Sequence[Point], gap: float, max_height: float) -> _Stack:
    """Place boxes below each other, in as many columns as needed."""
    columns: list[list[int]] = [[]]
    down = 0.0
    for number, (_, height) in enumerate(boxes):
        if columns[-1] and down + height > max_height:
            columns.append([])
            down = 0.0
        columns[-1].append(number)
        down += height + gap
    heights = [sum(boxes[number][1] + gap for number in column) - gap for column in columns]
    corners: list[Point] = []
    left = 0.0
    for column in columns:
        width = max(boxes[number][0] for number in column)
        down = 0.0
        for number in column:
            corners.append((left + (width - boxes[number][0]) / 2, down))
            down += boxes[number][1] + gap
        left += width + gap
    return _Stack(corners, left - gap, max(heights))
