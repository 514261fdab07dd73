"""The drawing of the equilibrium: coalitions as boxes of clients, peel by peel."""

from __future__ import annotations

from collections.abc import Mapping

from comity.report.drawing.arrangement import arrange
from comity.report.drawing.colours import FAINT
from comity.report.drawing.groups import Groups
from comity.report.drawing.labels import group_identifier, identifier
from comity.report.drawing.routes import bend_inward
from comity.report.drawing.sheet import Sheet
from comity.report.drawing.widths import Edge, choose_widths

_CAPTION = "Collaboration equilibrium\nAn arrow goes from a collaborator to the client that wants it"
_UNMET = "; dashed: an unmet wish"


def draw_coalitions(groups: Groups, weights: Mapping[Edge, float] | None) -> Sheet:
    """Draw a box for each coalition, with arrows for the wishes at the time it formed; unmet wishes are dashed."""
    sheet = Sheet()
    layout = arrange(groups)
    for box in layout.boxes:
        members, look = groups.members[box.number], groups.looks[box.number]
        sheet.box(*box.corner, box.size, look, group_identifier("coalition", box.number + 1, members))
        sheet.text(box.heading, box.head, "right", weight="bold")
        for client in members:
            sheet.client(client, groups.labels[client], layout.places[client], look)
    for peel, (left, top) in enumerate(layout.peels):
        sheet.text((left, top - 0.1), f"peel {peel + 1}", "right", color=FAINT)
    for (giver, receiver), width in choose_widths(groups.named(groups.inside), weights).items():
        ends = layout.places[giver].node, layout.places[receiver].node
        bend = bend_inward(*ends, layout.centres[giver])
        sheet.arrow(*ends, identifier("edge", giver, receiver), width, bend=bend)
    unmet = groups.named(groups.across)
    for giver, receiver in unmet:
        ends = layout.places[giver].node, layout.places[receiver].node
        sheet.arrow(
            *ends, identifier("unmet", giver, receiver), 0.8, color=FAINT, linestyle=(0, (4, 3)), zorder=1.5
        )  # fmt: skip
    sheet.caption(_CAPTION + (_UNMET if unmet else ""))
    return sheet
