"""JSON: an object of client → collaborators is a graph, a list of records is a game."""

import json
from typing import Any

from comity.core import BenefitGraph, FormatError, Game, InputError, shown


def parse_json(text: str) -> Any:
    """Return what a JSON text says; a key that stands twice in an object is an error, not silently the last."""
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        raise FormatError(f"line {error.lineno}, column {error.colno}: not valid JSON ({error.msg})") from None
    except InputError:
        raise
    except ValueError as error:  # a whole number of thousands of digits
        raise FormatError("a number has more digits than can be read; round it") from error
    except RecursionError:
        raise FormatError("the JSON is nested too deeply to be a graph or a game") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        double = next(key for key in keys if keys.count(key) > 1)
        raise InputError(f"{shown(double)} stands twice as a key of the same object; keep one")
    return made


def read_json(text: str) -> BenefitGraph | Game:
    """Read a graph such as ``{"a": ["b"], "b": []}``, or a game, a list of records.

    >>> read_json('{"a": ["b"], "b": []}')
    BenefitGraph({'a': ['b'], 'b': []})
    >>> read_json('[{"client": "a", "coalition": ["a"], "utility": 1}]')
    <Game: 1 clients, 1 utilities>
    """
    value = parse_json(text)
    if isinstance(value, dict):
        if "comity" in value and ({"schema", "coalitions"} <= value.keys() or "seal" in value):
            raise FormatError("this is a result of comity, not a graph or a game; give the file that it was made from")
        return BenefitGraph(value)
    if isinstance(value, list):
        return Game.from_records(value)
    raise FormatError(
        f"found {shown(value)}; expected an object of client → list of collaborators (a graph), "
        "or a list of records with client, coalition and utility (a game)"
    )


def write_json(graph: BenefitGraph) -> str:
    """Write a graph as an object of client → collaborators.

    >>> print(write_json(BenefitGraph({"a": ["b"], "b": []})), end="")
    {
     "a": [
      "b"
     ],
     "b": []
    }
    """
    return json.dumps(graph.to_dict(), ensure_ascii=False, indent=1) + "\n"


def write_game(game: Game) -> str:
    """Write a game as a list of records, one on a line."""
    records = ",\n ".join(json.dumps(record, ensure_ascii=False) for record in game.records())
    return f"[\n {records}\n]\n"
