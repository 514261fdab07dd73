"""The equilibrium: coalitions as boxes of clients, peel by peel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from comity.drawing.circle import BOLD, EM, Circle, Place, Point, circle, fit_inside
from comity.drawing.colours import FAINT
from comity.drawing.columns import columns
from comity.drawing.groups import Groups
from comity.drawing.labels import group_identifier, identifier, width_of
from comity.drawing.routes import bend_inward
from comity.drawing.sheet import Sheet
from comity.drawing.widths import Edge, widths_of

_CAPTION = "Collaboration equilibrium\nAn arrow goes from a collaborator to the client that wants it"
_UNMET = "; dashed: a wish that stayed unmet"
_PAD = 0.14
_HEAD = 0.24


@dataclass(frozen=True, slots=True)
class _Box:
    """A coalition's circle, and room for a heading above it."""

    head: str
    circle: Circle

    @property
    def size(self) -> Point:
        bounds = self.circle.bounds
        return max(bounds.width, EM * width_of(self.head) * BOLD) + 2 * _PAD, bounds.height + _HEAD + 2 * _PAD

    def centre(self, corner: Point) -> Point:
        """Return the middle of the circle, when the box is at this corner."""
        (width, height), (x, y) = self.size, self.circle.bounds.centre
        return corner[0] + width / 2 - x, corner[1] - (height + _HEAD) / 2 - y


def draw_coalitions(groups: Groups, weights: Mapping[Edge, float] | None) -> Sheet:
    """Draw a box for each coalition, its members and whom they wanted when it formed; unmet wishes are dashed."""
    sheet = Sheet()
    labels = groups.labels
    parts = groups.by_peel()
    inside = fit_inside(list(labels.values()))
    boxes = {number: _box(groups.members[number], number, labels, inside=inside) for part in parts for number in part}
    headed = groups.peels is not None
    stand = columns(
        [[boxes[number].size for number in part] for part in parts], head=0.3 if headed else 0.0, between=0.6
    )
    places: dict[str, Place] = {}
    centres: dict[str, Point] = {}
    for (number, box), corner in zip(boxes.items(), stand.corners, strict=True):
        members, look, centre = groups.members[number], groups.looks[number], box.centre(corner)
        sheet.box(*corner, box.size, look, group_identifier("coalition", number + 1, members))
        sheet.text((corner[0] + _PAD, corner[1] - _HEAD / 2 - _PAD / 2), box.head, "right", weight="bold")
        for client, place in zip(members, box.circle.places, strict=True):
            places[client], centres[client] = place.moved(*centre), centre
            sheet.client(client, labels[client], places[client], look)
    for peel, (left, top) in enumerate(stand.heads if headed else ()):
        sheet.text((left, top - 0.1), f"peel {peel + 1}", "right", color=FAINT)
    for (giver, taker), width in widths_of(groups.named(groups.inside), weights).items():
        ends = places[giver].node, places[taker].node
        bend = bend_inward(*ends, centres[giver])
        sheet.arrow(*ends, identifier("edge", giver, taker), width, bend=bend)
    unmet = groups.named(groups.across)
    for giver, taker in unmet:
        ends = places[giver].node, places[taker].node
        sheet.arrow(
            *ends, identifier("unmet", giver, taker), 0.8, color=FAINT, linestyle=(0, (4, 3)), zorder=1.5
        )  # fmt: skip
    sheet.caption(_CAPTION + (_UNMET if unmet else ""))
    return sheet


def _box(members: tuple[str, ...], number: int, labels: Mapping[str, str], *, inside: bool) -> _Box:
    head = f"coalition {number + 1}" if len(members) > 1 else "alone"
    return _Box(head, circle([labels[client] for client in members], [len(members)], inside=inside, wide=False))
