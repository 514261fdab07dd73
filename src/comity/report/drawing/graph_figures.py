"""The three figures with arrows: the benefit graph, its components, and the equilibrium."""

from collections import defaultdict
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any

import numpy as np
from matplotlib.patches import Patch

from comity.game.graph import BenefitGraph
from comity.report.drawing.arrangement import arrange, stack_columns
from comity.report.drawing.arrows import Weights, bend_around, bend_inward, choose_widths, usual_bend
from comity.report.drawing.circle import BOLD, EM, Bounds, Point, fit_inside, place_on_circle
from comity.report.drawing.colours import ALONE, FAINT, PLAIN
from comity.report.drawing.groups import Groups
from comity.report.drawing.labels import group_identifier, identifier, width_of
from comity.report.drawing.sheet import Sheet

_ARROWS = "An arrow goes from a collaborator to the client that wants it"
_COMPONENT_ARROWS = "An arrow goes from a component to one that wants its clients"
_LINE_HEIGHT = 0.19  # inches
_PADDING = 0.12  # inches
_MAX_ROWS_IN_ONE_COLUMN = 6  # longer lists of names are set in several columns
_BETWEEN = 0.9  # inches between parts


def draw_benefit_graph(graph: BenefitGraph, components: Groups, weights: Weights) -> Sheet:
    """Draw a circle of clients, with the members of a component side by side, and every edge as an arrow.

    Clients without edges have a dotted outline.
    """
    sheet = Sheet()
    order = [graph.clients[place] for place in components.order.tolist()]
    labels = [components.labels[client] for client in order]
    on_circle, _ = place_on_circle(labels, components.sizes.tolist(), inside=fit_inside(labels), wide=True)
    places = dict(zip(order, on_circle, strict=True))
    edges = list(graph.edges())
    for (giver, receiver), width in choose_widths(edges, weights).items():
        ends = places[giver].node, places[receiver].node
        sheet.arrow(*ends, identifier("edge", giver, receiver), width, bend_inward(*ends, (0.0, 0.0)))
    connected = {client for edge in edges for client in edge}
    for client, label in zip(order, labels, strict=True):
        sheet.client(client, label, places[client], PLAIN if client in connected else ALONE)
    sheet.caption(f"Benefit graph\n{_ARROWS}")
    return sheet


def draw_coalitions(groups: Groups, weights: Weights) -> Sheet:
    """Draw a box for each coalition, with arrows for the wishes at the time it formed; unmet wishes are dashed."""
    sheet = Sheet()
    layout = arrange(groups)
    for box in layout.boxes:
        members, look = groups.members[box.number], groups.looks[box.number]
        sheet.box(box.bounds, look, group_identifier("coalition", box.number + 1, members))
        sheet.text(box.heading, box.head, "right", weight="bold")
        for client in members:
            sheet.client(client, groups.labels[client], layout.places[client], look)
    for peel, (left, top) in enumerate(layout.peels):
        sheet.text((left, top - 0.1), f"peel {peel + 1}", "right", color=FAINT)
    for (giver, receiver), width in choose_widths(groups.named(groups.inside), weights).items():
        ends = layout.places[giver].node, layout.places[receiver].node
        sheet.arrow(*ends, identifier("edge", giver, receiver), width, bend_inward(*ends, layout.centres[giver]))
    unmet = groups.named(groups.across)
    dashed: dict[str, Any] = {"color": FAINT, "linestyle": (0, (4, 3)), "zorder": 1.5}
    for giver, receiver in unmet:
        ends = layout.places[giver].node, layout.places[receiver].node
        sheet.arrow(*ends, identifier("unmet", giver, receiver), 0.8, usual_bend(*ends), **dashed)
    sheet.caption(f"Collaboration equilibrium\n{_ARROWS}{'; dashed: an unmet wish' if unmet else ''}")
    return sheet


def draw_components(components: Groups, weights: Weights) -> Sheet:
    """Draw a box for each component with the names of its members, to the right of the components that it wants."""
    sheet = Sheet()
    lists = [
        _NameList(f"component {number + 1}" if len(members) > 1 else "", [components.labels[name] for name in members])
        for number, members in enumerate(components.members)
    ]
    parts = components.by_peel()
    corners, _ = stack_columns([[lists[number].size for number in part] for part in parts], head=0, between=_BETWEEN)
    patches: dict[int, Patch] = {}
    bounds: dict[int, Bounds] = {}
    for number, corner in zip((number for part in parts for number in part), corners, strict=True):
        names, members = lists[number], components.members[number]
        bounds[number] = Bounds.below(corner, names.size)
        gid = group_identifier("component", number + 1, members)
        patches[number] = sheet.box(bounds[number], components.looks[number], gid)
        heading, *starts = names.starts(corner)
        if names.head:
            sheet.text(heading, names.head, "right", weight="bold")
        for client, label, start in zip(members, names.labels, starts, strict=True):
            sheet.text(start, label, "right", identifier("client", client))
    for (giver, receiver), width in _widths_between(components, weights).items():
        ends = bounds[giver].centre, bounds[receiver].centre
        others = np.array([box for number, box in bounds.items() if number not in (giver, receiver)])
        sheet.arrow(
            *ends, identifier("between", str(giver + 1), str(receiver + 1)), width, bend_around(*ends, others),
            patchA=patches[giver], patchB=patches[receiver], zorder=0.5,
        )  # fmt: skip
    sheet.caption(f"Strongly connected components of the benefit graph\n{_COMPONENT_ARROWS}")
    return sheet


@dataclass(frozen=True, slots=True)
class _NameList:
    """The labels of a component's members, in one column or several, under a heading unless there is one member."""

    head: str
    labels: list[str]

    @property
    def rows(self) -> int:
        """The number of labels in a column."""
        count = len(self.labels)
        return count if count <= _MAX_ROWS_IN_ONE_COLUMN else ceil(count / ceil(sqrt(count / 3)))

    @property
    def column(self) -> float:
        """The width of a column."""
        return EM * max(map(width_of, self.labels)) + _PADDING

    @property
    def size(self) -> Point:
        """The width and height of the box around it."""
        names = ceil(len(self.labels) / self.rows) * self.column
        width = max(names, EM * width_of(self.head) * BOLD + _PADDING) + _PADDING
        return width, (self.rows + bool(self.head)) * _LINE_HEIGHT + _PADDING

    def starts(self, corner: Point) -> list[Point]:
        """Return where the heading and then each label begins, given the upper left corner of the box."""
        left, top = corner[0] + _PADDING, corner[1] - (_PADDING + _LINE_HEIGHT) / 2
        first = top - _LINE_HEIGHT if self.head else top
        places = (divmod(number, self.rows) for number in range(len(self.labels)))
        return [(left, top), *((left + column * self.column, first - row * _LINE_HEIGHT) for column, row in places)]


def _widths_between(components: Groups, weights: Weights) -> dict[tuple[int, int], float]:
    """Return the widths of the arrows between components: by the number of edges, or by the sum of their weights."""
    sums: defaultdict[tuple[int, int], float] = defaultdict(float)
    number = dict(zip(components.clients, components.numbers.tolist(), strict=True))
    for giver, receiver in components.named(components.across):
        weight = 1.0 if weights is None else max(weights.get((giver, receiver), 0.0), 0.0)
        sums[number[giver], number[receiver]] += weight
    return choose_widths(list(sums), sums if len(set(sums.values())) > 1 else None)
