"""The benefit graph: who is a collaborator of whom (paper, Section 3.1)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array

from comity.core.extras import require
from comity.core.names import Coalition, check_coalition, check_names, shown, unknown_client
from comity.core.numbers import check_finite
from comity.errors import FormatError, InputError

if TYPE_CHECKING:
    import networkx

Indices = NDArray[np.int32]
_MAX_CLIENTS_IN_REPR = 6


@final
class BenefitGraph:
    """Who is a collaborator of whom (paper, Section 3.1): an edge j → i says that j is a collaborator of i.

    One also says that i *wants* j. A client is always its own collaborator, whether it is listed or not, and repeated
    collaborators count once. A graph is immutable. Two graphs are equal if they have the same clients and edges, in any
    order.

    The edges are stored as one sparse matrix, a few bytes an edge, so that millions of clients fit into memory;
    `from_edges` builds it without a Python object for each edge.

    Args:
        collaborators: The collaborators of each client. Every client needs an entry, if only an empty one.

    Raises:
        InputError: If `collaborators` is no mapping of names to lists of names, or is empty.
        UnknownClientError: If a collaborator has no entry.

    Attributes:
        clients: The clients' names, in the order of `collaborators`.

    Example:
        >>> graph = BenefitGraph({"a": ["b"], "b": ["a"], "c": ["a"]})
        >>> graph.clients
        ('a', 'b', 'c')
        >>> sorted(graph.collaborators_of("c"))
        ['a', 'c']
        >>> sorted(graph.wanted_by("a"))
        ['b', 'c']
    """

    clients: tuple[str, ...]
    _arrays: tuple[NDArray[np.bool_], Indices, Indices]

    def __init__(self, collaborators: Mapping[str, Iterable[str]]) -> None:
        if not isinstance(collaborators, Mapping):
            raise InputError(
                f"a BenefitGraph is built from a mapping of client to collaborators, not from {shown(collaborators)}; "
                "for other forms use from_edges or from_networkx"
            )
        clients = check_names(collaborators)
        position = {client: index for index, client in enumerate(clients)}
        sources: list[int] = []
        targets: list[int] = []
        for client, wanted in collaborators.items():
            for other in check_coalition(wanted, f"the collaborators of {shown(client)}"):
                if other not in position:
                    raise unknown_client(
                        other, clients, f"the collaborators of {shown(client)} (each needs its own entry)"
                    )
                sources.append(position[other])
                targets.append(position[client])
        self._freeze(clients, _wants(len(clients), np.array(sources, np.int32), np.array(targets, np.int32)))

    @classmethod
    def from_edges(cls, clients: Iterable[str], sources: ArrayLike, targets: ArrayLike) -> Self:
        """Build a graph from integer arrays, the fastest way for millions of clients.

        Args:
            clients: The clients' names.
            sources: For each edge, the position in `clients` of the collaborator.
            targets: For each edge, the position in `clients` of the client that it helps.

        Returns:
            The graph. Repeated edges count once, and edges from a client to itself are dropped.

        Raises:
            InputError: If the arrays have different lengths or hold anything but positions.

        Example:
            >>> BenefitGraph.from_edges(["a", "b", "c"], sources=[1, 0, 0], targets=[0, 1, 2])
            BenefitGraph({'a': ['b'], 'b': ['a'], 'c': ['a']})
        """
        names = check_names(clients)
        givers, receivers = _positions(sources, len(names), "sources"), _positions(targets, len(names), "targets")
        if givers.size != receivers.size:
            raise InputError(f"there are {givers.size} sources and {receivers.size} targets; an edge has one of each")
        return cls._from_wants(names, _wants(len(names), givers, receivers))

    @classmethod
    def from_networkx(cls, graph: networkx.DiGraph[str]) -> Self:
        """Read a networkx graph.

        Args:
            graph: A directed graph. Its nodes are the clients' names; ``networkx.relabel_nodes(graph, str)`` turns
                other nodes into text. An edge j → i says that j is a collaborator of i.

        Returns:
            The graph, without the attributes of nodes and edges.

        Raises:
            InputError: If the graph is undirected or a node is not text.

        Example:
            >>> import networkx
            >>> BenefitGraph.from_networkx(networkx.DiGraph([("b", "a")]))
            BenefitGraph({'b': [], 'a': ['b']})
        """
        if not graph.is_directed():
            raise InputError("the networkx graph is undirected; show who helps whom, for example with .to_directed()")
        position = {client: index for index, client in enumerate(check_names(graph.nodes))}
        edges = [(position[j], position[i]) for j, i in graph.edges()]
        return cls.from_edges(position, *np.array(edges, np.int32).reshape(-1, 2).T)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a graph from a file.

        Args:
            path: A file whose name ends in .json, .csv (an edge list) or .graphml, which gives its format.

        Returns:
            The graph.

        Raises:
            FormatError: If there is no such file, or it does not hold a graph in that format.
        """
        from comity.game.formats import load  # formats build graphs, so that they import this module

        loaded = load(path)
        if not isinstance(loaded, cls):
            raise FormatError(f"{path}: this is a game, but a graph is needed: the collaborators of each client")
        return loaded

    @classmethod
    def _from_wants(cls, clients: tuple[str, ...], wants: csr_array) -> Self:
        """Wrap names and a matrix that are known to be valid, without checking them."""
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
        """Return the position of a client in `clients`.

        Args:
            client: The client's name.

        Returns:
            Its position, counted from 0.

        Raises:
            UnknownClientError: If there is no such client.
        """
        try:
            return self._position[client]
        except (KeyError, TypeError):
            raise unknown_client(client, self.clients) from None

    def collaborators_of(self, client: str) -> Coalition:
        """Return the collaborators of a client.

        Args:
            client: The client's name.

        Returns:
            The collaborators, the client itself among them.

        Raises:
            UnknownClientError: If there is no such client.
        """
        return frozenset({client, *self._row(self.wants, client)})

    def wanted_by(self, client: str) -> Coalition:
        """Return the other clients that have a client among their collaborators.

        Args:
            client: The client's name.

        Returns:
            The clients that want it, without itself.

        Raises:
            UnknownClientError: If there is no such client.
        """
        return frozenset(self._row(self._wanted_by, client))

    def _row(self, matrix: csr_array, client: str) -> Iterator[str]:
        index = self.position_of(client)
        return (self.clients[j] for j in matrix.indices[matrix.indptr[index] : matrix.indptr[index + 1]])

    def restricted_to(self, clients: Iterable[str]) -> BenefitGraph:
        """Return the graph among some of the clients.

        Args:
            clients: The clients to keep.

        Returns:
            The graph of these clients, in the order of this graph, with the edges between them.

        Raises:
            InputError: If there are none.
            UnknownClientError: If one of them is not in the graph.

        Example:
            >>> BenefitGraph({"a": ["b"], "b": ["a"], "c": ["a"]}).restricted_to(["a", "c"])
            BenefitGraph({'a': [], 'c': ['a']})
        """
        positions = np.unique(np.array([self.position_of(client) for client in clients], np.int32))
        if not positions.size:
            raise InputError("there are no clients to restrict the graph to; give at least one")
        wants = self.wants[positions][:, positions].tocsr()
        return BenefitGraph._from_wants(tuple(self.clients[index] for index in positions), wants)

    @property
    def edge_count(self) -> int:
        """The number of edges between different clients."""
        return int(self._arrays[1].size)

    def edges(self) -> Iterator[tuple[str, str]]:
        """Yield every edge as (collaborator, client), by client and then by collaborator, in the order of `clients`.

        Returns:
            An iterator over the pairs.
        """
        edges = self.wants.tocoo()
        for target, source in zip(edges.row, edges.col, strict=True):
            yield self.clients[source], self.clients[target]

    def to_dict(self) -> dict[str, list[str]]:
        """Return the mapping from which `BenefitGraph` builds an equal graph.

        Returns:
            Each client's collaborators without itself, in the order of `clients`.
        """
        wants = self.wants
        return {client: list(self._row(wants, client)) for client in self.clients}

    def to_networkx(self, weights: Mapping[tuple[str, str], float] | None = None) -> networkx.DiGraph[str]:
        """Return the graph as a networkx `DiGraph`, for its algorithms, drawings and file formats.

        Args:
            weights: The weights of edges (collaborator, client), for example what the collaborator brings. Each
                becomes the edge attribute ``weight``; an edge that is not listed gets no such attribute.

        Returns:
            A graph whose edge j → i says that j is a collaborator of i.

        Raises:
            InputError: If a weight is no finite number, or belongs to no edge.
            MissingDependencyError: If networkx is not installed.

        Example:
            >>> graph = BenefitGraph({"a": ["b"], "b": []}).to_networkx(weights={("b", "a"): 0.25})
            >>> graph.edges["b", "a"]["weight"]
            0.25
        """
        graph = require("networkx", "to export a graph to networkx").DiGraph()
        graph.add_nodes_from(self.clients)
        edges = dict.fromkeys(self.edges())
        graph.add_edges_from(edges)
        for edge, weight in (weights or {}).items():
            if edge not in edges:
                raise InputError(f"the weights have the edge {shown(edge)}, which is not in the graph; leave it out")
            graph.edges[edge]["weight"] = check_finite(weight, f"the weight of edge {shown(edge)}")
        return graph

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the graph to a file, which `load` reads.

        Args:
            path: A file whose name ends in .json, .csv (an edge list) or .graphml, which gives its format.

        Raises:
            InputError: If the name has another ending.
            OutputError: If the file cannot be written.
        """
        from comity.game.formats import save_graph

        save_graph(self, path)

    def __len__(self) -> int:
        return len(self.clients)

    def __iter__(self) -> Iterator[str]:
        return iter(self.clients)

    def __contains__(self, client: object) -> bool:
        return client in self._position

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BenefitGraph):
            return NotImplemented
        theirs = other.wants
        if self.clients != other.clients:
            if self._position.keys() != other._position.keys():
                return False
            order = [other._position[client] for client in self.clients]
            theirs = theirs[order][:, order]
        return not (self.wants != theirs).nnz

    def __hash__(self) -> int:
        return hash((frozenset(self.clients), self.edge_count))

    def __reduce__(self) -> tuple[Any, ...]:
        return BenefitGraph._from_wants, (self.clients, self.wants)

    def __repr__(self) -> str:
        if len(self) <= _MAX_CLIENTS_IN_REPR and self.edge_count <= 2 * _MAX_CLIENTS_IN_REPR:
            return f"BenefitGraph({self.to_dict()!r})"
        return f"<BenefitGraph: {len(self):,} clients, {self.edge_count:,} edges>"


def _positions(end: ArrayLike, clients: int, what: str) -> Indices:
    """Check that one end of every edge is the position of a client, and return these ends."""
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
            f"edge {edge} has {given[edge]} among its {what}, which is not the position of a client; "
            f"with {clients:,} clients positions run from 0 to {clients - 1}"
        )
    return given.astype(np.int32, copy=False)


def _wants(clients: int, sources: Indices, targets: Indices) -> csr_array:
    """Return the matrix whose row i marks the collaborators of i, without self-loops and repeated edges."""
    others = sources != targets
    sources, targets = sources[others], targets[others]
    marks = coo_array((np.ones(sources.size, np.bool_), (targets, sources)), shape=(clients, clients))
    return marks.tocsr()  # merges repeated edges: bool + bool stays True
