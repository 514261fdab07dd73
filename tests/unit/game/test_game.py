"""Game: maximal utilities, collaborators, ties, and what it refuses."""

import math
from pathlib import Path

import pytest

from comity import BenefitGraph, Game, InputError, find_equilibrium
from support.games import game_with_tie

A, B, C = ("a", ["a"], 1.0), ("b", ["b"], 1.0), ("c", ["c"], 1.0)


def test_maximum_is_over_parts_that_hold_the_client() -> None:
    game = Game([A, B, ("c", ["c"], 5), ("a", ["a", "b"], 3), ("a", ["a", "b", "c"], 2)])
    assert game.maximal_utility("a", {"a"}) == 1
    assert game.maximal_utility("a", {"a", "c"}) == 1
    assert game.maximal_utility("a", {"a", "b", "c"}) == 3
    assert game.utility("a", ["b", "a", "c"]) == 2
    assert game.collaborators_of("a") == {"a", "b"}
    assert game.collaborators_of("a", ["a", "c"]) == {"a"}
    with pytest.raises(InputError, match="does not record"):
        game.utility("b", ["a", "b"])
    with pytest.raises(InputError, match="not in"):
        game.maximal_utility("a", {"b"})
    with pytest.raises(InputError, match="unknown client 'x'"):
        game.maximal_utility("x", {"x"})


def test_ties_go_to_the_fewest_and_then_to_the_first() -> None:
    game = Game([("a", ["a", "b", "c"], 2), ("a", ["a", "c"], 2), ("a", ["a", "b"], 2), A, ("c", ["c"], 1), B])
    assert game.clients == ("a", "c", "b")
    assert game.collaborators_of("a") == {"a", "c"}
    assert game.best_sets("a") == ({"a", "c"}, {"a", "b"})
    assert game.collaborators_of("a", ["a", "b"]) == {"a", "b"}


def test_no_gain_means_alone() -> None:
    game = Game([A, B, ("a", ["a", "b"], 1.0)])
    assert game.collaborators_of("a") == {"a"}
    assert game.best_sets("a") == ({"a"},)


def test_a_tie_does_not_bind_clients_that_could_leave() -> None:
    """By the rule for ties i wants a, which closes a ring of three; but i and b could leave without loss."""
    game = game_with_tie("i")
    assert game.collaborators_of("i") == {"i", "a"}
    assert game.settle(["i", "a", "b"]) == {"i": {"i", "b"}, "b": {"b", "i"}}
    found = find_equilibrium(game)
    assert found.coalitions == ({"i", "b"}, {"a"})
    assert found.collaborators_of("i") == {"i", "b"}
    assert [(w.client, w.collaborator) for w in found.unmet] == [("a", "b")]


def test_records_make_an_equal_game(tmp_path: Path) -> None:
    game = Game([A, B, ("a", ["b", "a"], 3)])
    assert Game(game.records()) == game
    game.save(tmp_path / "game.json")
    assert Game.load(tmp_path / "game.json") == game
    with pytest.raises(InputError, match="a game is written to"):
        game.save(tmp_path / "game.csv")
    with pytest.raises(InputError, match="a graph is needed"):
        BenefitGraph.load(tmp_path / "game.json")
    assert repr(game) == "<Game: 2 clients, 3 utilities>"


def test_the_same_record_twice_is_harmless() -> None:
    assert len(list(Game([A, A, {"client": "a", "coalition": ["a", "a"], "utility": 1}]).records())) == 1


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([], "no records"),
        ([A, ("b", ["a", "b"], 1)], "'b' has no utility alone"),
        ([A, ("a", ["a", "b"], 1)], "unknown client 'b'"),
        ([A, B, ("a", ["b"], 1)], "record 3: the coalition .* lacks its client 'a'"),
        ([A, ("a", [], 1)], "lacks its client"),
        ([("a", ["a"], math.nan)], "record 1: the utility of 'a' is nan; it must be a finite number"),
        ([("a", ["a"], math.inf)], "finite"),
        ([("a", ["a"], 10**400)], "finite"),
        ([("a", ["a"], "0.5")], "must be a number"),
        ([("a", ["a"], None)], "must be a number"),
        ([("a", ["a"], True)], "must be a number"),
        ([A, ("a", ["a"], 2)], "earlier record gives 1.0"),
        ([("a", "a", 1)], "must be a list"),
        ([("", [""], 1)], "record 1: .*empty name"),
        ([{"client": "a", "coalition": ["a"]}], "record 1 has no 'utility'"),
        ([("a", ["a"])], "expected client, coalition and utility"),
        ([7], "record 1 is 7"),
        (None, "a list of records, not from None"),
        ({"a": 1}, "a list of records"),
    ],
)
def test_bad_records_are_refused(records: list, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Game(records)
