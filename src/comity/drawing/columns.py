"""Where boxes stand in columns, part beside part; in inches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from comity.drawing.circle import Point


@dataclass(frozen=True, slots=True)
class Columns:
    """Boxes in columns: where each one's left upper corner is, and the left upper corner of each part."""

    corners: tuple[Point, ...]
    heads: tuple[Point, ...]


def columns(
    parts: Sequence[Sequence[Point]], *, head: float, between: float, highest: float = 6.5, widest: float = 16.0
) -> Columns:
    """Return where boxes of these widths and heights stand: part beside part, in each the boxes in columns.

    A part has room for a `head` above it. Columns are no higher than `highest` if it can be, and parts go on in
    another line when they are wider than `widest`.

    >>> columns([[(1, 1), (1, 1)], [(2, 1)]], head=0, between=0.5)
    Columns(corners=((0.0, 0.0), (0.0, -1.25), (1.5, -0.625)), heads=((0.0, 0.0), (1.5, -0.625)))
    """
    apart = between / 2
    stacked = [_stacked(boxes, apart, max([highest, *(height for _, height in boxes)])) for boxes in parts]
    lines: list[list[int]] = [[]]
    used = 0.0
    for number, stack in enumerate(stacked):
        if lines[-1] and used + stack.width > widest:
            lines.append([])
            used = 0.0
        lines[-1].append(number)
        used += stack.width + between
    corners: list[Point] = []
    heads: list[Point] = []
    top = 0.0
    for line in lines:
        height = max(stacked[number].height for number in line)
        left = 0.0
        for number in line:
            heads.append((left, top - (height - stacked[number].height) / 2))
            corners += [
                (left + across, top - head - down - (height - stacked[number].height) / 2)
                for across, down in stacked[number].corners
            ]
            left += stacked[number].width + between
        top -= head + height + between
    return Columns(tuple(corners), tuple(heads))


@dataclass(frozen=True, slots=True)
class _Stack:
    corners: list[Point]
    width: float
    height: float


def _stacked(boxes: Sequence[Point], apart: float, highest: float) -> _Stack:
    """Return boxes one under the other, in as many columns as it takes."""
    stacks: list[list[int]] = [[]]
    down = 0.0
    for number, (_, height) in enumerate(boxes):
        if stacks[-1] and down + height > highest:
            stacks.append([])
            down = 0.0
        stacks[-1].append(number)
        down += height + apart
    heights = [sum(boxes[number][1] + apart for number in column) - apart for column in stacks]
    corners: list[Point] = []
    left = 0.0
    for column in stacks:
        width = max(boxes[number][0] for number in column)
        down = 0.0
        for number in column:
            corners.append((left + (width - boxes[number][0]) / 2, down))
            down += boxes[number][1] + apart
        left += width + apart
    return _Stack(corners, left - apart, max(heights))
