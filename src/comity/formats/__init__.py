"""Graphs and games in files. The ending of a name tells the format; to add one, write a module and a line here."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from comity.core import BenefitGraph, FormatError, Game, InputError
from comity.formats.edge_list import read_edge_list, write_edge_list
from comity.formats.graphml import read_graphml, write_graphml
from comity.formats.json_text import read_json, write_json
from comity.formats.text import read_text, write_text

READERS: dict[str, Callable[[str], BenefitGraph | Game]] = {
    ".json": read_json,
    ".csv": read_edge_list,
    ".graphml": read_graphml,
}
WRITERS: dict[str, Callable[[BenefitGraph], str]] = {
    ".json": write_json,
    ".csv": write_edge_list,
    ".graphml": write_graphml,
}


def load(path: str | os.PathLike[str]) -> BenefitGraph | Game:
    """Read a graph or a game from a file; every error names the file."""
    file = Path(path)
    reader = READERS.get(file.suffix.lower())
    text = read_text(file)
    if reader is None:
        raise FormatError(f"{file}: {_endings(file)}")
    try:
        return reader(text)
    except InputError as error:
        raise FormatError(f"{file}: {error}") from None


def load_graph(path: str | os.PathLike[str]) -> BenefitGraph:
    """Read a graph from a file."""
    loaded = load(path)
    if not isinstance(loaded, BenefitGraph):
        raise FormatError(f"{path}: this is a game, not a graph; read it with Game.load")
    return loaded


def load_game(path: str | os.PathLike[str]) -> Game:
    """Read a game from a file."""
    loaded = load(path)
    if not isinstance(loaded, Game):
        raise FormatError(f"{path}: this is a graph, not a game; read it with BenefitGraph.load")
    return loaded


def save_graph(graph: BenefitGraph, path: str | os.PathLike[str]) -> None:
    """Write a graph to a file, whole or not at all."""
    file = Path(path)
    writer = WRITERS.get(file.suffix.lower())
    if writer is None:
        raise InputError(f"{file}: {_endings(file)}")
    write_text(file, writer(graph))


def _endings(file: Path) -> str:
    return f"the name ends in {file.suffix or 'nothing'!r}; expected one of {', '.join(READERS)}"


__all__ = ["READERS", "WRITERS", "load", "load_game", "load_graph", "save_graph"]
