"""A story as one HTML file that needs nothing else: no network, no server, no other file."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from comity.report.axis import Axis
from comity.report.of_own import OwnStory
from comity.report.picture import edges_of, looks_of, picture_of
from comity.report.story import Story
from comity.report.words import minus
from comity.writing import places_for, plain

MANY = 60  # clients, or
MANY_ARROWS = 300  # of which all at once can be told apart no more: then the matrix is shown first
DRAWN = 5_000  # arrows, of which no picture says anything: then there is a matrix only
MOST_ARROWS = 100_000  # of which a page can still be opened
_CELLS = (24.0, 900.0)  # pixels: the largest cell of a matrix, and about the largest matrix
_WITH_FIGURE = 44.0  # pixels of a cell with a figure in it
_LABELLED = 80  # clients whose names still fit beside a matrix
_LONGEST, _LETTER = 24, 7.5  # letters of a name that are shown there, and pixels of one
_TITLE = 110.0  # pixels of what an axis is called


@dataclass(frozen=True, slots=True)
class Matrix:
    """What a matrix of clients takes: the side of a cell, the room for names before it, and the side of it all."""

    cell: float
    room: float
    side: float
    labelled: bool
    figures: bool
    longest: int = _LONGEST

    @classmethod
    def around(cls, names: Sequence[str], *, with_figures: bool = False) -> Matrix:
        """Return what a matrix takes with a row and a column for each name, and figures in it if they have room."""
        figures = with_figures and len(names) * _WITH_FIGURE <= _CELLS[1]
        cell = _WITH_FIGURE if figures else max(3.0, min(_CELLS[0], _CELLS[1] / len(names)))
        labelled = len(names) <= _LABELLED
        room = 16.0 + (_LETTER * min(_LONGEST, max(map(len, names))) if labelled else 0.0)
        return cls(cell, room, room + max(cell * len(names), _TITLE) + 30, labelled, figures)


def render(story: Story) -> str:
    """Return the report as HTML. Every name in it is text: nothing that a client is called can become markup."""
    edges = edges_of(story)
    place_of = {client: at for at, client in enumerate(story.names)}
    dots = [dot for member in story.members for dot in member.dots if dot.known]
    axis = Axis.around([value for dot in dots for value in (dot.value, dot.low, dot.high)])
    given: defaultdict[str, float] = defaultdict(float)
    received: defaultdict[str, float] = defaultdict(float)
    for (giver, receiver), value in story.contributions.items():
        given[giver] += value
        received[receiver] += value
    places = places_for(list(story.contributions.values()))
    return _environment().get_template("report.html").render(
        story=story,
        style=_asset("report.css"),
        script=_asset("report.js"),
        data=_script_json(_data(story, edges, place_of)),
        picture=picture_of(story) if len(edges) <= DRAWN else None,
        looks=looks_of(story),
        edges=edges,
        place_of=place_of,
        frame=Matrix.around(story.names),
        heat=Matrix.around(story.names, with_figures=True),
        matrix_first=len(story.names) > MANY or len(edges) > MANY_ARROWS,
        axis=axis,
        intervals=any(dot.has_interval for dot in dots),
        given=given,
        received=received,
        number=lambda value: minus(plain(value, places)),
        most=max(story.contributions.values(), default=0.0),
    )  # fmt: skip


def render_own(story: OwnStory) -> str:
    """Return a client's own page as HTML, which needs no script."""
    dots = [dot for dot in story.member.dots if dot.known]
    axis = Axis.around([value for dot in dots for value in (dot.value, dot.low, dot.high)])
    return _environment().get_template("own.html").render(story=story, style=_asset("report.css"), axis=axis)


def _data(story: Story, edges: tuple[tuple[str, str], ...], place_of: dict[str, int]) -> dict[str, Any]:
    """Return what the script needs: edges and steps by position."""
    at = {edge: place for place, edge in enumerate(edges)}
    last = {edge: step.number for step in story.steps for edge in step.edges}
    home = {member.name: member.coalition - 1 for member in story.members}
    left = {coalition: step.number for step in story.steps for coalition in step.left}
    formed = [at[edge] for edge in last if home[edge[0]] == home[edge[1]] and last[edge] == left[home[edge[0]]]]
    return {
        "clients": list(story.names),
        "coalition": [member.coalition - 1 for member in story.members],
        "edges": [[place_of[giver], place_of[taker]] for giver, taker in edges],
        "steps": [
            {
                "remaining": [place_of[client] for client in step.remaining],
                "asked": [place_of[client] for client in step.asked],
                "edges": [at[edge] for edge in step.edges],
                "left": list(step.left),
            }
            for step in story.steps
        ],
        "formed": formed,
        "unmet": [at[edge] for edge in story.unmet if edge in at],
    }


def _script_json(data: Any) -> Markup:
    """Return JSON that can stand in a script element: whatever a name holds, it does not end the element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)  # noqa: S704 - no sign in it means anything to HTML


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("comity.report", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["sentence"] = lambda text: text[:1].upper() + text[1:]
    return environment


def _asset(name: str) -> Markup:
    return Markup(files("comity.report").joinpath("assets", name).read_text("utf-8"))  # noqa: S704 - our own
