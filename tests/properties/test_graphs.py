"""Fixed graphs: one pass gives what peeling step by step gives."""

import itertools
import random

import numpy as np
import pytest
from hypothesis import given

from comity import BenefitGraph, find_equilibrium
from comity.core.names import Coalition
from comity.game.components import closed_components, components, layers
from comity.game.equilibrium import stable_coalitions
from comity.game.proof import _needed_by_no_other
from support.strategies import graphs


def reach(graph: BenefitGraph, start: str) -> set[str]:
    found, frontier = {start}, [start]
    while frontier:
        new = graph.collaborators_of(frontier.pop()) - found
        found |= new
        frontier += new
    return found


def naive_components(graph: BenefitGraph) -> set[Coalition]:
    """By definition: i and j are together if each reaches the other."""
    reached = {i: reach(graph, i) for i in graph.clients}
    return {frozenset(j for j in graph.clients if j in reached[i] and i in reached[j]) for i in graph.clients}


def naive_peels(graph: BenefitGraph) -> list[set[Coalition]]:
    """Algorithm 1 word by word, on a graph whose clients keep the collaborators that remain."""
    peels = []
    remaining = set(graph.clients)
    while remaining:
        current = graph.restricted_to(remaining)
        stable = {c for c in naive_components(current) if all(current.collaborators_of(i) <= c for i in c)}
        peels.append(stable)
        remaining -= frozenset().union(*stable)
    return peels


@given(graphs())
def test_components_agree_with_reachability(graph: BenefitGraph) -> None:
    count, labels = components(graph.wants)
    groups = {frozenset(i for i, at in zip(graph.clients, labels, strict=True) if at == n) for n in range(count)}
    assert groups == naive_components(graph)


@given(graphs())
def test_closed_components_are_those_reached_that_want_no_other_client(graph: BenefitGraph) -> None:
    wants = {i: graph.collaborators_of(i) for i in graph.clients}
    for roots in (graph.clients, graph.clients[:1], graph.clients[::2]):
        reached = set().union(*(reach(graph, root) for root in roots))
        closed = {c for c in naive_components(graph) if c <= reached and all(wants[i] <= c for i in c)}
        found = closed_components(roots, wants)
        assert set(found) == closed
        assert len(found) == len(closed)


@given(graphs())
def test_the_proof_finds_the_closed_components_too(graph: BenefitGraph) -> None:
    needed_by = {i: sorted(graph.collaborators_of(i) - {i}) for i in graph.clients}
    closed = [c for c in naive_components(graph) if all(c.issuperset(needed_by[i]) for i in c)]
    assert _needed_by_no_other(needed_by) == sorted(closed, key=lambda c: min(map(graph.clients.index, c)))


@given(graphs())
def test_one_pass_gives_every_peel(graph: BenefitGraph) -> None:
    found = find_equilibrium(graph)
    assert [set(peel.stable) for peel in found.peels] == naive_peels(graph)
    assert set(stable_coalitions(graph)) == naive_peels(graph)[0]
    for peel in found.peels:
        assert peel.graph == graph.restricted_to(peel.remaining)
        assert all(current <= set(peel.remaining) for current in peel.stable)


@given(graphs())
def test_an_oracle_that_keeps_what_remains_gives_the_same(graph: BenefitGraph) -> None:
    fixed = find_equilibrium(graph)
    asked = find_equilibrium(graph.clients, lambda i, remaining: graph.collaborators_of(i) & remaining)
    assert asked.coalitions == fixed.coalitions
    assert asked.unmet == fixed.unmet
    assert [peel.graph for peel in asked.peels] == [peel.graph for peel in fixed.peels]
    assert [asked.collaborators_of(i) for i in graph] == [fixed.collaborators_of(i) for i in graph]


@given(graphs())
def test_unmet_wishes_are_the_edges_that_coalitions_cut(graph: BenefitGraph) -> None:
    found = find_equilibrium(graph)
    cut = {(i, j) for j, i in graph.edges() if j not in found.coalition_of(i)}
    assert {(wish.client, wish.collaborator) for wish in found.unmet} == cut
    for wish in found.unmet:
        assert found.peel_number_of(wish.collaborator) == wish.peel < found.peel_number_of(wish.client)
        assert wish.client not in graph.restricted_to(found.peels[wish.peel].remaining).collaborators_of(
            wish.collaborator
        )


@pytest.mark.parametrize("seed", range(4))
def test_layers_of_wide_and_thin_graphs(seed: int) -> None:
    """Layers wider and narrower than the switch between the two ways of working them off."""
    rng = np.random.default_rng(seed)
    width, depth = (200, 3, 40, 33)[seed], (4, 200, 12, 30)[seed]
    clients = width * depth
    sources, targets = rng.integers(0, clients, (2, 6 * clients))
    graph = BenefitGraph.from_edges(
        map(str, range(clients)), np.minimum(sources, targets), np.maximum(sources, targets)
    )
    count, labels = components(graph.wants)
    found = layers(graph.wants, count, labels)[labels]
    expected = np.zeros(clients, int)
    for i in range(clients):  # edges go upwards, so this order is topological
        wanted = graph.wants.indices[graph.wants.indptr[i] : graph.wants.indptr[i + 1]]
        expected[i] = max((expected[j] + 1 for j in wanted), default=0)
    assert (found == expected).all()


def test_order_of_clients_changes_nothing() -> None:
    rng = random.Random(3)
    clients = [f"c{number}" for number in range(12)]
    for _ in range(100):
        wishes = {i: rng.sample(clients, rng.randint(0, 3)) for i in clients}
        found = find_equilibrium(BenefitGraph(wishes))
        shuffled = dict(rng.sample(sorted(wishes.items()), len(wishes)))
        again = find_equilibrium(BenefitGraph(shuffled))
        assert [set(p.stable) for p in found.peels] == [set(p.stable) for p in again.peels]


def test_every_graph_of_three_clients() -> None:
    """All 64 of them, so that no small case is left to chance."""
    pairs = list(itertools.permutations("abc", 2))
    for chosen in itertools.product([False, True], repeat=len(pairs)):
        edges = [pair for pair, take in zip(pairs, chosen, strict=True) if take]
        graph = BenefitGraph({i: [j for j, k in edges if k == i] for i in "abc"})
        assert [set(peel.stable) for peel in find_equilibrium(graph).peels] == naive_peels(graph)
