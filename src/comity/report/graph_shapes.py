"""The benefit graph as SVG shapes, in pixels: boxes, nodes, labels and arrows; one drawing serves all peels."""

from collections.abc import Callable
from dataclasses import dataclass
from math import dist

import numpy as np

from comity.core.arrays import Floats
from comity.report.drawing.arrangement import Arrangement, arrange
from comity.report.drawing.arrows import bend_around, bend_inward, choose_widths, middle_of
from comity.report.drawing.circle import NODE, Bounds, Point
from comity.report.drawing.groups import Groups
from comity.report.story import Story

_PIXELS_PER_INCH = 96.0
_MARGIN = 0.2  # inches
_PIXELS_PER_POINT = 1.4  # of line width; a little more than on paper
_CLEARANCE = NODE + 0.02  # inches from the centre of a node to where arrows begin and end
_HEAD_LENGTH, _HEAD_HALF_WIDTH = 0.105, 0.05  # of the head of a thin arrow, in inches


@dataclass(frozen=True, slots=True)
class Label:
    """A text: a point, the side of the point on which the text extends, and its rotation in degrees."""

    text: str
    x: float
    y: float
    side: str
    turn: float


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
class GraphShapes:
    """All shapes; nodes are in the order of the clients of the story, and arrows in the order of its edges."""

    width: float
    height: float
    nodes: tuple[Node, ...]
    frames: tuple[Frame, ...]
    arrows: tuple[Arrow, ...]
    peels: tuple[Label, ...]
    radius: float


def group_clients(story: Story) -> Groups:
    """Return the coalitions of a story as groups of clients, without edges."""
    numbers = np.array([member.coalition - 1 for member in story.members], np.int64)
    peels = np.zeros(len(story.coalitions), np.int64)
    for step in story.steps:
        peels[list(step.left)] = step.number
    no_edges = np.zeros(0, np.int64), np.zeros(0, np.int64)
    return Groups(story.names, numbers, peels, no_edges, no_edges)


def lay_out_graph(story: Story, groups: Groups) -> GraphShapes:
    """Return the shapes of the benefit graph of a story, whose coalitions are these groups."""
    arrangement = arrange(groups)
    corners = [corner for box in arrangement.boxes for corner in (box.corner, (box.bounds.right, box.bounds.low))]
    bounds = Bounds.around([*corners, *arrangement.peels]).wider(_MARGIN)

    def to_pixels(point: Point) -> Point:
        return _pixels(point[0] - bounds.left), _pixels(bounds.high - point[1])

    def label(text: str, point: Point, side: str, turn: float = 0.0) -> Label:
        return Label(text, *to_pixels(point), side, round(-turn, 1) + 0.0)

    nodes = []
    for client in story.names:
        place = arrangement.places[client]
        nodes.append(Node(*to_pixels(place.node), label(groups.labels[client], place.label, place.side, place.turn)))
    frames = []
    for box in sorted(arrangement.boxes, key=lambda box: box.number):
        size = _pixels(box.size[0]), _pixels(box.size[1])
        frames.append(Frame(*to_pixels(box.corner), *size, label(box.head, box.heading, "right")))
    widths = choose_widths(story.edges, story.contributions or None)
    coalition_of, unmet = {member.name: member.coalition - 1 for member in story.members}, set(story.unmet)
    arrows = []
    for (giver, receiver), width in widths.items():
        start, end = arrangement.places[giver].node, arrangement.places[receiver].node
        if coalition_of[giver] == coalition_of[receiver]:
            bend = bend_inward(start, end, arrangement.centres[giver])
        else:
            numbers = {coalition_of[giver], coalition_of[receiver]}
            bend = bend_around(start, end, _obstacles(story, arrangement, numbers, {giver, receiver}))
        paths = _arrow_paths(start, end, bend, width, to_pixels)
        arrows.append(Arrow(*paths, round(_PIXELS_PER_POINT * width, 2), (giver, receiver) in unmet))
    peels = [label(f"peel {peel}", (left, top - 0.1), "right") for peel, (left, top) in enumerate(arrangement.peels, 1)]
    return GraphShapes(
        _pixels(bounds.width),
        _pixels(bounds.height),
        tuple(nodes),
        tuple(frames),
        tuple(arrows),
        tuple(peels),
        _pixels(NODE),
    )


def _obstacles(story: Story, arrangement: Arrangement, numbers: set[int], ends: set[str]) -> Floats:
    """Return boxes (k, 4) that an arrow between two coalitions avoids: other coalitions, and other clients of both."""
    boxes = [box.bounds for box in arrangement.boxes if box.number not in numbers]
    clients = [client for number in numbers for client in story.coalitions[number] if client not in ends]
    boxes += [Bounds.around([arrangement.places[client].node]).wider(_CLEARANCE) for client in clients]
    return np.array(boxes, dtype=np.float64).reshape(-1, 4)


def _arrow_paths(
    start: Point, end: Point, bend: float, width: float, to_pixels: Callable[[Point], Point]
) -> tuple[str, str]:
    """Return the SVG paths of an arrow's line and of its head."""
    middle = middle_of(start, end, bend)
    control = 2 * middle[0] - (start[0] + end[0]) / 2, 2 * middle[1] - (start[1] + end[1]) / 2
    length, half = _HEAD_LENGTH * (1 + width / 6), _HEAD_HALF_WIDTH * (1 + width / 4)
    first, tip = _towards(start, control, _CLEARANCE), _towards(end, control, _CLEARANCE)
    base = _towards(end, control, _CLEARANCE + length)
    x, y = _towards((0.0, 0.0), (base[1] - tip[1], tip[0] - base[0]), half)  # at a right angle to the line
    points = (first, control, base, tip, (base[0] + x, base[1] + y), (base[0] - x, base[1] - y))
    line_start, bent_at, line_end, tip_at, *wings = ("{:g},{:g}".format(*to_pixels(point)) for point in points)
    return f"M{line_start}Q{bent_at} {line_end}", f"M{tip_at}L{' '.join(wings)}Z"


def _towards(start: Point, end: Point, distance: float) -> Point:
    """Return the point at a distance from the start, in the direction of the end."""
    length = dist(start, end) or 1.0
    return start[0] + (end[0] - start[0]) * distance / length, start[1] + (end[1] - start[1]) * distance / length


def _pixels(inches: float) -> float:
    return round(_PIXELS_PER_INCH * inches, 1) + 0.0
