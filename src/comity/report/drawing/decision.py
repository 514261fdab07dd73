"""Drawing a decision and writing the files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from comity.core.extras import require
from comity.core.files import open_atomic
from comity.core.names import shown
from comity.errors import InputError, OutputError
from comity.game.graph import BenefitGraph
from comity.report.drawing.arrows import Weights, check_weights
from comity.report.drawing.groups import Edges, Groups, Partition

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from comity.report.drawing.sheet import Sheet

FIGURES = ("benefit-graph", "components", "equilibrium")
FORMATS = ("svg", "png", "pdf")
# With more clients or arrows than these, nobody can tell the arrows apart: a matrix is drawn instead.
_MAX_CLIENTS, _MAX_ARROWS = 60, 300


def draw(
    graph: BenefitGraph,
    directory: str | os.PathLike[str],
    *,
    name: str = "",
    formats: Iterable[str] = ("svg",),
    equilibrium: Partition = None,
    weights: Weights = None,
) -> tuple[Path, ...]:
    """Draw the benefit graph, its strongly connected components and the equilibrium into files.

    An arrow goes from a collaborator to the client that wants it. With many clients, a matrix with a row for each
    client is drawn instead. In SVG files every element has an identifier, such as ``client:a``, ``edge:a→b`` or
    ``coalition:1:a,b``, with names escaped as in URLs. See Figures 4 to 6 of the paper.

    Args:
        graph: The benefit graph.
        directory: Where the files are written; it is created if it does not exist.
        name: A prefix for the file names, separated by a dash.
        formats: One or several of svg, png and pdf.
        equilibrium: The equilibrium to draw, or only its coalitions; by default, the equilibrium of the graph.
        weights: The contribution of each edge (collaborator, client); larger ones are drawn as wider arrows.

    Returns:
        The paths of ``benefit-graph``, ``components`` and ``equilibrium``, in each format.

    Raises:
        InputError: An argument is invalid, or the coalitions do not fit the graph.
        MissingDependencyError: matplotlib is not installed.
        OutputError: The directory cannot be written to.

    >>> import tempfile
    >>> graph = BenefitGraph({"a": ["b"], "b": ["a"], "c": ["a"]})
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     [file.name for file in draw(graph, directory)]
    ['benefit-graph.svg', 'components.svg', 'equilibrium.svg']
    """
    endings = _check(graph, directory, name, formats)
    prefix = f"{name}-" if name else ""
    drawn = {
        f"{prefix}{figure}.{ending}": sheet.render(ending)
        for figure, sheet in _draw_sheets(graph, equilibrium, weights).items()
        for ending in endings
    }
    place = Path(directory)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{place}: cannot be written to ({error.strerror or error})") from None
    for file, content in drawn.items():
        with open_atomic(place / file) as opened:
            opened.write(content)
    return tuple(place / file for file in drawn)


def plot(graph: BenefitGraph, equilibrium: Partition = None, weights: Weights = None) -> Figure:
    """Draw the coalitions, and who is a collaborator of whom, as a matplotlib figure, with arguments as in `draw`."""
    return _draw_sheets(graph, equilibrium, weights)["equilibrium"].figure


def _draw_sheets(graph: BenefitGraph, equilibrium: Partition, weights: Weights) -> dict[str, Sheet]:
    """Return the drawings by name: with arrows, or as a matrix if there are too many."""
    check_weights(weights)
    require("matplotlib", "to draw figures")
    from comity.report.drawing.graph_figures import draw_benefit_graph, draw_coalitions, draw_components
    from comity.report.drawing.matrix import draw_matrix
    from comity.report.drawing.sheet import settings

    components, coalitions = Groups.components(graph), Groups.coalitions(graph, equilibrium)

    def too_many(*edges: Edges) -> bool:
        return len(graph) > _MAX_CLIENTS or sum(len(ends[0]) for ends in edges) > _MAX_ARROWS

    with settings():
        sheets = (
            draw_matrix(components, "Benefit graph")
            if too_many(components.inside, components.across)
            else draw_benefit_graph(graph, components, weights),
            draw_matrix(components, "Strongly connected components of the benefit graph", "component")
            if too_many(components.across)
            else draw_components(components, weights),
            draw_matrix(coalitions, "Collaboration equilibrium", "coalition", coloured=True)
            if too_many(coalitions.inside, coalitions.across)
            else draw_coalitions(coalitions, weights),
        )
        for sheet in sheets:
            sheet.fit()
    return dict(zip(FIGURES, sheets, strict=True))


def _check(graph: object, directory: str | os.PathLike[str], name: str, formats: Iterable[str]) -> tuple[str, ...]:
    """Check the arguments, and return the formats without repetition."""
    if not isinstance(graph, BenefitGraph):
        raise InputError(
            f"graph must be a BenefitGraph, not {shown(graph)}; build one from the collaborators of each client"
        )
    if not os.fspath(directory):
        raise OutputError("the name of the directory to draw into is empty; give one")
    if name in (".", "..") or any(character in name for character in "/\\\0"):
        raise InputError(f"a file name cannot begin with {shown(name)}; give a name without slashes")
    endings = (formats,) if isinstance(formats, str) else tuple(dict.fromkeys(formats))
    for ending in endings:
        if ending not in FORMATS:
            raise InputError(f"unknown format {shown(ending)}; the formats are {', '.join(FORMATS)}")
    if not endings:
        raise InputError(f"formats is empty; give one or several of {', '.join(FORMATS)}")
    return endings
