"""JSON: an object of client → collaborators is a graph, a list of records is a game."""

import json
from typing import Any

from comity.core.names import shown
from comity.errors import FormatError, InputError
from comity.game.game import Game
from comity.game.graph import BenefitGraph


def parse_json(text: str) -> Any:
    """Parse JSON text; a repeated key in an object is an error, where Python would silently keep the last one."""
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        raise FormatError(f"line {error.lineno}, column {error.colno}: not valid JSON ({error.msg})") from None
    except InputError:
        raise
    except ValueError as error:  # an integer with thousands of digits
        raise FormatError("a number has more digits than can be read; round it") from error
    except RecursionError:
        raise FormatError("the JSON is nested too deeply to be a graph or a game") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) < len(pairs):
        keys = [key for key, _ in pairs]
        double = next(key for key in keys if keys.count(key) > 1)
        raise InputError(f"the key {shown(double)} appears twice in the same object; keep one")
    return unique


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
            raise FormatError("this is a result of comity, not a graph or a game; give the file it was computed from")
        return BenefitGraph(value)
    if isinstance(value, list):
        return Game(value)
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
    """Write a game as a list of records, one on each line."""
    records = ",\n ".join(json.dumps(record, ensure_ascii=False) for record in game.records())
    return f"[\n {records}\n]\n"
