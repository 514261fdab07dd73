"""Drawing a decision into files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from comity.core import BenefitGraph, Coalition, InputError, OutputError, shown
from comity.core.optional import require
from comity.drawing.groups import Edges, Groups
from comity.drawing.widths import Edge, check_weights
from comity.files import writing
from comity.peels import Equilibrium

if TYPE_CHECKING:
    from comity.drawing.sheet import Sheet

FIGURES = ("benefit-graph", "components", "equilibrium")
FORMATS = ("svg", "png", "pdf")
_MOST_CLIENTS = 60
_MOST_ARROWS = 300  # more of them cannot be told apart


def draw(
    graph: BenefitGraph,
    directory: str | os.PathLike[str],
    *,
    name: str = "",
    formats: Iterable[str] = ("svg",),
    equilibrium: Equilibrium | Iterable[Coalition] | None = None,
    weights: Mapping[Edge, float] | None = None,
) -> tuple[Path, ...]:
    """Draw the benefit graph, its strongly connected components and the equilibrium, and return the files.

    These are ``benefit-graph``, ``components`` and ``equilibrium`` in each of the `formats` (svg, png, pdf); with a
    `name`, it stands before these, and a dash. The equilibrium is what follows from the graph, unless another is
    given, or only its coalitions. With `weights` of edges (collaborator, client), arrows are the broader the more.

    An arrow goes from a collaborator to the client that wants it. Of many clients a picture of cells is drawn, a row
    for each. In SVG everything has an identifier: ``client:a``, ``edge:a→b``, ``coalition:1:a,b``, with names escaped
    as in addresses.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     [file.name for file in draw(BenefitGraph({"a": ["b"], "b": ["a"], "c": ["a"]}), place)]
    ['benefit-graph.svg', 'components.svg', 'equilibrium.svg']
    """
    wanted = _check(graph, directory, name, formats)
    check_weights(weights)
    require("matplotlib", "to draw figures")
    from comity.drawing.sheet import settings

    components = Groups.components(graph)
    coalitions = Groups.coalitions(graph, equilibrium)
    with settings():
        sheets = _sheets(graph, components, coalitions, weights)
        made = {
            f"{name}-{figure}.{ending}" if name else f"{figure}.{ending}": sheet.render(ending)
            for figure, sheet in sheets.items()
            for ending in wanted
        }
    place = Path(directory)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{place}: cannot be written into ({error.strerror or error})") from None
    for file, content in made.items():
        with writing(place / file) as opened:
            opened.write(content)
    return tuple(place / file for file in made)


def _sheets(
    graph: BenefitGraph, components: Groups, coalitions: Groups, weights: Mapping[Edge, float] | None
) -> dict[str, Sheet]:
    """Return the figures by name, as arrows or, of much, as cells."""
    from comity.drawing.benefit_graph import draw_benefit_graph
    from comity.drawing.coalitions import draw_coalitions
    from comity.drawing.components import draw_components
    from comity.drawing.matrix import draw_matrix

    def much(*edges: Edges) -> bool:
        return len(graph) > _MOST_CLIENTS or sum(len(ends[0]) for ends in edges) > _MOST_ARROWS

    drawn = (
        draw_matrix(components, "Benefit graph")
        if much(components.inside, components.across)
        else draw_benefit_graph(graph, components, weights),
        draw_matrix(components, "Strongly connected components of the benefit graph", "component")
        if much(components.across)
        else draw_components(components, weights),
        draw_matrix(coalitions, "Collaboration equilibrium", "coalition", coloured=True)
        if much(coalitions.inside, coalitions.across)
        else draw_coalitions(coalitions, weights),
    )
    for sheet in drawn:
        sheet.fit()
    return dict(zip(FIGURES, drawn, strict=True))


def _check(graph: object, directory: str | os.PathLike[str], name: str, formats: Iterable[str]) -> tuple[str, ...]:
    """Return the formats without repetition, having checked what was given."""
    if not isinstance(graph, BenefitGraph):
        raise InputError(f"what is drawn is a BenefitGraph, not {shown(graph)}; build one from who wants whom")
    if not os.fspath(directory):
        raise OutputError("the name of the directory to draw into is empty; give one")
    if name in (".", "..") or any(sign in name for sign in "/\\\0"):
        raise InputError(f"{shown(name)} cannot begin the name of a file; give a name without slashes")
    wanted = (formats,) if isinstance(formats, str) else tuple(dict.fromkeys(formats))
    for ending in wanted:
        if ending not in FORMATS:
            raise InputError(f"there is no format {shown(ending)} to draw in; there are {', '.join(FORMATS)}")
    if not wanted:
        raise InputError(f"there is no format to draw in; give one or several of {', '.join(FORMATS)}")
    return wanted
