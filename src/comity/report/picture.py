"""The benefit graph as shapes for a page: boxes, nodes, labels and arrows, in pixels; one picture for all peels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import hypot

import numpy as np

from comity.drawing.arrangement import Arrangement, arrange
from comity.drawing.circle import NODE, Bounds, Point
from comity.drawing.colours import OKABE_ITO
from comity.drawing.groups import Groups
from comity.drawing.routes import Floats, bend_around, bend_inward, middle_of
from comity.drawing.widths import widths_of
from comity.report.story import Edge, Story

_SCALE = 96.0  # pixels an inch
_MARGIN = 0.2
_BROADER = 1.4  # than on paper, in pixels a point
_CLEAR = NODE + 0.02  # of a node's middle, where arrows begin and end
_HEAD_LONG, _HEAD_HALF = 0.105, 0.05  # of an arrow's head, for a thin line; inches
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
    """A text: where it stands, how it is anchored, and how much it is turned (degrees)."""

    text: str
    x: float
    y: float
    anchor: str
    baseline: str
    turn: float = 0.0


@dataclass(frozen=True, slots=True)
class Node:
    """A client: where, and its label."""

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
    """An arrow: the path of its line and of its head, the width of the line, and whether it is a wish that is unmet."""

    line: str
    head: str
    width: float
    unmet: bool


@dataclass(frozen=True, slots=True)
class Look:
    """How a coalition looks: its colour (none for a client alone) and its kind of line."""

    colour: str
    dash: str


@dataclass(frozen=True, slots=True)
class Picture:
    """All shapes; nodes and arrows in the order of the story's clients and of `edges`."""

    width: float
    height: float
    nodes: tuple[Node, ...]
    frames: tuple[Frame, ...]
    arrows: tuple[Arrow, ...]
    peels: tuple[Label, ...]
    radius: float


def edges_of(story: Story) -> tuple[Edge, ...]:
    """Return every wish of any peel, once."""
    return tuple(dict.fromkeys(chain.from_iterable(step.edges for step in story.steps)))


def looks_of(story: Story) -> tuple[Look, ...]:
    """Return how each coalition looks."""
    return tuple(
        Look(look.line if look.line in OKABE_ITO else "", _DASHES[look.style]) for look in _groups(story).looks
    )


def picture_of(story: Story) -> Picture:
    """Return the picture of a story."""
    groups = _groups(story)
    stand = arrange(groups)
    bounds = _bounds(stand)

    def at(point: Point) -> Point:
        return _round(_SCALE * (point[0] - bounds.left)), _round(_SCALE * (bounds.high - point[1]))

    def label(text: str, point: Point, side: str, turn: float = 0.0) -> Label:
        x, y = at(point)
        return Label(text, x, y, *_SIDES[side], _round(-turn))

    nodes = []
    for client in story.names:
        place = stand.places[client]
        nodes.append(Node(*at(place.node), label(groups.labels[client], place.label, place.side, place.turn)))
    frames = []
    for box in sorted(stand.boxes, key=lambda each: each.number):
        (x, y), (width, height) = at(box.corner), box.size
        head = label(box.head, box.heading, "right")
        frames.append(Frame(x, y, _round(_SCALE * width), _round(_SCALE * height), head))
    edges, unmet = edges_of(story), set(story.unmet)
    widths = widths_of(edges, dict(story.contributions) if story.contributions else None)
    routes = _Routes(stand, {member.name: member.coalition - 1 for member in story.members}, at)
    arrows = []
    for giver, taker in edges:
        width = widths[giver, taker]
        paths = routes.paths(giver, taker, width)
        arrows.append(Arrow(*paths, round(_BROADER * width, 2), (giver, taker) in unmet))
    peels = tuple(
        label(f"peel {number + 1}", (left, top - 0.1), "right") for number, (left, top) in enumerate(stand.peels)
    )
    return Picture(
        _round(_SCALE * bounds.width),
        _round(_SCALE * bounds.height),
        tuple(nodes),
        tuple(frames),
        tuple(arrows),
        peels,
        _round(_SCALE * NODE),
    )


def _groups(story: Story) -> Groups:
    """Return the coalitions as groups of clients."""
    numbers = np.array([member.coalition - 1 for member in story.members], np.int64)
    peels = np.zeros(len(story.coalitions), np.int64)
    for step in story.steps:
        peels[list(step.left)] = step.number
    nothing = np.zeros(0, np.int64)
    return Groups(story.names, numbers, peels, (nothing, nothing), (nothing, nothing))


def _bounds(stand: Arrangement) -> Bounds:
    corners = [corner for box in stand.boxes for corner in _corners(box.bounds)]
    return Bounds.around([*corners, *stand.peels]).wider(_MARGIN)


def _corners(bounds: Bounds) -> Sequence[Point]:
    return (bounds.left, bounds.low), (bounds.right, bounds.high)


@dataclass(frozen=True, eq=False)
class _Routes:
    """How arrows go: within a coalition through its circle, and between two of them around the others."""

    stand: Arrangement
    home: Mapping[str, int]
    at: Callable[[Point], Point]

    def _others(self, giver: str, taker: str) -> Floats:
        """Return what an arrow between coalitions goes around: other coalitions, and other clients of these two."""
        ends = {self.home[giver], self.home[taker]}
        boxes = [box.bounds for box in self.stand.boxes if box.number not in ends]
        there = chain.from_iterable(self._members[number] for number in ends)
        nodes = [self.stand.places[client].node for client in there if client not in (giver, taker)]
        boxes += [Bounds.around([node]).wider(_CLEAR) for node in nodes]
        return np.array(boxes, dtype=np.float64).reshape(-1, 4)

    @cached_property
    def _members(self) -> Mapping[int, Sequence[str]]:
        members: dict[int, list[str]] = {}
        for client, number in self.home.items():
            members.setdefault(number, []).append(client)
        return members

    def paths(self, giver: str, taker: str, width: float) -> tuple[str, str]:
        """Return the paths of an arrow's line and of its head."""
        start, end = self.stand.places[giver].node, self.stand.places[taker].node
        if self.home[giver] == self.home[taker]:
            bend = bend_inward(start, end, self.stand.centres[giver])
        else:
            bend = bend_around(start, end, self._others(giver, taker))
        middle = middle_of(start, end, bend)
        control = 2 * middle[0] - (start[0] + end[0]) / 2, 2 * middle[1] - (start[1] + end[1]) / 2
        long, half = _HEAD_LONG * (1 + width / 6), _HEAD_HALF * (1 + width / 4)
        first, tip, base = (
            _towards(start, control, _CLEAR),
            _towards(end, control, _CLEAR),
            _towards(end, control, _CLEAR + long),
        )
        across = _across(tip, base, half)
        left, right = (base[0] + across[0], base[1] + across[1]), (base[0] - across[0], base[1] - across[1])
        begin, by, end_of_line, point, *wings = (
            _xy(self.at(each)) for each in (first, control, base, tip, left, right)
        )
        return f"M{begin}Q{by} {end_of_line}", f"M{point}L{' '.join(wings)}Z"


def _towards(start: Point, end: Point, way: float) -> Point:
    length = hypot(end[0] - start[0], end[1] - start[1]) or 1.0
    return start[0] + (end[0] - start[0]) * way / length, start[1] + (end[1] - start[1]) * way / length


def _across(tip: Point, base: Point, half: float) -> Point:
    length = hypot(tip[0] - base[0], tip[1] - base[1]) or 1.0
    return -(tip[1] - base[1]) * half / length, (tip[0] - base[0]) * half / length


def _xy(point: Point) -> str:
    return f"{point[0]:g},{point[1]:g}"


def _round(value: float) -> float:
    return round(value, 1) + 0.0
