"""The benefit graph as a circle of clients; those of a component stand together."""

from __future__ import annotations

from collections.abc import Mapping

from comity.core import BenefitGraph
from comity.drawing.circle import circle, fit_inside
from comity.drawing.colours import ALONE, PLAIN
from comity.drawing.groups import Groups
from comity.drawing.labels import identifier
from comity.drawing.routes import bend_inward
from comity.drawing.sheet import Sheet
from comity.drawing.widths import Edge, widths_of

_CAPTION = "Benefit graph\nAn arrow goes from a collaborator to the client that wants it"


def draw_benefit_graph(graph: BenefitGraph, components: Groups, weights: Mapping[Edge, float] | None) -> Sheet:
    """Draw every edge as an arrow; a client without any has a dotted line."""
    sheet = Sheet()
    order = [graph.clients[place] for place in components.order.tolist()]
    labels = [components.labels[client] for client in order]
    drawn = circle(labels, components.sizes.tolist(), inside=fit_inside(labels), wide=True)
    places = dict(zip(order, drawn.places, strict=True))
    edges = list(graph.edges())
    for (giver, taker), width in widths_of(edges, weights).items():
        ends = places[giver].node, places[taker].node
        sheet.arrow(*ends, identifier("edge", giver, taker), width, bend=bend_inward(*ends, (0.0, 0.0)))
    bound = {client for edge in edges for client in edge}
    for client, label in zip(order, labels, strict=True):
        sheet.client(client, label, places[client], PLAIN if client in bound else ALONE)
    sheet.caption(_CAPTION)
    return sheet
