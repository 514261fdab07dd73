"""A matplotlib figure whose axes are in inches, with methods to draw on it and to render it in a format.

pyplot is never used, so that the user's own matplotlib state does not change.
"""

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

from comity.report.drawing.arrows import middle_of
from comity.report.drawing.circle import EM, FONT, NODE, Bounds, Place, Point
from comity.report.drawing.colours import FAINT, INK, Look
from comity.report.drawing.labels import identifier

_POINTS_PER_INCH = 72
_MEASURING_DPI = 4 * _POINTS_PER_INCH  # for measuring texts: with fewer, their widths would be rounded
_DPI = 160
_MARGIN = 0.15  # inches
_CAPTION_GAP = 0.2  # inches
_ROUND = 0.08  # inches, of the corners of a box
_MAX_PIXELS = 3000  # on the longer side
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "comity",  # otherwise identifiers are random
    "text.parse_math": False,  # a $ is a $
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib
    "font.size": FONT,
    "pdf.fonttype": 42,
}
# Without a date, drawing the same thing twice gives the same bytes.
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
    """Draw with fixed settings, and restore the user's settings afterwards."""
    with matplotlib.rc_context(), warnings.catch_warnings():
        # matplotlib warns about characters that its font lacks; in SVG the reader's fonts have them.
        warnings.simplefilter("ignore", UserWarning)
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        yield


def _new_axes() -> Axes:
    figure = Figure(figsize=(1, 1), dpi=_MEASURING_DPI)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0, 1), ylim=(0, 1), autoscale_on=False)
    axes.set_axis_off()
    return axes


@dataclass(frozen=True, eq=False)
class Sheet:
    """The figure to draw on; every element has an identifier, which SVG files keep."""

    axes: Axes = field(default_factory=_new_axes)
    _reached: list[Point] = field(default_factory=list)

    def client(self, name: str, label: str, place: Place, look: Look) -> None:
        """Draw the node of a client, and its label inside or beside it."""
        style = "-" if look.style != ":" else ":"
        node = Circle(place.node, NODE, facecolor=look.node, edgecolor=INK, linewidth=0.9, linestyle=style, zorder=3)
        self._add(node, identifier("node", name), Bounds.around([place.node]).wider(NODE))
        self.text(place.label, label, place.side, identifier("client", name), place.turn)

    def text(self, point: Point, text: str, side: str, gid: str = "", turn: float = 0.0, **other: Any) -> None:
        """Write a text on one side of a point, or centred on it."""
        across, up = _SIDES[side]
        self.axes.text(
            *point, text, ha=across, va=up, rotation=turn, rotation_mode="anchor", zorder=4, clip_on=False,
            gid=gid or None, **{"color": INK, **other},
        )  # fmt: skip

    def box(self, bounds: Bounds, look: Look, gid: str) -> Patch:
        """Draw a box with round corners."""
        inner = bounds.wider(-_ROUND)
        patch = FancyBboxPatch(
            (inner.left, inner.low), inner.width, inner.height,
            boxstyle=f"round,pad={_ROUND},rounding_size={_ROUND}", facecolor=look.background, edgecolor=look.line,
            linewidth=1.6, linestyle=look.style, zorder=1,
        )  # fmt: skip
        self._add(patch, gid, bounds)
        return patch

    def arrow(self, start: Point, end: Point, gid: str, width: float, bend: float, **other: Any) -> None:
        """Draw a bent arrow between two nodes, or between boxes if they are given (`patchA`, `patchB`)."""
        shrink = 1.0 if "patchA" in other else _POINTS_PER_INCH * NODE + 1.0
        arrow = FancyArrowPatch(
            start, end, arrowstyle="-|>", connectionstyle=f"arc3,rad={bend:.4f}", linewidth=width, shrinkA=shrink,
            shrinkB=shrink, mutation_scale=8.0 + 1.5 * width, capstyle="butt", joinstyle="miter",
            **{"color": INK, "zorder": 2.0, **other},
        )  # fmt: skip
        self._add(arrow, gid, Bounds.around([middle_of(start, end, bend)]))

    def reach(self, bounds: Bounds) -> None:
        """Extend the figure to a rectangle."""
        self._reached.extend([(bounds.left, bounds.low), (bounds.right, bounds.high)])

    def caption(self, lines: str, larger: float = 1.0) -> None:
        """Write a caption below everything; its first line is the title."""
        bounds = self._bounds()
        middle = bounds.centre[0]
        for line, text in enumerate(lines.splitlines()):
            point = (middle, bounds.low - _CAPTION_GAP - line * 1.4 * EM * larger)
            self.text(point, text, "below", fontsize=(FONT - 1) * larger, color=FAINT if line else INK)

    def _bounds(self) -> Bounds:
        """Return the rectangle that contains everything; only texts need to be measured."""
        corners = list(self._reached)
        for text in self.axes.texts:
            extent = text.get_window_extent(self._measuring)
            corners += [(x / _MEASURING_DPI, y / _MEASURING_DPI) for x, y in (extent.p0, extent.p1)]
        return Bounds.around(corners)

    def fit(self) -> None:
        """Fit the size of the figure to its content, after everything is drawn."""
        bounds = self._bounds().wider(_MARGIN)
        self.figure.set_size_inches(bounds.width, bounds.height)
        self.axes.set(xlim=(bounds.left, bounds.right), ylim=(bounds.low, bounds.high))

    def render(self, format_: str) -> bytes:
        """Return the figure in a format."""
        content = BytesIO()
        dpi = min(_DPI, _MAX_PIXELS / max(self.figure.get_size_inches()))
        with settings():
            self.figure.savefig(content, format=format_, dpi=dpi, metadata=_METADATA[format_])
        return content.getvalue()

    @property
    def figure(self) -> Figure:
        """The matplotlib figure."""
        figure = self.axes.get_figure(root=True)
        assert figure is not None
        return figure

    @cached_property
    def _measuring(self) -> RendererAgg:
        """The renderer that measures texts; it caches their sizes."""
        renderer: RendererAgg = FigureCanvasAgg(self.figure).get_renderer()  # type: ignore[no-untyped-call]
        return renderer

    def _add(self, patch: Patch, gid: str, bounds: Bounds) -> None:
        self.reach(bounds)
        patch.set_gid(gid)
        patch.set_clip_on(False)
        self.axes.add_artist(patch)  # faster than `add_patch`, which computes data limits that are set in `fit` anyway
