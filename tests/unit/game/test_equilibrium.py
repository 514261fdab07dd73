"""find_equilibrium: graphs, games and functions, the result, and what it refuses."""

import numpy as np
import pytest

from comity import BenefitGraph, Game, InputError, find_equilibrium
from comity.game.equilibrium import stable_coalitions

GRAPH = BenefitGraph({"a": ["b"], "b": ["a"], "c": ["a"]})


def test_the_contents_of_an_equilibrium() -> None:
    found = find_equilibrium(GRAPH)
    assert found.coalitions == ({"a", "b"}, {"c"})
    assert found.coalition_of("c") == {"c"}
    assert found.peel_number_of("c") == 1
    assert len(found.peels) == 2
    assert found.peels[-1].remaining == ("c",)
    assert [peel.number for peel in found.peels[:]] == [0, 1]
    assert found.peels[0].asked == ("a", "b", "c")
    assert found.peels[1].asked == ()
    assert [str(wish) for wish in found.unmet] == ["c wanted a; a gains nothing from c"]
    assert repr(found) == "Equilibrium({a, b}, {c})"
    assert repr(found.peels[0]) == "<Peel 0: {a, b} left>"
    assert found.coalition(-1) == {"c"}
    for beyond in (found.peels.__getitem__, found.coalition, found.members):
        with pytest.raises(IndexError):
            beyond(2)
    with pytest.raises(InputError, match="unknown client 'x'"):
        found.coalition_of("x")


def test_as_a_dictionary() -> None:
    assert find_equilibrium(GRAPH).to_dict() == {
        "clients": ["a", "b", "c"],
        "coalitions": [{"members": ["a", "b"], "peel": 1}, {"members": ["c"], "peel": 2}],
        "unmet": [{"client": "c", "collaborator": "a", "peel": 1}],
        "peels": [
            {"peel": 1, "wishes": {"a": ["b"], "b": ["a"], "c": ["a"]}, "left": [["a", "b"]]},
            {"peel": 2, "wishes": {}, "left": [["c"]]},
        ],
    }


def test_a_long_chain() -> None:
    """Each wants the one before: as many peels as clients, and none of them costs more than itself."""
    size = 20_000
    names = [f"c{number}" for number in range(size)]
    found = find_equilibrium(BenefitGraph.from_edges(names, np.arange(size - 1), np.arange(1, size)))
    assert len(found.peels) == size
    assert found.coalitions == tuple(frozenset([name]) for name in names)
    assert found.peels[size - 2].remaining == (names[-2], names[-1])
    assert len(found.unmet) == size - 1


def test_a_long_chain_by_oracle() -> None:
    size = 1_000
    before = {f"c{number}": f"c{number - 1}" for number in range(size)}
    found = find_equilibrium(before, lambda i, remaining: remaining & {before[i]})
    assert len(found.peels) == size
    assert [peel.asked for peel in found.peels[1:]] == [(f"c{number}",) for number in range(1, size)]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (["x"], "the collaborators of 'a', as given by collaborators_of: unknown client 'x'"),
        ("b", "must be a list of clients, not 'b'"),
        (None, "must be a list of clients, not None"),
        ([1], "must be text"),
    ],
)
def test_an_oracle_that_returns_nonsense_is_refused(answer: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        find_equilibrium(["a", "b"], lambda client, remaining: answer)


def test_an_oracle_that_returns_a_client_that_has_left_is_refused() -> None:
    with pytest.raises(InputError, match="'a' has left already; name only members of remaining"):
        find_equilibrium(["a", "b"], lambda client, remaining: ["a"])


def test_bad_calls_are_refused() -> None:
    with pytest.raises(InputError, match="not both"):
        find_equilibrium(GRAPH, lambda client, remaining: [])
    with pytest.raises(InputError, match="not both"):
        find_equilibrium(Game([("a", ["a"], 1)]), lambda client, remaining: [])
    with pytest.raises(InputError, match="needs a BenefitGraph"):
        find_equilibrium(["a"])
    with pytest.raises(InputError, match="needs a BenefitGraph"):
        find_equilibrium(["a"], {"a": []})
    with pytest.raises(InputError, match="those of a BenefitGraph"):
        stable_coalitions({"a": []})
    with pytest.raises(InputError, match="listed twice"):
        find_equilibrium(["a", "a"], lambda client, remaining: [])
    with pytest.raises(InputError, match="no clients"):
        find_equilibrium([], lambda client, remaining: [])


def test_a_mapping_is_taken_as_a_graph() -> None:
    assert find_equilibrium({"a": ["b"], "b": ["a"], "c": ["a"]}) == find_equilibrium(GRAPH)


def test_a_large_game_without_ties_is_solved() -> None:
    names = [f"c{number}" for number in range(300)]
    ring = [(name, [name, names[place - 1]], 1.0) for place, name in enumerate(names)]
    game = Game([*((name, [name], 0.0) for name in names), *ring])
    assert find_equilibrium(game).coalitions == (frozenset(names),)


def test_an_equilibrium_cannot_be_changed() -> None:
    found = find_equilibrium(GRAPH)
    for array in (found.numbers, found.peel_of, found.wishes.asker):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
