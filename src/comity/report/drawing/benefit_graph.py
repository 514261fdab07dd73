"""The drawing of the benefit graph: a circle of clients, with the members of a component side by side."""

from __future__ import annotations

from collections.abc import Mapping

from comity.game.graph import BenefitGraph
from comity.report.drawing.circle import fit_inside, place_on_circle
from comity.report.drawing.colours import ALONE, PLAIN
from comity.report.drawing.groups import Groups
from comity.report.drawing.labels import identifier
from comity.report.drawing.routes import bend_inward
from comity.report.drawing.sheet import Sheet
from comity.report.drawing.widths import Edge, choose_widths

_CAPTION = "Benefit graph\nAn arrow goes from a collaborator to the client that wants it"


def draw_benefit_graph(graph: BenefitGraph, components: Groups, weights: Mapping[Edge, float] | None) -> Sheet:
    """Draw every edge as an arrow; clients without edges have a dotted outline."""
    sheet = Sheet()
    order = [graph.clients[place] for place in components.order.tolist()]
    labels = [components.labels[client] for client in order]
    circle = place_on_circle(labels, components.sizes.tolist(), inside=fit_inside(labels), wide=True)
    places = dict(zip(order, circle.places, strict=True))
    edges = list(graph.edges())
    for (giver, receiver), width in choose_widths(edges, weights).items():
        ends = places[giver].node, places[receiver].node
        sheet.arrow(*ends, identifier("edge", giver, receiver), width, bend=bend_inward(*ends, (0.0, 0.0)))
    connected = {client for edge in edges for client in edge}
    for client, label in zip(order, labels, strict=True):
        sheet.client(client, label, places[client], PLAIN if client in connected else ALONE)
    sheet.caption(_CAPTION)
    return sheet
