"""Groups of clients: the components of a graph or the coalitions of an equilibrium, with the edges of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from comity.core.names import Coalition, check_coalition, shown
from comity.errors import InputError
from comity.game.equilibrium import find_equilibrium
from comity.game.graph import BenefitGraph
from comity.game.peels import Equilibrium
from comity.report.drawing.colours import ALONE, Look, choose_look
from comity.report.drawing.labels import choose_labels

Integers = NDArray[np.int64]
Edges = tuple[Integers, Integers]  # the positions of collaborators, and of the clients that want them
Partition = Equilibrium | Iterable[Coalition] | None  # none for the equilibrium of the graph


@dataclass(frozen=True, eq=False)
class Groups:
    """A partition of the clients of a graph into ordered groups.

    `numbers` (N,) is the group of each client, `peels` the peel of each group, if known; `inside` are the edges within
    groups, `across` those between them.
    """

    clients: tuple[str, ...]
    numbers: Integers
    peels: Integers | None
    inside: Edges
    across: Edges

    @classmethod
    def components(cls, graph: BenefitGraph) -> Groups:
        """Return the strongly connected components, which are the coalitions of a fixed graph.

        >>> Groups.components(BenefitGraph({"c": ["a"], "a": ["b"], "b": ["a"]})).members
        (('a', 'b'), ('c',))
        """
        found = find_equilibrium(graph)
        return cls._of(graph, found.numbers.astype(np.int64), found.peel_of.astype(np.int64))

    @classmethod
    def coalitions(cls, graph: BenefitGraph, partition: Partition) -> Groups:
        """Return the coalitions of an equilibrium, given coalitions, or those that the graph leads to.

        Of an equilibrium, the edges inside are the wishes of the members when they left, those across the unmet wishes.
        """
        if partition is None:
            partition = find_equilibrium(graph)
        if not isinstance(partition, Equilibrium):
            return cls._of(graph, _coalition_numbers(graph, partition), None)
        if set(partition.clients) != set(graph.clients):
            raise InputError("the equilibrium has other clients than the graph; give the equilibrium of this graph")
        place = np.array([graph.position_of(client) for client in partition.clients], np.int64)
        numbers = np.empty(len(place), np.int64)
        numbers[place] = partition.numbers
        last = partition.wishes.wanted[partition.wishes.valid_at(len(partition.peels))].tocoo()
        sources, targets = place[last.col], place[last.row]
        same = numbers[sources] == numbers[targets]
        unmet = [(graph.position_of(wish.collaborator), graph.position_of(wish.client)) for wish in partition.unmet]
        lost = np.array(unmet, np.int64).reshape(-1, 2)
        peels, inside = partition.peel_of.astype(np.int64), (sources[same], targets[same])
        return cls(graph.clients, numbers, peels, inside, (lost[:, 0], lost[:, 1]))

    @classmethod
    def _of(cls, graph: BenefitGraph, numbers: Integers, peels: Integers | None) -> Groups:
        """Return groups with all edges of the graph."""
        wants = graph.wants.tocoo()
        sources, targets = wants.col.astype(np.int64), wants.row.astype(np.int64)
        same = numbers[sources] == numbers[targets]
        return cls(graph.clients, numbers, peels, (sources[same], targets[same]), (sources[~same], targets[~same]))

    @cached_property
    def order(self) -> Integers:
        """The positions of the clients, group by group."""
        return np.argsort(self.numbers, kind="stable")

    @cached_property
    def sizes(self) -> Integers:
        """The number of clients in each group."""
        return np.bincount(self.numbers)

    @cached_property
    def members(self) -> tuple[tuple[str, ...], ...]:
        """The clients of each group."""
        parts = np.split(self.order, np.cumsum(self.sizes)[:-1])
        return tuple(tuple(self.clients[place] for place in part.tolist()) for part in parts)

    @cached_property
    def labels(self) -> dict[str, str]:
        """The label of each client, the same in all drawings."""
        return dict(zip(self.clients, choose_labels(self.clients), strict=True))

    @cached_property
    def looks(self) -> tuple[Look, ...]:
        """The look of each group; only groups of two or more have colours."""
        together = self.sizes > 1
        places = np.cumsum(together) - 1
        return tuple(choose_look(place) if many else ALONE for many, place in zip(together, places, strict=True))

    def by_peel(self) -> tuple[tuple[int, ...], ...]:
        """Return the numbers of the groups in each peel; all in one part if peels are not known."""
        if self.peels is None:
            return (tuple(range(len(self.sizes))),)
        return tuple(tuple(np.flatnonzero(self.peels == peel).tolist()) for peel in range(int(self.peels.max()) + 1))

    def named(self, edges: Edges) -> list[tuple[str, str]]:
        """Return edges as pairs of names: the collaborator, and the client that wants it."""
        return [(self.clients[j], self.clients[i]) for j, i in zip(*(end.tolist() for end in edges), strict=True)]


def _coalition_numbers(graph: BenefitGraph, coalitions: Iterable[Coalition]) -> Integers:
    """Return the coalition of each client; each client must be in exactly one."""
    numbers = np.full(len(graph), -1, np.int64)
    for number, coalition in enumerate(coalitions):
        members = sorted(check_coalition(coalition, f"coalition {number + 1}"))
        if not members:
            raise InputError(f"coalition {number + 1} is empty; omit it")
        for client in members:
            place = graph.position_of(client)
            if numbers[place] >= 0:
                raise InputError(f"client {shown(client)} is in two coalitions; each client is in one")
            numbers[place] = number
    if (numbers < 0).any():
        raise InputError(
            f"client {shown(graph.clients[int(np.argmin(numbers))])} is in no coalition; add it as a coalition of one"
        )
    return numbers
