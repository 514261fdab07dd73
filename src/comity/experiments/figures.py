"""Figures of what was decided in an experiment (paper, Figures 4 to 6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from comity.core import BenefitGraph, Coalition
from comity.drawing import draw
from comity.equilibrium import replay_peels
from comity.experiments.cells import Cell
from comity.experiments.running import Tell
from comity.peels import Equilibrium

FIGURES = "figures"


def draw_figures(cells: Sequence[Cell], out: str | Path, tell: Tell) -> tuple[Path, ...]:
    """Draw the benefit graph, its components and the coalitions of every cell that found some, and return the files.

    These are in a directory of their own in `out`, named by method and seed, and by the side of a table with two.
    """
    told = decisions(cells)
    made: list[Path] = []
    for number, (cell, side, name) in enumerate(told):
        tell(f"figures ({name})", number, len(told))
        graph, equilibrium = decided(cell, side)
        made += draw(graph, Path(out) / FIGURES, name=name, equilibrium=equilibrium)
    return tuple(made)


def decisions(cells: Sequence[Cell]) -> list[tuple[Cell, str, str]]:
    """Return what tells of coalitions: a cell, the side of its table, and a name by side, method and seed."""
    told = [cell for cell in cells if not cell.method.startswith(("spo", "alone"))]  # these have those of ce
    return [
        (cell, side, "-".join(filter(None, [side, cell.method, str(cell.seed)])))
        for cell in told
        for side in _sides(cell)
    ]


def decided(cell: Cell, side: str = "") -> tuple[BenefitGraph, Equilibrium | list[Coalition]]:
    """Return the benefit graph that a cell tells of, and the equilibrium; of older cells, only the coalitions.

    >>> story = {"edges": [["a", "b"]], "coalitions": [["a"], ["b"]]}
    >>> decided(Cell("ce", 0, {"a": 1.0, "b": 1.0}, {}, 1.0, "…", story=story))[0]
    BenefitGraph({'a': [], 'b': ['a']})
    """
    before = f"{side} " if side else ""
    story = {key.removeprefix(before): each for key, each in cell.story.items() if key.startswith(before)}
    clients = [client.removeprefix(before) for client in cell.values if client.startswith(before)]
    wishes: dict[str, list[str]] = {client: [] for client in clients}
    for giver, taker in story["edges"]:
        wishes[taker].append(giver)
    return BenefitGraph(wishes), _equilibrium(story)


def _equilibrium(story: dict[str, Any]) -> Equilibrium | list[Coalition]:
    if "equilibrium" in story:
        return replay_peels(story["equilibrium"])
    return [frozenset(each) for each in story["coalitions"]]


def _sides(cell: Cell) -> Iterator[str]:
    """Yield the sides that have a story with edges; no name, if there is but one."""
    for key in cell.story:
        side, _, what = key.rpartition(" ")
        if what == "edges":
            yield side
