"""Figures of the benefit graphs and coalitions in an experiment (paper, Figures 4 to 6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from comity.core.progress import Progress
from comity.game.equilibrium import replay_peels
from comity.game.graph import BenefitGraph
from comity.game.peels import Equilibrium
from comity.report.drawing import draw
from comity.research.experiments.cells import Cell

FIGURES = "figures"


def draw_figures(cells: Sequence[Cell], out: str | Path, progress: Progress) -> tuple[Path, ...]:
    """Draw the benefit graph, its components and the coalitions of every cell with coalitions, and return the files.

    The files are in the directory ``figures`` in `out`. They are named by method and seed, and by side if the table has
    two.
    """
    found = decisions(cells)
    files: list[Path] = []
    for number, (cell, side, name) in enumerate(found):
        progress(f"figures ({name})", number, len(found))
        graph, equilibrium = read_decision(cell, side)
        files += draw(graph, Path(out) / FIGURES, name=name, equilibrium=equilibrium)
    return tuple(files)


def decisions(cells: Sequence[Cell]) -> list[tuple[Cell, str, str]]:
    """Return every cell with coalitions, the side of its table, and a name made of side, method and seed."""
    deciding = [cell for cell in cells if not cell.method.startswith(("spo", "alone"))]  # these have those of ce
    return [
        (cell, side, "-".join(filter(None, [side, cell.method, str(cell.seed)])))
        for cell in deciding
        for side in _sides(cell)
    ]


def read_decision(cell: Cell, side: str = "") -> tuple[BenefitGraph, Equilibrium]:
    """Return the benefit graph and the equilibrium in the details of a cell.

    >>> from comity import find_equilibrium
    >>> found = find_equilibrium(["a", "b"], lambda client, remaining: {"a", client} & remaining)
    >>> details = {"edges": [["a", "b"]], "equilibrium": found.to_dict()}
    >>> read_decision(Cell("ce", 0, {"a": 1.0, "b": 1.0}, {}, 1.0, "…", details=details))
    (BenefitGraph({'a': [], 'b': ['a']}), Equilibrium({a}, {b}))
    """
    prefix = f"{side} " if side else ""
    wishes: dict[str, list[str]] = {
        client.removeprefix(prefix): [] for client in cell.values if client.startswith(prefix)
    }
    for giver, taker in cell.details[f"{prefix}edges"]:
        wishes[taker].append(giver)
    return BenefitGraph(wishes), replay_peels(cell.details[f"{prefix}equilibrium"])


def _sides(cell: Cell) -> Iterator[str]:
    """Yield the sides whose details have edges; an empty name, if there is only one side."""
    for key in cell.details:
        side, _, name = key.rpartition(" ")
        if name == "edges":
            yield side
