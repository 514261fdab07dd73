"""The equilibrium: coalitions as boxes of clients, peel by peel."""

from __future__ import annotations

from collections.abc import Mapping

from comity.drawing.arrangement import arrange
from comity.drawing.colours import FAINT
from comity.drawing.groups import Groups
from comity.drawing.labels import group_identifier, identifier
from comity.drawing.routes import bend_inward
from comity.drawing.sheet import Sheet
from comity.drawing.widths import Edge, widths_of

_CAPTION = "Collaboration equilibrium\nAn arrow goes from a collaborator to the client that wants it"
_UNMET = "; dashed: a wish that stayed unmet"


def draw_coalitions(groups: Groups, weights: Mapping[Edge, float] | None) -> Sheet:
    """Draw a box for each coalition, its members and whom they wanted when it formed; unmet wishes are dashed."""
    sheet = Sheet()
    stand = arrange(groups)
    for box in stand.boxes:
        members, look = groups.members[box.number], groups.looks[box.number]
        sheet.box(*box.corner, box.size, look, group_identifier("coalition", box.number + 1, members))
        sheet.text(box.heading, box.head, "right", weight="bold")
        for client in members:
            sheet.client(client, groups.labels[client], stand.places[client], look)
    for peel, (left, top) in enumerate(stand.peels):
        sheet.text((left, top - 0.1), f"peel {peel + 1}", "right", color=FAINT)
    for (giver, taker), width in widths_of(groups.named(groups.inside), weights).items():
        ends = stand.places[giver].node, stand.places[taker].node
        bend = bend_inward(*ends, stand.centres[giver])
        sheet.arrow(*ends, identifier("edge", giver, taker), width, bend=bend)
    unmet = groups.named(groups.across)
    for giver, taker in unmet:
        ends = stand.places[giver].node, stand.places[taker].node
        sheet.arrow(
            *ends, identifier("unmet", giver, taker), 0.8, color=FAINT, linestyle=(0, (4, 3)), zorder=1.5
        )  # fmt: skip
    sheet.caption(_CAPTION + (_UNMET if unmet else ""))
    return sheet
