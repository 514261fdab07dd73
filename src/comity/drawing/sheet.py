"""A figure that things are put on, one unit of whose axes is an inch; and what becomes of it, in a format.

Only matplotlib's figures are used, never its pyplot, so that nothing of it is changed for others.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, Patch

from comity.drawing.circle import EM, FONT, NODE, Bounds, Place, Point
from comity.drawing.colours import FAINT, INK, Look
from comity.drawing.labels import identifier
from comity.drawing.routes import bend_of, middle_of

_POINTS = 72  # an inch
_MEASURE = 4 * _POINTS  # dots an inch when texts are measured: fewer would round their widths
_DPI = 160
_MARGIN = 0.15
_BELOW = 0.2
_MOST_PIXELS = 3000
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "comity",  # else identifiers are drawn at random
    "text.parse_math": False,  # a $ is a $
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans"],  # which comes with matplotlib
    "font.size": FONT,
    "pdf.fonttype": 42,
}
# Without a date, what is drawn twice is the same to the byte.
_METADATA: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
_SIDES: dict[str, tuple[str, str]] = {
    "in": ("center", "center_baseline"),
    "right": ("left", "center_baseline"),
    "left": ("right", "center_baseline"),
    "above": ("center", "bottom"),
    "below": ("center", "top"),
}


@contextmanager
def settings() -> Iterator[None]:
    """Draw with our settings, whatever the user's are, and leave those as they were."""
    with matplotlib.rc_context(), warnings.catch_warnings():
        # A sign that the font lacks is drawn as a box, of which matplotlib warns; in SVG the reader's fonts have it.
        warnings.simplefilter("ignore", UserWarning)
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        yield


def _new_axes() -> Axes:
    figure = Figure(figsize=(1, 1), dpi=_MEASURE)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0, 1), ylim=(0, 1), autoscale_on=False)
    axes.set_axis_off()
    return axes


@dataclass(frozen=True, eq=False)
class Sheet:
    """What is drawn on; everything has an identifier, which SVG files keep."""

    axes: Axes = field(default_factory=_new_axes)
    _reached: list[Point] = field(default_factory=list)

    def client(self, name: str, label: str, place: Place, look: Look) -> None:
        """Draw a client: its node, and its label in or beside it."""
        style = "-" if look.style != ":" else ":"
        node = Circle(place.node, NODE, facecolor=look.node, edgecolor=INK, linewidth=0.9, linestyle=style, zorder=3)
        self._add(node, identifier("node", name))
        x, y = place.node
        self.reach((x - NODE, y - NODE), (x + NODE, y + NODE))
        self.text(place.label, label, place.side, identifier("client", name), turn=place.turn)

    def text(self, at: Point, text: str, side: str, gid: str | None = None, *, turn: float = 0.0, **other: Any) -> None:
        """Write a text to one side of a point, or with it in the middle."""
        across, up = _SIDES[side]
        told = self.axes.text(
            *at, text, ha=across, va=up, rotation=turn, rotation_mode="anchor", color=other.pop("color", INK), zorder=4,
            clip_on=False, **other,
        )  # fmt: skip
        told.set_parse_math(False)
        told.set_gid(gid)

    def box(self, left: float, top: float, size: Point, look: Look, gid: str) -> Patch:
        """Draw a box with round corners."""
        low, (width, height), round_ = top - size[1], size, 0.08
        patch = FancyBboxPatch(
            (left + round_, low + round_), width - 2 * round_, height - 2 * round_,
            boxstyle=f"round,pad={round_},rounding_size={round_}", facecolor=look.ground, edgecolor=look.line,
            linewidth=1.6, linestyle=look.style, zorder=1,
        )  # fmt: skip
        self._add(patch, gid)
        self.reach((left, low), (left + width, top))
        return patch

    def arrow(self, start: Point, end: Point, gid: str, width: float, **other: Any) -> None:
        """Draw an arrow from one point to another, a little bent unless told how much.

        Without boxes to go between (`patchA`, `patchB`) it goes from node to node.
        """
        shrink = 1.0 if "patchA" in other else _POINTS * NODE + 1.0
        bend = other.pop("bend", bend_of(start, end))
        arrow = FancyArrowPatch(
            start, end, arrowstyle="-|>", connectionstyle=f"arc3,rad={bend:.4f}", linewidth=width, shrinkA=shrink,
            shrinkB=shrink, mutation_scale=8.0 + 1.5 * width, capstyle="butt", joinstyle="miter",
            **{"color": INK, "zorder": 2.0, **other},
        )  # fmt: skip
        self._add(arrow, gid)
        self.reach(middle_of(start, end, bend))

    def reach(self, *points: Point) -> None:
        """Have room for what is drawn up to some points."""
        self._reached.extend(points)

    def caption(self, lines: str, larger: float = 1.0) -> None:
        """Write below everything what is seen; the first line is its title."""
        bounds = self._bounds()
        middle = bounds.centre[0]
        for line, text in enumerate(lines.splitlines()):
            at = (middle, bounds.low - _BELOW - line * 1.4 * EM * larger)
            self.text(at, text, "below", fontsize=(FONT - 1) * larger, color=FAINT if line else INK)

    def _bounds(self) -> Bounds:
        """Return the box that holds everything; only texts must be measured."""
        corners = list(self._reached)
        for text in self.axes.texts:
            extent = text.get_window_extent(self._measuring)
            corners += [(extent.x0 / _MEASURE, extent.y0 / _MEASURE), (extent.x1 / _MEASURE, extent.y1 / _MEASURE)]
        return Bounds.around(corners)

    def fit(self) -> None:
        """Make the figure as large as what is on it; when all is drawn."""
        bounds = self._bounds().wider(_MARGIN)
        self._figure.set_size_inches(bounds.width, bounds.height)
        self.axes.set(xlim=(bounds.left, bounds.right), ylim=(bounds.low, bounds.high))

    def render(self, format_: str) -> bytes:
        """Return the figure in a format."""
        made = BytesIO()
        dpi = min(_DPI, _MOST_PIXELS / max(self._figure.get_size_inches()))
        self._figure.savefig(made, format=format_, dpi=dpi, metadata=_METADATA[format_])
        return made.getvalue()

    @cached_property
    def _measuring(self) -> RendererAgg:
        """What texts are measured with; it remembers those that it has measured."""
        renderer: RendererAgg = FigureCanvasAgg(self._figure).get_renderer()  # type: ignore[no-untyped-call]
        return renderer

    @property
    def _figure(self) -> Figure:
        figure = self.axes.figure
        assert isinstance(figure, Figure)
        return figure

    def _add(self, patch: Patch, gid: str) -> None:
        patch.set_gid(gid)
        patch.set_clip_on(False)
        self.axes.add_artist(patch)  # `add_patch` would trace it, for limits that we set ourselves
