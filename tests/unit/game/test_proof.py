"""The edges that are checked for inner agreement: all, or of very many as many as connect a coalition strongly."""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from comity import Game, certify, find_equilibrium
from comity.core.names import Coalition
from comity.game import proof
from comity.game.certificate import Verdict
from comity.game.peels import Equilibrium
from comity.game.proof import edges_to_check

MANY = [f"c{number:02}" for number in range(60)]


@dataclass(frozen=True)
class Wanted:
    """A single coalition, and whom each member wants."""

    wanted: Mapping[str, Coalition]

    @property
    def coalitions(self) -> tuple[Coalition, ...]:
        return (frozenset(self.wanted),)

    def collaborators_of(self, client: str) -> Coalition:
        return self.wanted[client]


def complete(clients: list[str]) -> Equilibrium:
    return find_equilibrium({client: [other for other in clients if other != client] for client in clients})


def is_connected(clients: list[str], edges: list[tuple[str, str]]) -> bool:
    place = {client: number for number, client in enumerate(clients)}
    ends = [place[j] for j, _ in edges], [place[i] for _, i in edges]
    graph = coo_array(([1.0] * len(edges), ends), shape=(len(clients), len(clients)))
    return bool(connected_components(graph.tocsr(), connection="strong")[0] == 1)


graphs = st.integers(2, 8).flatmap(
    lambda count: st.fixed_dictionaries(
        {letter: st.frozensets(st.sampled_from("abcdefgh"[:count])) for letter in "abcdefgh"[:count]}
    )
)


@given(graphs)
@settings(max_examples=50, deadline=None)
def test_few_edges_are_all_of_them(wanted: dict[str, Coalition]) -> None:
    equilibrium = find_equilibrium(wanted)
    expected = {
        (j, i) for coalition in equilibrium.coalitions for i in coalition for j in wanted[i] & coalition if j != i
    }
    found = list(edges_to_check(equilibrium))
    assert len(found) == len(expected)
    assert set(found) == expected


def test_of_very_many_edges_a_few_connect_the_coalition() -> None:
    found = list(edges_to_check(complete(MANY)))
    assert len(set(found)) == len(found) < 120
    assert all(j != i for j, i in found)
    assert is_connected(MANY, found)


@given(graphs)
@settings(max_examples=100, deadline=None)
def test_a_few_edges_connect_whatever_all_connect(wanted: dict[str, Coalition]) -> None:
    clients = sorted(wanted)
    every = [(j, i) for i in clients for j in wanted[i] if j != i]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proof, "_MAX_EDGES", 0)
        found = list(edges_to_check(Wanted(wanted)))
    assert set(found) <= set(every)
    if is_connected(clients, every):
        assert is_connected(clients, found)
        assert len(found) <= 2 * (len(clients) - 1)
    else:
        assert sorted(found) == sorted(every), "nothing is left out of what does not hang together"


def test_the_order_of_edges_does_not_depend_on_that_of_clients() -> None:
    assert list(edges_to_check(complete(MANY))) == list(edges_to_check(complete(MANY[::-1])))


@pytest.mark.parametrize("count", [5, 60])
def test_a_certificate_asks_for_these_edges_and_no_others(count: int) -> None:
    clients = MANY[:count]
    everybody = frozenset(clients)
    asked: set[tuple[str, str]] = set()

    def utility(client: str, coalition: Coalition) -> float:
        asked.update((other, client) for other in everybody - coalition)
        return float(len(coalition))

    certificate = certify(complete(clients), utility)
    assert certificate.proved
    assert certificate.by_peels
    assert asked == set(edges_to_check(complete(clients)))
    assert len(certificate.inner) == len(asked)


def test_a_game_of_these_utilities_alone_is_proved() -> None:
    everybody = frozenset(MANY)
    records = [(client, [client], 0.0) for client in MANY] + [(client, MANY, 1.0) for client in MANY]
    records += [(i, sorted(everybody - {j}), 0.9) for j, i in edges_to_check(complete(MANY))]
    certificate = certify(complete(MANY), Game(records))
    assert certificate.proved
    assert certificate.by_peels


def test_a_part_that_can_leave_is_found_although_few_edges_are_checked() -> None:
    """Nobody of the first thirty needs anybody of the others."""
    first = frozenset(MANY[:30])

    def utility(client: str, coalition: Coalition) -> float:
        return float(len(coalition & first if client in first else coalition))

    certificate = certify(complete(MANY), utility)
    assert certificate.verdict is Verdict.REFUTED
    assert {each.axiom for each in certificate.witnesses} == {"inner"}
    assert frozenset(certificate.witnesses[0].members) == first
