"""certify: verdicts, margins, tolerance, utilities that are not maximal, and what it refuses."""

import json

import pytest

from comity import BenefitGraph, Game, InputError, certify, find_equilibrium
from comity.core.names import Coalition
from comity.game.axioms import Witness
from comity.game.certificate import Verdict
from comity.research.datasets.paper import figure_1
from support.games import game_with_tie

GAME = Game(
    [
        ("a", ["a"], 0.6), ("a", ["a", "b"], 0.8),
        ("b", ["b"], 0.7), ("b", ["a", "b"], 0.9),
        ("c", ["c"], 0.5), ("c", ["a", "c"], 0.6),
    ]
)  # fmt: skip


def test_margins_are_kept() -> None:
    certificate = certify(find_equilibrium(GAME), GAME)
    assert certificate.proved
    assert certificate.by_peels
    assert certificate.order == ({"a", "b"}, {"c"})
    assert {o.client: (o.among, o.utility, o.best, o.margin) for o in certificate.outer} == {
        "a": ({"a", "b", "c"}, 0.8, 0.8, 0.0),
        "b": ({"a", "b", "c"}, 0.9, 0.9, 0.0),
        "c": ({"c"}, 0.5, 0.5, 0.0),
    }
    assert {i.client: (i.without, i.utility, i.reduced) for i in certificate.inner} == {
        "a": ({"b"}, 0.8, 0.6),
        "b": ({"a"}, 0.9, 0.7),
    }
    assert certificate.inner[0].margin == pytest.approx(0.2)
    assert json.loads(json.dumps(certificate.to_dict()))["verdict"] == "proved"


def test_a_part_that_can_leave() -> None:
    certificate = certify([["a", "b", "c"]], GAME)
    assert certificate.verdict is Verdict.REFUTED
    assert [(w.axiom, set(w.members)) for w in certificate.witnesses] == [("inner", {"a", "b"})]
    assert str(certificate) == "refuted: {a, b} can leave their coalition without loss"


def test_a_rival_coalition() -> None:
    certificate = certify([["a"], ["b", "c"]], GAME)
    assert certificate.verdict is Verdict.REFUTED
    axioms = {w.axiom: set(w.members) for w in certificate.witnesses}
    assert axioms["outer"] == {"a", "b"}
    assert axioms["inner"] < {"b", "c"}


def test_the_smallest_rival_is_shown() -> None:
    """Two pairs would gain, and so would all four together; a pair is the clearest witness."""
    pairs = {"a": "b", "b": "a", "c": "d", "d": "c"}
    certificate = certify([[i] for i in pairs], lambda i, coalition: float(pairs[i] in coalition))
    assert [set(w.members) for w in certificate.witnesses] == [{"a", "b"}]


def test_an_equilibrium_that_peeling_does_not_give() -> None:
    """a wants b, b wants c, c wants a: peeling puts all together, and yet {a, b}, {c} breaks no axiom.

    b would gain by c, and c by a, but a gains by nobody: clients go one at a time, a first, though no coalition can.
    """
    value = {("a", "b"): 1, ("b", "a"): 1, ("b", "c"): 2, ("c", "a"): 1}

    def utility(i: str, coalition: Coalition) -> float:
        return max((value.get((i, j), 0) for j in coalition), default=0)

    certificate = certify([["a", "b"], ["c"]], utility)
    assert certificate.proved
    assert not certificate.by_peels
    assert certificate.order == ()
    assert "orders single clients" in certificate.notes[0]
    assert certify([["a", "b"], ["c"]], utility, exhaustive=True).proved
    assert certify([["a", "b", "c"]], utility).by_peels


def test_ties_inside_a_coalition_are_noted_and_decided() -> None:
    """i does equally well with a or b; a needs b; b needs a and i. No part can leave, though i needs neither."""
    game = game_with_tie("a", "i")
    found = find_equilibrium(game)
    assert found.coalitions == ({"i", "a", "b"},)
    certificate = certify(found, game)
    assert certificate.proved
    assert not certificate.by_peels
    assert certificate.notes == ("i does as well without a: another best set exists",)
    assert any(len(inequality.without) > 1 for inequality in certificate.inner)


def test_tolerance_makes_small_differences_none() -> None:
    game = Game([("a", ["a"], 0.5), ("a", ["a", "b"], 0.5001), ("b", ["b"], 0.5), ("b", ["a", "b"], 0.6)])
    assert certify([["a", "b"]], game).proved
    assert certify([["a"], ["b"]], game).verdict is Verdict.REFUTED
    assert certify([["a", "b"]], game, tolerance=0.001).verdict is Verdict.REFUTED
    assert certify([["a"], ["b"]], game, tolerance=0.001).proved
    for tolerance in (0.0, 0.001):
        for partition in ([["a", "b"]], [["a"], ["b"]]):
            short = certify(partition, game, tolerance=tolerance)
            assert short.verdict is certify(partition, game, tolerance=tolerance, exhaustive=True).verdict


def test_a_utility_that_is_not_maximal_proves_nothing() -> None:
    def crowded(i: str, coalition: Coalition) -> float:
        return -len(coalition)

    certificate = certify([["a"], ["b"]], crowded)
    assert certificate.verdict is Verdict.UNDECIDED
    assert str(certificate).startswith("undecided: the utility is not maximal: a has -1 with {a} and -2 with {a, b}")
    exhaustive = certify([["a"], ["b"]], crowded, exhaustive=True)
    assert exhaustive.verdict is Verdict.PROVED
    assert "the largest over all subsets was taken" in exhaustive.notes[0]
    assert certify([["a", "b"]], crowded, exhaustive=True).verdict is Verdict.REFUTED


def test_a_fall_inside_a_coalition_shows_that_a_utility_is_not_maximal() -> None:
    """With everybody a does best; but alone it does better than in its own coalition."""
    value = {frozenset("a"): 0.5, frozenset("ab"): 0.4, frozenset("abc"): 0.9}
    certificate = certify([["a", "b"], ["c"]], lambda i, coalition: value.get(coalition, 0.4) if i == "a" else 0.0)
    assert certificate.verdict is Verdict.UNDECIDED
    assert "a has 0.5 with {a} and 0.4 with {a, b}" in certificate.notes[0]


def test_rounding_is_no_contradiction_but_a_fall_below_the_tolerance_is() -> None:
    value = {1: 0.1 + 0.2, 2: 0.3, 3: 0.3}
    assert certify([["a"], ["b"], ["c"]], lambda i, coalition: value[len(coalition)]).proved
    falling = {1: 0.0, 2: 0.015, 3: 0.008}
    certificate = certify([["a", "b"], ["c"]], lambda i, coalition: falling[len(coalition)], tolerance=0.01)
    assert certificate.verdict is Verdict.UNDECIDED


def test_exhaustive_counts_what_it_tried() -> None:
    assert certify([["a", "b"], ["c"]], GAME, exhaustive=True).evaluations == 3 * 4


def test_exhaustive_takes_at_most_twelve() -> None:
    with pytest.raises(InputError, match="at most 12 clients and there are 13"):
        certify([[str(i) for i in range(13)]], lambda i, coalition: 0.0, exhaustive=True)


def test_a_witness_is_checked_by_definition() -> None:
    partition = [["a", "b"], ["c"]]
    utility = GAME.maximal_utility
    assert not Witness("outer", ("a", "c"), {}, {}).holds(partition, utility)
    assert not Witness("inner", ("a",), {}, {}).holds(partition, utility)
    assert not Witness("inner", ("a", "b"), {}, {}).holds(partition, utility), "a whole coalition is no part of it"
    assert not Witness("outer", (), {}, {}).holds(partition, utility)
    assert Witness("inner", ("a", "b"), {}, {}).holds([["a", "b", "c"]], utility)


def test_a_utility_that_is_not_a_function_is_refused() -> None:
    asked = set()

    def fickle(i: str, coalition: Coalition) -> float:
        first = (i, coalition) not in asked
        asked.add((i, coalition))
        return float(first and len(coalition) > 1)

    with pytest.raises(InputError, match="different values when asked twice"):
        certify([["a"], ["b"]], fickle)


@pytest.mark.parametrize(
    ("partition", "message"),
    [
        ([], "the partition has no coalition"),
        ("abc", "a list of coalitions"),
        ({"a": ["b"]}, "a list of coalitions"),
        (3, "a list of coalitions"),
        (["ab", "c"], "must be a list of clients, not 'ab'"),
        ([["a", "b"], ["b", "c"]], "'b' is in two coalitions"),
        ([["a", "b"], ["c"], []], "coalition 3 is empty"),
        ([["a", "b"]], "client 'c' is in no coalition"),
        ([["a", "b"], ["c", "x"]], "unknown client 'x'"),
        ([["a", 1]], "must be text"),
    ],
)
def test_bad_partitions_are_refused(partition: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        certify(partition, GAME)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "1", None])
def test_bad_utilities_are_refused(value: object) -> None:
    with pytest.raises(InputError, match=r"the utility of 'a' with \['a', 'b'\] is .*; it must be"):
        certify([["a"], ["b"]], lambda i, coalition: value if len(coalition) == 2 else 0.0)


@pytest.mark.parametrize("value", [float("nan"), "1", None])
def test_bad_utilities_are_refused_when_every_subset_is_tried(value: object) -> None:
    with pytest.raises(InputError, match=r"the utility of 'a' with \['a'\] is .*; it must be"):
        certify([["a"], ["b"]], lambda i, coalition: value, exhaustive=True)


def test_a_utility_must_be_a_function_or_a_game() -> None:
    for utility in ({"a": 1}, BenefitGraph({"a": []})):
        with pytest.raises(InputError, match="must be a Game or a function"):
            certify([["a"]], utility)


def test_many_clients_are_refuted_in_reasonable_time() -> None:
    """All would gain by joining, and only all together: the witness is everybody, found without n³ questions."""
    names = [f"c{number}" for number in range(120)]
    before = {name: names[place - 1] for place, name in enumerate(names)}
    certificate = certify([[i] for i in names], lambda i, coalition: float(before[i] in coalition))
    assert certificate.witnesses[0].members == tuple(names)
    assert certificate.evaluations < 30_000


@pytest.mark.parametrize("tolerance", [-1, float("nan"), "0"])
def test_bad_tolerances_are_refused(tolerance: object) -> None:
    with pytest.raises(InputError, match="the tolerance is"):
        certify([["a", "b"], ["c"]], GAME, tolerance=tolerance)


def test_an_equilibrium_saves_evaluations_by_naming_its_edges() -> None:
    game = figure_1()
    found = find_equilibrium(game)
    assert certify(found, game).evaluations < certify(found.coalitions, game).evaluations
