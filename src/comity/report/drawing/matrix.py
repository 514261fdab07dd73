"""The drawing for many clients: a matrix of who wants whom, in which a group is a square on the diagonal."""

import numpy as np
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from comity.report.drawing.circle import EM, FONT, Bounds
from comity.report.drawing.colours import FAINT, INK
from comity.report.drawing.groups import Groups
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
    sheet.reach(Bounds(0.0, -side, side, 0.0))
    sheet.axes.add_patch(
        Rectangle((0, -side), side, side, facecolor="none", edgecolor=FAINT, linewidth=0.6, clip_on=False)
    )
    if count <= _MAX_CLIENTS_NAMED:
        for row, place in enumerate(groups.order.tolist()):
            client, end = groups.clients[place], (-0.05, -(row + 0.5) * step)
            sheet.text(end, groups.labels[client], "left", identifier("client", client), fontsize=size)
    if kind:
        _outline_groups(sheet, groups, kind, step)
    more = f"{count:,} clients" + (", several to a cell" if count > _MAX_CELLS else "")
    grey = "\nGrey: unmet wishes" if coloured and len(groups.across[0]) else ""
    sheet.caption(f"{head}: {more}\n{_ROWS}{grey}", larger=1 + side / 16)
    return sheet


def _outline_groups(sheet: Sheet, groups: Groups, kind: str, step: float) -> None:
    """Draw a square around each group of two or more, with its number beside it if there is room."""
    count, ends = len(groups.clients), np.cumsum(groups.sizes).tolist()
    largest_first = np.argsort(-groups.sizes, kind="stable")[: min((groups.sizes > 1).sum(), _MAX_GROUPS_OUTLINED)]
    for number in largest_first.tolist():
        size, end, look = int(groups.sizes[number]), ends[number], groups.looks[number]
        square = Rectangle(
            ((end - size) * step, -end * step), size * step, size * step,
            facecolor="none", edgecolor=look.line, linewidth=1.4, linestyle=look.style, zorder=2, clip_on=False,
        )  # fmt: skip
        members = groups.members[number] if count <= _MAX_CLIENTS_NAMED else ()
        square.set_gid(group_identifier(kind, number + 1, members))
        sheet.axes.add_patch(square)
        if size * step > EM * _MIN_FONT / FONT:
            peel = "" if kind == "component" or groups.peels is None else f", peel {groups.peels[number] + 1}"
            start = (count * step + 0.05, -(2 * end - size) / 2 * step)
            font = max(_MIN_FONT, min(_MAX_FONT, 24 * size * step, 2 * step * count))
            sheet.text(start, f"{kind} {number + 1}{peel}", "right", fontsize=font)


def _pixels(groups: Groups, *, coloured: bool) -> Pixels:
    """Return the colours of all cells (rows, columns, 3)."""
    count = len(groups.clients)
    cells = min(count, _MAX_CELLS)
    cell = np.empty(count, np.int64)
    cell[groups.order] = np.arange(count) * cells // count
    pixels = np.full((cells, cells, 3), 255, np.uint8)
    pixels[np.arange(cells), np.arange(cells)] = _rgb("#DDDDDD")
    sources, targets = groups.across
    pixels[cell[targets], cell[sources]] = _rgb(FAINT if coloured else INK)
    sources, targets = groups.inside
    colours = np.array([_rgb(look.line if coloured else INK) for look in groups.looks])
    pixels[cell[targets], cell[sources]] = colours[groups.numbers[targets]]
    return pixels


def _rgb(colour: str) -> Pixels:
    return np.frombuffer(bytes.fromhex(colour[1:]), np.uint8)
