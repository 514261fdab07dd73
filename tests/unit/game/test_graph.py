"""BenefitGraph: what it holds, that it cannot be changed, and what it refuses."""

import copy
import pickle
import sys
import warnings
from contextlib import suppress

import numpy as np
import pytest

from comity import BenefitGraph, InputError
from comity.errors import MissingDependencyError, UnknownClientError

GRAPH = BenefitGraph({"a": ["b"], "b": ["a"], "c": ["a"]})


def test_itself_twice_and_repeated_make_no_difference() -> None:
    assert BenefitGraph({"a": ["b", "a", "b"], "b": ("a", "a"), "c": {"a", "c"}}) == GRAPH
    assert BenefitGraph.from_edges(["a", "b", "c"], [1, 1, 0, 0, 0, 2], [0, 0, 1, 1, 2, 2]) == GRAPH
    assert GRAPH.edge_count == 3


def test_collaborators_include_the_client_and_wanted_by_does_not() -> None:
    assert GRAPH.collaborators_of("b") == {"a", "b"}
    assert GRAPH.wanted_by("a") == {"b", "c"}
    assert GRAPH.wanted_by("c") == frozenset()


def test_restriction_keeps_the_order_and_drops_edges() -> None:
    small = GRAPH.restricted_to(["c", "a", "c"])
    assert small.clients == ("a", "c")
    assert small.to_dict() == {"a": [], "c": ["a"]}
    with pytest.raises(InputError, match="no clients"):
        GRAPH.restricted_to([])


def test_it_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match="cannot be changed"):
        GRAPH.clients = ("x",)
    with pytest.raises(AttributeError, match="cannot be changed"):
        del GRAPH.clients
    for array in (GRAPH.wants.data, GRAPH.wants.indices, GRAPH.wants.indptr):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    sources = np.array([1, 0, 0])
    graph = BenefitGraph.from_edges(["a", "b", "c"], sources, [0, 1, 2])
    sources[:] = 2
    assert graph == GRAPH


def test_equality_does_not_depend_on_order() -> None:
    turned = BenefitGraph({"c": ["a"], "b": ["a"], "a": ["b"]})
    assert turned == GRAPH
    assert hash(turned) == hash(GRAPH)
    assert BenefitGraph({"a": ["c"], "b": ["a"], "c": ["a"]}) != GRAPH
    assert BenefitGraph({"a": ["b"], "b": ["a"], "x": ["a"]}) != GRAPH
    assert GRAPH != "a graph"


def test_equality_with_several_edges_in_another_order() -> None:
    wishes = {"a": ["b", "c", "d"], "b": ["d", "a"], "c": [], "d": ["c", "a"]}
    for order in ("dcba", "bdac", "cadb"):
        assert BenefitGraph({client: wishes[client] for client in order}) == BenefitGraph(wishes)


def test_the_matrix_is_a_copy() -> None:
    graph = BenefitGraph({"a": ["b"], "b": ["a"], "c": ["a"]})
    with warnings.catch_warnings(), suppress(ValueError):  # some versions of scipy see that it is read-only
        warnings.simplefilter("ignore")
        graph.wants[2, 1] = True
    assert graph == GRAPH


def test_copies_are_equal() -> None:
    assert pickle.loads(pickle.dumps(GRAPH)) == GRAPH  # noqa: S301
    assert copy.deepcopy(GRAPH) == GRAPH


def test_repr_is_short_for_large_graphs() -> None:
    assert repr(GRAPH) == "BenefitGraph({'a': ['b'], 'b': ['a'], 'c': ['a']})"
    large = BenefitGraph.from_edges(map(str, range(5000)), range(4999), range(1, 5000))
    assert repr(large) == "<BenefitGraph: 5,000 clients, 4,999 edges>"
    assert "17" in large
    assert "x" not in large
    assert len(large) == 5000


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({}, "there are no clients"),
        ({"a": ["b"]}, r"the collaborators of 'a' \(each needs its own entry\): unknown client 'b'"),
        (None, "built from a mapping"),
        (["a", "b"], "built from a mapping"),
        ({"a": {"b": 1}, "b": []}, "must be a list of clients"),
        ({"a\x9b": []}, r"U\+009B"),
        ({"a": "b", "b": []}, "must be a list of clients, not 'b'"),
        ({"a": 3}, "must be a list of clients, not 3"),
        ({"a": None}, "must be a list of clients"),
        ({"": []}, "empty name"),
        ({"  ": []}, "empty name"),
        ({1: []}, "must be text, not 1"),
        ({"a": [1]}, "must be text, not 1"),
        ({"a\x00": []}, r"U\+0000"),
        ({"a\ud800": []}, r"U\+D800"),
    ],
)
def test_bad_mappings_are_refused(wishes: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        BenefitGraph(wishes)


@pytest.mark.parametrize(
    ("clients", "sources", "targets", "message"),
    [
        (["a", "a"], [], [], "'a' is listed twice"),
        (["a", "b"], [0], [2], "edge 0 has 2 among its targets"),
        (["a", "b"], [0, -1], [1, 1], "edge 1 has -1 among its sources"),
        (["a", "b"], [0], [0, 1], "1 sources and 2 targets"),
        (["a", "b"], [0.5], [1], "whole numbers"),
        (["a", "b"], [[0]], [[1]], "one row"),
        ("ab", [0], [1], "not 'ab'"),
        (3, [0], [1], "must be a list of names, not 3"),
        (["a", "b"], [[0], [0, 1]], [0, 1], "one row of whole numbers"),
    ],
)
def test_bad_edges_are_refused(clients: list, sources: list, targets: list, message: str) -> None:
    with pytest.raises(InputError, match=message):
        BenefitGraph.from_edges(clients, sources, targets)


def test_unknown_clients_are_named_with_the_nearest_known() -> None:
    graph = BenefitGraph({"north": [], "south": []})
    for ask in (graph.collaborators_of, graph.wanted_by, graph.position_of, lambda i: graph.restricted_to([i])):
        with pytest.raises(UnknownClientError, match=r"unknown client 'nort'.*did you mean 'north'"):
            ask("nort")


def test_networkx_graphs_must_be_directed_and_named_by_text() -> None:
    import networkx

    with pytest.raises(InputError, match="undirected"):
        BenefitGraph.from_networkx(networkx.Graph([("a", "b")]))
    with pytest.raises(InputError, match="must be text"):
        BenefitGraph.from_networkx(networkx.DiGraph([(1, 2)]))


def test_names_from_numpy_become_plain_text() -> None:
    graph = BenefitGraph.from_edges(np.array(["a", "b"]), [0], [1])
    assert [type(name) for name in graph.clients] == [str, str]


def test_weights_become_edge_attributes_of_networkx() -> None:
    exported = GRAPH.to_networkx(weights={("a", "c"): 1, ("b", "a"): 0.5})
    assert dict(exported.edges) == {("a", "c"): {"weight": 1.0}, ("b", "a"): {"weight": 0.5}, ("a", "b"): {}}
    assert BenefitGraph.from_networkx(exported) == GRAPH
    assert not any(attributes for _, _, attributes in GRAPH.to_networkx().edges(data=True))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({("c", "a"): 1.0}, r"the weights have the edge \('c', 'a'\), which is not in the graph"),
        ({("a", "a"): 1.0}, "which is not in the graph"),
        ({"ab": 1.0}, "the weights have the edge 'ab'"),
        ({("a", "b"): float("nan")}, r"the weight of edge \('a', 'b'\) is nan; it must be a finite number"),
        ({("a", "b"): "0.5"}, "must be a number"),
    ],
)
def test_bad_weights_are_refused(weights: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        GRAPH.to_networkx(weights)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingDependencyError, match=r"networkx is needed to export a graph .*; pip install networkx"):
        GRAPH.to_networkx()
