"""The content of a report as one self-contained HTML file: no network, no server, no other file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from comity.core.text import format_number, places_for
from comity.report.axis import Axis
from comity.report.graph_shapes import group_clients, lay_out_graph
from comity.report.result_story import ClientStory
from comity.report.story import Dot, Story
from comity.report.words import capitalise, minus

# With more clients or arrows than these, nobody can tell the arrows apart: the matrix is shown first.
_MAX_CLIENTS_AS_GRAPH, _MAX_EDGES_AS_GRAPH = 60, 300
_MAX_EDGES_DRAWN = 5_000  # with more, there is only a matrix
MAX_EDGES = 100_000  # with more, browsers cannot open the page
_MAX_CELL, _MAX_MATRIX = 24.0, 900.0  # pixels: the side of a cell, and about the side of a matrix
_NUMBERED_CELL = 44.0  # pixels of a cell with a number in it
_MAX_CLIENTS_LABELLED = 80  # whose names fit beside a matrix
_MAX_LETTERS, _LETTER_WIDTH = 24, 7.5  # of a name beside a matrix; pixels
_AXIS_TITLE_WIDTH = 110.0  # pixels


@dataclass(frozen=True, slots=True)
class MatrixLayout:
    """The layout of a matrix of clients, in pixels: the side of a cell, the room for names, and the side of it all."""

    cell: float
    room: float
    side: float
    labelled: bool
    numbered: bool
    max_letters: int = _MAX_LETTERS

    @classmethod
    def around(cls, names: Sequence[str], *, with_numbers: bool = False) -> MatrixLayout:
        """Return the layout with a row and a column for each name, and numbers in the cells if there is room."""
        numbered = with_numbers and len(names) * _NUMBERED_CELL <= _MAX_MATRIX
        cell = _NUMBERED_CELL if numbered else max(3.0, min(_MAX_CELL, _MAX_MATRIX / len(names)))
        labelled = len(names) <= _MAX_CLIENTS_LABELLED
        room = 16.0 + (_LETTER_WIDTH * min(_MAX_LETTERS, max(map(len, names))) if labelled else 0.0)
        return cls(cell, room, room + max(cell * len(names), _AXIS_TITLE_WIDTH) + 30, labelled, numbered)


def render(story: Story) -> str:
    """Return the report as HTML; names are escaped, so that none can become markup."""
    edges, groups = story.edges, group_clients(story)
    place_of = {client: place for place, client in enumerate(story.names)}
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
        data=_data(story, edges, place_of),
        shapes=lay_out_graph(story, groups) if len(edges) <= _MAX_EDGES_DRAWN else None,
        looks=groups.looks,
        edges=edges,
        place_of=place_of,
        layout=MatrixLayout.around(story.names),
        heat_layout=MatrixLayout.around(story.names, with_numbers=True),
        matrix_first=len(story.names) > _MAX_CLIENTS_AS_GRAPH or len(edges) > _MAX_EDGES_AS_GRAPH,
        **_axis([dot for member in story.members for dot in member.dots]),
        given=given,
        received=received,
        number=lambda value: minus(format_number(value, places)),
        most=max(story.contributions.values(), default=0.0),
    )  # fmt: skip


def render_client_page(story: ClientStory) -> str:
    """Return a client's own page as HTML, which needs no script."""
    template = _environment().get_template("client.html")
    return template.render(story=story, style=_asset("report.css"), **_axis(story.member.dots))


def _axis(dots: Sequence[Dot]) -> dict[str, Any]:
    """Return the axis that these scores share, and whether any of them has an interval."""
    values = [value for dot in dots for value in (dot.value, dot.low, dot.high)]
    return {"axis": Axis.around(values), "intervals": any(dot.has_interval for dot in dots)}


def _data(story: Story, edges: tuple[tuple[str, str], ...], place_of: dict[str, int]) -> dict[str, Any]:
    """Return what the script needs; clients and edges are given by their positions."""
    position = {edge: place for place, edge in enumerate(edges)}
    coalition = {member.name: member.coalition - 1 for member in story.members}
    left = {number: step.number for step in story.steps for number in step.left}
    formed = {  # the wishes within a coalition in the step in which it left
        position[giver, receiver]
        for step in story.steps
        for giver, receiver in step.edges
        if coalition[giver] == coalition[receiver] and left[coalition[giver]] == step.number
    }
    return {
        "clients": list(story.names),
        "coalition": list(coalition.values()),
        "called": list(story.called),
        "edges": [[place_of[giver], place_of[receiver]] for giver, receiver in edges],
        "steps": [
            {
                "remaining": [place_of[client] for client in step.remaining],
                "asked": [place_of[client] for client in step.asked],
                "edges": [position[edge] for edge in step.edges],
                "left": list(step.left),
            }
            for step in story.steps
        ],
        "formed": sorted(formed),
        "unmet": [position[edge] for edge in story.unmet if edge in position],
    }


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("comity.report", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["sentence"] = capitalise
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    return environment


def _asset(name: str) -> Markup:
    return Markup(files("comity.report").joinpath("assets", name).read_text("utf-8"))  # noqa: S704 - files of this package
