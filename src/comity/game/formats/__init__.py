"""Graphs and games in files. The ending of a file's name gives its format; a new format is a module and a line here."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from comity.core.files import decode, read_text, write_text
from comity.errors import FormatError, InputError
from comity.game.formats.edge_list import read_edge_list, write_edge_list
from comity.game.formats.graphml import read_graphml, write_graphml
from comity.game.formats.json_text import read_json, write_game, write_json
from comity.game.game import Game
from comity.game.graph import BenefitGraph

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
    """Read a graph or a game from a file; error messages begin with its name."""
    text = read_text(path)
    reader = READERS.get(Path(path).suffix.lower())
    if reader is None:
        raise FormatError(_unknown_ending(path))
    return _read(reader, text, str(path))


def load_from(stream: BinaryIO) -> BenefitGraph | Game:
    """Read a graph or a game from standard input; the first character gives the format."""
    name = "standard input"
    text = decode(stream.read(), name)
    ending = {"{": ".json", "[": ".json", "<": ".graphml"}.get(text.lstrip()[0], ".csv")
    return _read(READERS[ending], text, name)


def _read(reader: Callable[[str], BenefitGraph | Game], text: str, name: str) -> BenefitGraph | Game:
    try:
        return reader(text)
    except InputError as error:
        raise FormatError(f"{name}: {error}") from None


def save_graph(graph: BenefitGraph, path: str | os.PathLike[str]) -> None:
    """Write a graph to a file, completely or not at all."""
    writer = WRITERS.get(Path(path).suffix.lower())
    if writer is None:
        raise InputError(_unknown_ending(path))
    write_text(path, writer(graph))


def save_game(game: Game, path: str | os.PathLike[str]) -> None:
    """Write a game to a JSON file, completely or not at all."""
    if Path(path).suffix.lower() != ".json":
        raise InputError(f"{path}: a game is written to a file whose name ends in .json")
    write_text(path, write_game(game))


def _unknown_ending(path: str | os.PathLike[str]) -> str:
    suffix = Path(path).suffix
    ending = f"the name ends in {suffix!r}" if suffix else "the name has no ending"
    return f"{path}: {ending}; expected one of {', '.join(READERS)}"
