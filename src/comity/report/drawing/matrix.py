"""The drawing for many clients: a matrix of who wants whom, in which a group is a square on the diagonal."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from comity.report.drawing.circle import EM, FONT
from comity.report.drawing.colours import FAINT, INK
from comity.report.drawing.groups import Edges, Groups, Integers
from comity.report.drawing.labels import group_identifier, identifier
from comity.report.drawing.sheet import Sheet

_MAX_CLIENTS_NAMED = 300  # the names of more would be too small to read
_MAX_GROUPS_OUTLINED = 300
_MAX_CLIENTS_IN_FULL_SIZE = 60
_MAX_CELLS = 800  # on a side; with more clients, several share a cell
_SIDE = 8.0  # inches, of a matrix without names
_MIN_FONT, _MAX_FONT = 5.0, 14.0  # points
Pixels = NDArray[np.uint8]
_ROWS = "A row is a client, its filled cells are its collaborators, in the same order"


def draw_matrix(groups: Groups, head: str, kind: str = "", *, coloured: bool = False) -> Sheet:
    """Draw edges as cells; with a `kind`, groups are outlined; with `coloured`, cells have the colours of groups."""
    count = len(groups.clients)
    height, size = (0.19, FONT) if count <= _MAX_CLIENTS_IN_FULL_SIZE else (0.11, 6.0)
    side = height * count if count <= _MAX_CLIENTS_NAMED else _SIDE
    step = side / count
    sheet = Sheet()
    image = sheet.axes.imshow(
        _pixels(groups, coloured=coloured), extent=(0, side, -side, 0), interpolation="none", aspect="auto", zorder=1
    )
    image.set_clip_on(False)
    image.set_gid("edges")
    sheet.reach((0.0, -side), (side, 0.0))
    sheet.axes.add_patch(
        Rectangle((0, -side), side, side, facecolor="none", edgecolor=FAINT, linewidth=0.6, clip_on=False)
    )
    if count <= _MAX_CLIENTS_NAMED:
        for row, place in enumerate(groups.order.tolist()):
            client, end = groups.clients[place], (-0.05, -(row + 0.5) * step)
            sheet.text(end, groups.labels[client], "left", identifier("client", client), fontsize=size)
    if kind:
        _outline(sheet, groups, kind, step)
    more = f"{count:,} clients" + (", several to a cell" if count > _MAX_CELLS else "")
    grey = "\nGrey: unmet wishes" if coloured and len(groups.across[0]) else ""
    sheet.caption(f"{head}: {more}\n{_ROWS}{grey}", larger=1 + side / 16)
    return sheet


def _outline(sheet: Sheet, groups: Groups, kind: str, step: float) -> None:
    """Draw a square around each group of two or more, with its number beside it if there is room."""
    many = np.flatnonzero(groups.sizes > 1)
    named = len(groups.clients) <= _MAX_CLIENTS_NAMED
    bounds = list(pairwise(np.concatenate(([0], np.cumsum(groups.sizes))).tolist()))
    for number in many[np.argsort(-groups.sizes[many], kind="stable")][:_MAX_GROUPS_OUTLINED].tolist():
        first, after = bounds[number]
        look = groups.looks[number]
        square = Rectangle(
            (first * step, -after * step), (after - first) * step, (after - first) * step,
            facecolor="none", edgecolor=look.line, linewidth=1.4, linestyle=look.style, zorder=2, clip_on=False,
        )  # fmt: skip
        square.set_gid(group_identifier(kind, number + 1, groups.members[number] if named else ()))
        sheet.axes.add_patch(square)
        if (height := (after - first) * step) > EM * _MIN_FONT / FONT:
            start = (len(groups.clients) * step + 0.05, -(first + after) / 2 * step)
            size = max(_MIN_FONT, min(_MAX_FONT, 24 * height, 2 * step * len(groups.clients)))
            sheet.text(start, _group_label(groups, kind, number), "right", fontsize=size)


def _group_label(groups: Groups, kind: str, number: int) -> str:
    peel = "" if kind == "component" or groups.peels is None else f", peel {groups.peels[number] + 1}"
    return f"{kind} {number + 1}{peel}"


def _pixels(groups: Groups, *, coloured: bool) -> Pixels:
    """Return the colours of all cells (rows, columns, 3)."""
    count = len(groups.clients)
    cells = min(count, _MAX_CELLS)
    cell = np.empty(count, np.int64)
    cell[groups.order] = np.arange(count) * cells // count
    pixels = np.full((cells, cells, 3), 255, np.uint8)
    pixels[np.arange(cells), np.arange(cells)] = _bytes("#DDDDDD")
    _fill(pixels, cell, groups.across, _bytes(FAINT if coloured else INK))
    if coloured:
        colours = np.array([_bytes(look.line) for look in groups.looks])
        _fill(pixels, cell, groups.inside, colours[groups.numbers[groups.inside[1]]])
    else:
        _fill(pixels, cell, groups.inside, _bytes(INK))
    return pixels


def _fill(pixels: Pixels, cell: Integers, edges: Edges, colour: Pixels) -> None:
    sources, targets = edges
    pixels[cell[targets], cell[sources]] = colour


def _bytes(colour: str) -> Pixels:
    return np.array([int(colour[start : start + 2], 16) for start in (1, 3, 5)], np.uint8)
