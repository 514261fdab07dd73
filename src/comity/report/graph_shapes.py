"""The benefit graph as SVG shapes, in pixels: boxes, nodes, labels and arrows; one drawing serves all peels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import hypot

import numpy as np

from comity.core.arrays import Floats
from comity.report.drawing.arrangement import Arrangement, arrange
from comity.report.drawing.circle import NODE, Bounds, Point
from comity.report.drawing.colours import OKABE_ITO
from comity.report.drawing.groups import Groups
from comity.report.drawing.routes import bend_around, bend_inward, middle_of
from comity.report.drawing.widths import choose_widths
from comity.report.story import Story

_PIXELS_PER_INCH = 96.0
_MARGIN = 0.2  # inches
_PIXELS_PER_POINT = 1.4  # of line width; a little more than on paper
_CLEARANCE = NODE + 0.02  # inches from the centre of a node to where arrows begin and end
_HEAD_LENGTH, _HEAD_HALF_WIDTH = 0.105, 0.05  # of the head of a thin arrow, in inches
_DASHES = {"-": "none", "--": "7 4", "-.": "9 3 2 3", ":": "2 3"}
_SIDES = {
    "in": ("middle", "central"),
    "right": ("start", "central"),
    "left": ("end", "central"),
    "above": ("middle", "text-after-edge"),
    "below": ("middle", "text-before-edge"),
}


@dataclass(frozen=True, slots=True)
class Label:
    """A text: its position, its anchor, and its rotation in degrees."""

    text: str
    x: float
    y: float
    anchor: str
    baseline: str
    turn: float = 0.0


@dataclass(frozen=True, slots=True)
class Node:
    """A client: its position and its label."""

    x: float
    y: float
    label: Label


@dataclass(frozen=True, slots=True)
class Frame:
    """A coalition's box and heading."""

    x: float
    y: float
    width: float
    height: float
    head: Label


@dataclass(frozen=True, slots=True)
class Arrow:
    """An arrow: the paths of its line and of its head, the width of the line, and whether the wish is unmet."""

    line: str
    head: str
    width: float
    unmet: bool


@dataclass(frozen=True, slots=True)
class CoalitionLook:
    """How a coalition looks: its colour (empty for a client alone) and the dashes of its line."""

    colour: str
    dash: str


@dataclass(frozen=True, slots=True)
class GraphShapes:
    """All shapes; nodes are in the order of the clients of the story, and arrows in the order of its edges."""

    width: float
    height: float
    nodes: tuple[Node, ...]
    frames: tuple[Frame, ...]
    arrows: tuple[Arrow, ...]
    peels: tuple[Label, ...]
    radius: float


def choose_looks(story: Story) -> tuple[CoalitionLook, ...]:
    """Return how each coalition looks."""
    return tuple(
        CoalitionLook(look.line if look.line in OKABE_ITO else "", _DASHES[look.style]) for look in _groups(story).looks
    )


def lay_out_graph(story: Story) -> GraphShapes:
    """Return the shapes of the benefit graph of a story."""
    groups = _groups(story)
    arrangement = arrange(groups)
    bounds = _bounds(arrangement)

    def to_pixels(point: Point) -> Point:
        return _round(_PIXELS_PER_INCH * (point[0] - bounds.left)), _round(_PIXELS_PER_INCH * (bounds.high - point[1]))

    def label(text: str, point: Point, side: str, turn: float = 0.0) -> Label:
        x, y = to_pixels(point)
        return Label(text, x, y, *_SIDES[side], _round(-turn))

    nodes = []
    for client in story.names:
        place = arrangement.places[client]
        nodes.append(Node(*to_pixels(place.node), label(groups.labels[client], place.label, place.side, place.turn)))
    frames = []
    for box in sorted(arrangement.boxes, key=lambda box: box.number):
        (x, y), (width, height) = to_pixels(box.corner), box.size
        head = label(box.head, box.heading, "right")
        frames.append(Frame(x, y, _round(_PIXELS_PER_INCH * width), _round(_PIXELS_PER_INCH * height), head))
    edges, unmet = story.edges, set(story.unmet)
    widths = choose_widths(edges, dict(story.contributions) if story.contributions else None)
    routes = _Routes(arrangement, {member.name: member.coalition - 1 for member in story.members}, to_pixels)
    arrows = []
    for giver, receiver in edges:
        width = widths[giver, receiver]
        paths = routes.paths(giver, receiver, width)
        arrows.append(Arrow(*paths, round(_PIXELS_PER_POINT * width, 2), (giver, receiver) in unmet))
    peels = tuple(
        label(f"peel {number + 1}", (left, top - 0.1), "right") for number, (left, top) in enumerate(arrangement.peels)
    )
    return GraphShapes(
        _round(_PIXELS_PER_INCH * bounds.width),
        _round(_PIXELS_PER_INCH * bounds.height),
        tuple(nodes),
        tuple(frames),
        tuple(arrows),
        peels,
        _round(_PIXELS_PER_INCH * NODE),
    )


def _groups(story: Story) -> Groups:
    """Return the coalitions as groups of clients."""
    numbers = np.array([member.coalition - 1 for member in story.members], np.int64)
    peels = np.zeros(len(story.coalitions), np.int64)
    for step in story.steps:
        peels[list(step.left)] = step.number
    no_edges = np.zeros(0, np.int64), np.zeros(0, np.int64)
    return Groups(story.names, numbers, peels, no_edges, no_edges)


def _bounds(arrangement: Arrangement) -> Bounds:
    corners = [corner for box in arrangement.boxes for corner in _corners(box.bounds)]
    return Bounds.around([*corners, *arrangement.peels]).wider(_MARGIN)


def _corners(bounds: Bounds) -> Sequence[Point]:
    return (bounds.left, bounds.low), (bounds.right, bounds.high)


@dataclass(frozen=True, eq=False)
class _Routes:
    """The paths of arrows: inside a coalition through its circle, between two coalitions around everything else."""

    arrangement: Arrangement
    coalition_of: Mapping[str, int]
    to_pixels: Callable[[Point], Point]

    def _obstacles(self, giver: str, receiver: str) -> Floats:
        """Return boxes (k, 4) that an arrow between coalitions avoids: other coalitions, and other clients of both."""
        ends = {self.coalition_of[giver], self.coalition_of[receiver]}
        boxes = [box.bounds for box in self.arrangement.boxes if box.number not in ends]
        clients = chain.from_iterable(self._members[number] for number in ends)
        nodes = [self.arrangement.places[client].node for client in clients if client not in (giver, receiver)]
        boxes += [Bounds.around([node]).wider(_CLEARANCE) for node in nodes]
        return np.array(boxes, dtype=np.float64).reshape(-1, 4)

    @cached_property
    def _members(self) -> Mapping[int, Sequence[str]]:
        members: dict[int, list[str]] = {}
        for client, number in self.coalition_of.items():
            members.setdefault(number, []).append(client)
        return members

    def paths(self, giver: str, receiver: str, width: float) -> tuple[str, str]:
        """Return the SVG paths of an arrow's line and of its head."""
        start, end = self.arrangement.places[giver].node, self.arrangement.places[receiver].node
        if self.coalition_of[giver] == self.coalition_of[receiver]:
            bend = bend_inward(start, end, self.arrangement.centres[giver])
        else:
            bend = bend_around(start, end, self._obstacles(giver, receiver))
        middle = middle_of(start, end, bend)
        control = 2 * middle[0] - (start[0] + end[0]) / 2, 2 * middle[1] - (start[1] + end[1]) / 2
        length, half = _HEAD_LENGTH * (1 + width / 6), _HEAD_HALF_WIDTH * (1 + width / 4)
        first, tip, base = (
            _towards(start, control, _CLEARANCE),
            _towards(end, control, _CLEARANCE),
            _towards(end, control, _CLEARANCE + length),
        )
        across = _across(tip, base, half)
        left, right = (base[0] + across[0], base[1] + across[1]), (base[0] - across[0], base[1] - across[1])
        points = (first, control, base, tip, left, right)
        line_start, bent_at, line_end, tip_at, *wings = (_xy(self.to_pixels(point)) for point in points)
        return f"M{line_start}Q{bent_at} {line_end}", f"M{tip_at}L{' '.join(wings)}Z"


def _towards(start: Point, end: Point, distance: float) -> Point:
    """Return the point at a distance from the start, in the direction of the end."""
    length = hypot(end[0] - start[0], end[1] - start[1]) or 1.0
    return start[0] + (end[0] - start[0]) * distance / length, start[1] + (end[1] - start[1]) * distance / length


def _across(tip: Point, base: Point, half: float) -> Point:
    """Return the vector of length `half` at a right angle to the line from base to tip."""
    length = hypot(tip[0] - base[0], tip[1] - base[1]) or 1.0
    return -(tip[1] - base[1]) * half / length, (tip[0] - base[0]) * half / length


def _xy(point: Point) -> str:
    return f"{point[0]:g},{point[1]:g}"


def _round(value: float) -> float:
    return round(value, 1) + 0.0
