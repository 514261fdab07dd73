"""Many clients: a picture of who wants whom, sorted by group, in which a group is a square on the diagonal."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from comity.drawing.circle import EM, FONT
from comity.drawing.colours import FAINT, INK
from comity.drawing.groups import Edges, Groups, Integers
from comity.drawing.labels import group_identifier, identifier
from comity.drawing.sheet import Sheet

_MOST_NAMED = 300  # clients; the names of more would not be read
_MOST_BLOCKS = 300
_FEW = 60
_MOST_CELLS = 800  # on a side; of more clients several share a cell
_SIDE = 8.0
_LEAST, _MOST = 5.0, 14.0  # points
Picture = NDArray[np.uint8]
_ROWS = "A row is a client, its filled cells are its collaborators, in the same order"


def draw_matrix(groups: Groups, head: str, kind: str = "", *, coloured: bool = False) -> Sheet:
    """Draw edges as cells; with a `kind` groups are outlined, and `coloured` if theirs are to be told from others."""
    count = len(groups.clients)
    height, size = (0.19, FONT) if count <= _FEW else (0.11, 6.0)
    side = height * count if count <= _MOST_NAMED else _SIDE
    step = side / count
    sheet = Sheet()
    picture = sheet.axes.imshow(
        _picture(groups, coloured=coloured), extent=(0, side, -side, 0), interpolation="none", aspect="auto", zorder=1
    )
    picture.set_clip_on(False)
    picture.set_gid("edges")
    sheet.reach((0.0, -side), (side, 0.0))
    sheet.axes.add_patch(
        Rectangle((0, -side), side, side, facecolor="none", edgecolor=FAINT, linewidth=0.6, clip_on=False)
    )
    if count <= _MOST_NAMED:
        for row, place in enumerate(groups.order.tolist()):
            client, at = groups.clients[place], (-0.05, -(row + 0.5) * step)
            sheet.text(at, groups.labels[client], "left", identifier("client", client), fontsize=size)
    if kind:
        _outline(sheet, groups, kind, step)
    more = f"{count:,} clients" + (", several to a cell" if count > _MOST_CELLS else "")
    grey = "\nGrey: wishes that stayed unmet" if coloured and len(groups.across[0]) else ""
    sheet.caption(f"{head}: {more}\n{_ROWS}{grey}", larger=1 + side / 16)
    return sheet


def _outline(sheet: Sheet, groups: Groups, kind: str, step: float) -> None:
    """Draw a square around each group of two or more, with its number beside if there is room."""
    many = np.flatnonzero(groups.sizes > 1)
    named = len(groups.clients) <= _MOST_NAMED
    bounds = list(pairwise(np.concatenate(([0], np.cumsum(groups.sizes))).tolist()))
    for number in many[np.argsort(-groups.sizes[many], kind="stable")][:_MOST_BLOCKS].tolist():
        first, after = bounds[number]
        look = groups.looks[number]
        square = Rectangle(
            (first * step, -after * step), (after - first) * step, (after - first) * step,
            facecolor="none", edgecolor=look.line, linewidth=1.4, linestyle=look.style, zorder=2, clip_on=False,
        )  # fmt: skip
        square.set_gid(group_identifier(kind, number + 1, groups.members[number] if named else ()))
        sheet.axes.add_patch(square)
        if (height := (after - first) * step) > EM * _LEAST / FONT:
            at = (len(groups.clients) * step + 0.05, -(first + after) / 2 * step)
            size = max(_LEAST, min(_MOST, 24 * height, 2 * step * len(groups.clients)))
            sheet.text(at, _told(groups, kind, number), "right", fontsize=size)


def _told(groups: Groups, kind: str, number: int) -> str:
    peel = "" if kind == "component" or groups.peels is None else f", peel {groups.peels[number] + 1}"
    return f"{kind} {number + 1}{peel}"


def _picture(groups: Groups, *, coloured: bool) -> Picture:
    """Return the colours of all cells (rows, columns, 3)."""
    count = len(groups.clients)
    cells = min(count, _MOST_CELLS)
    cell = np.empty(count, np.int64)
    cell[groups.order] = np.arange(count) * cells // count
    picture = np.full((cells, cells, 3), 255, np.uint8)
    picture[np.arange(cells), np.arange(cells)] = _bytes("#DDDDDD")
    _fill(picture, cell, groups.across, _bytes(FAINT if coloured else INK))
    if coloured:
        colours = np.array([_bytes(look.line) for look in groups.looks])
        _fill(picture, cell, groups.inside, colours[groups.numbers[groups.inside[1]]])
    else:
        _fill(picture, cell, groups.inside, _bytes(INK))
    return picture


def _fill(picture: Picture, cell: Integers, edges: Edges, colour: Picture) -> None:
    sources, targets = edges
    picture[cell[targets], cell[sources]] = colour


def _bytes(colour: str) -> Picture:
    return np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)], np.uint8)
