"""The benefit graph: who is a collaborator of whom (paper, Section 3.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array

from comity.core.names import Coalition, check_coalition, check_names, shown, unknown_client
from comity.errors import InputError

if TYPE_CHECKING:
    import os

    import networkx

Indices = NDArray[np.int32]
_SHOWN = 6


@final
class BenefitGraph:
    """Who is a collaborator of whom: an edge j → i says that j is a collaborator of i, that i *wants* j.

    Built from a mapping of each client to its collaborators. A client is always among its own collaborators, so
    naming it or not makes no difference, and neither does naming somebody twice. The graph cannot be changed.

    Inside it is one sparse matrix whose row i marks the collaborators of client i, a few bytes an edge, so that
    millions of clients fit; `from_edges` builds that without a Python object per edge.

    >>> graph = BenefitGraph({"a": ["b"], "b": ["a"], "c": ["a"]})
    >>> graph.clients
    ('a', 'b', 'c')
    >>> sorted(graph.collaborators_of("c"))
    ['a', 'c']
    >>> sorted(graph.wanted_by("a"))
    ['b', 'c']
    >>> graph.restricted_to(["b", "c"])
    BenefitGraph({'b': [], 'c': []})
    """

    clients: tuple[str, ...]
    _arrays: tuple[NDArray[np.bool_], Indices, Indices]

    def __init__(self, collaborators: Mapping[str, Iterable[str]]) -> None:
        if not isinstance(collaborators, Mapping):
            raise InputError(
                f"a BenefitGraph is built from a mapping of client to collaborators, not from {shown(collaborators)}; "
                "there are from_edges and from_networkx"
            )
        clients = check_names(collaborators)
        position = {client: index for index, client in enumerate(clients)}
        sources: list[int] = []
        targets: list[int] = []
        for client, wanted in collaborators.items():
            for other in check_coalition(wanted, f"the collaborators of {shown(client)}"):
                if other not in position:
                    raise unknown_client(
                        other, clients, f"the collaborators of {shown(client)} (each needs an entry of its own)"
                    )
                sources.append(position[other])
                targets.append(position[client])
        self._freeze(clients, _wants(len(clients), np.array(sources, np.int32), np.array(targets, np.int32)))

    @classmethod
    def from_edges(cls, clients: Iterable[str], sources: ArrayLike, targets: ArrayLike) -> Self:
        """Build a graph from integer arrays: edge k says that client ``sources[k]`` helps client ``targets[k]``.

        The integers are positions in `clients`. This is the way in for millions of clients.

        >>> BenefitGraph.from_edges(["a", "b", "c"], sources=[1, 0, 0], targets=[0, 1, 2])
        BenefitGraph({'a': ['b'], 'b': ['a'], 'c': ['a']})
        """
        names = check_names(clients)
        ends = [_positions(end, len(names), what) for end, what in ((sources, "sources"), (targets, "targets"))]
        if ends[0].size != ends[1].size:
            raise InputError(f"there are {ends[0].size} sources and {ends[1].size} targets; an edge has one of each")
        return cls._from_wants(names, _wants(len(names), *ends))

    @classmethod
    def from_networkx(cls, graph: networkx.DiGraph[str]) -> Self:
        """Read a directed networkx graph whose nodes are strings; an edge j → i says that j is a collaborator of i.

        Nodes of another kind are made strings by ``networkx.relabel_nodes(graph, str)``.
        """
        if not graph.is_directed():
            raise InputError("the networkx graph is undirected; say who helps whom, for example with .to_directed()")
        names = check_names(graph.nodes)
        position = {client: index for index, client in enumerate(names)}
        ends = np.array([(position[j], position[i]) for j, i in graph.edges()], np.int32).reshape(-1, 2)
        return cls._from_wants(names, _wants(len(names), ends[:, 0], ends[:, 1]))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a graph from a file: JSON, CSV edge list or GraphML, told by the ending of its name."""
        from comity.formats import load_graph  # formats build graphs, so they stand above this module

        graph: Self = load_graph(path)
        return graph

    @classmethod
    def _from_wants(cls, clients: tuple[str, ...], wants: csr_array) -> Self:
        """Wrap names and a matrix that are known to be good, without checking again."""
        graph = object.__new__(cls)
        graph._freeze(clients, wants)
        return graph

    def _freeze(self, clients: tuple[str, ...], wants: csr_array) -> None:
        arrays = (wants.data, wants.indices, wants.indptr)
        for array in arrays:
            array.flags.writeable = False
        self.__dict__.update(clients=clients, _arrays=arrays)

    @property
    def wants(self) -> csr_array:
        """The matrix whose row i marks the collaborators of client i; changing it does not change the graph."""
        return csr_array(self._arrays, shape=(len(self.clients), len(self.clients)))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a BenefitGraph cannot be changed (tried to set {name!r}); build a new one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a BenefitGraph cannot be changed (tried to delete {name!r}); build a new one")

    @cached_property
    def _position(self) -> dict[str, int]:
        return {client: index for index, client in enumerate(self.clients)}

    @cached_property
    def _wanted_by(self) -> csr_array:
        return self.wants.T.tocsr()

    def position_of(self, client: str) -> int:
        """Return where `client` stands in `clients`."""
        try:
            return self._position[client]
        except (KeyError, TypeError):
            raise unknown_client(client, self.clients) from None

    def collaborators_of(self, client: str) -> Coalition:
        """Return the collaborators of `client`; itself is always one of them."""
        return frozenset({client, *self._row(self.wants, client)})

    def wanted_by(self, client: str) -> Coalition:
        """Return the other clients that have `client` among their collaborators."""
        return frozenset(self._row(self._wanted_by, client))

    def _row(self, matrix: csr_array, client: str) -> Iterator[str]:
        index = self.position_of(client)
        return (self.clients[j] for j in matrix.indices[matrix.indptr[index] : matrix.indptr[index + 1]])

    def restricted_to(self, clients: Iterable[str]) -> BenefitGraph:
        """Return the graph among some of the clients, in their order here; edges from or to the others are gone."""
        chosen = np.unique(np.array([self.position_of(client) for client in clients], np.int32))
        return self.at(chosen)

    def at(self, positions: Indices) -> BenefitGraph:
        """Return the graph among the clients at some positions, which must rise."""
        if not positions.size:
            raise InputError("there are no clients to restrict the graph to; give at least one")
        wants = self.wants[positions][:, positions].tocsr()
        return BenefitGraph._from_wants(tuple(self.clients[index] for index in positions), wants)

    @property
    def edge_count(self) -> int:
        """How many edges there are, a client's own membership not counted."""
        return int(self._arrays[1].size)

    def edges(self) -> Iterator[tuple[str, str]]:
        """Yield every edge as (collaborator, client), by client and then by collaborator, in the order of `clients`."""
        _, indices, indptr = self._arrays
        for index, client in enumerate(self.clients):
            for j in indices[indptr[index] : indptr[index + 1]]:
                yield self.clients[j], client

    def to_dict(self) -> dict[str, list[str]]:
        """Return each client's collaborators without itself, in the order of `clients`."""
        wishes: dict[str, list[str]] = {client: [] for client in self.clients}
        for collaborator, client in self.edges():
            wishes[client].append(collaborator)
        return wishes

    def to_networkx(self) -> networkx.DiGraph[str]:
        """Return the graph as a networkx `DiGraph`, whose edge j → i says that j is a collaborator of i."""
        from comity.core.optional import require

        graph = require("networkx", "to export a graph to networkx").DiGraph()
        graph.add_nodes_from(self.clients)
        graph.add_edges_from(self.edges())
        return graph

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the graph to a file: JSON, CSV edge list or GraphML, told by the ending of its name."""
        from comity.formats import save_graph

        save_graph(self, path)

    def __len__(self) -> int:
        return len(self.clients)

    def __iter__(self) -> Iterator[str]:
        return iter(self.clients)

    def __contains__(self, client: object) -> bool:
        return client in self._position

    def __eq__(self, other: object) -> bool:
        """Two graphs are equal if they have the same clients and edges, in whatever order."""
        if not isinstance(other, BenefitGraph):
            return NotImplemented
        if len(self) != len(other) or self.edge_count != other.edge_count:
            return False
        if self.clients == other.clients:
            return _same(self.wants, other.wants)
        if self._position.keys() != other._position.keys():
            return False
        order = np.array([other._position[client] for client in self.clients], np.int32)
        moved = other.wants[order][:, order].tocsr()
        moved.sort_indices()
        return _same(self.wants, moved)

    def __hash__(self) -> int:
        return hash((frozenset(self.clients), self.edge_count))

    def __reduce__(self) -> tuple[Any, ...]:
        return BenefitGraph._from_wants, (self.clients, self.wants)

    def __repr__(self) -> str:
        if len(self) <= _SHOWN and self.edge_count <= 2 * _SHOWN:
            return f"BenefitGraph({self.to_dict()!r})"
        return f"<BenefitGraph: {len(self):,} clients, {self.edge_count:,} edges>"


def _positions(end: ArrayLike, clients: int, what: str) -> Indices:
    """Return one end of the edges as positions, having checked that each is one."""
    try:
        given = np.asarray(end)
    except ValueError:
        raise InputError(f"{what} must be one row of whole numbers, not {shown(end)}") from None
    if given.size == 0:
        given = given.astype(np.int32)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise InputError(f"{what} must be one row of whole numbers, not {given.dtype} of shape {given.shape}")
    bad = (given < 0) | (given >= clients)
    if bad.any():
        edge = int(np.argmax(bad))
        raise InputError(
            f"edge {edge} has {given[edge]} among its {what}, but there is nobody at that position; "
            f"with {clients:,} clients positions run from 0 to {clients - 1}"
        )
    return given.astype(np.int32, copy=False)


def _wants(clients: int, sources: Indices, targets: Indices) -> csr_array:
    """Return the matrix whose row i marks the collaborators of i: self-loops dropped, repeated edges merged."""
    others = sources != targets
    sources, targets = sources[others], targets[others]
    marks = coo_array((np.ones(sources.size, np.bool_), (targets, sources)), shape=(clients, clients))
    return marks.tocsr()  # merges repeated edges: bool + bool stays True


def _same(one: csr_array, other: csr_array) -> bool:
    return bool(np.array_equal(one.indptr, other.indptr) and np.array_equal(one.indices, other.indices))
