"""Clients in groups: the components of a graph, or the coalitions of an equilibrium, with the edges in and between."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from comity.core import BenefitGraph, Coalition, InputError, check_coalition, shown
from comity.drawing.colours import ALONE, Look, look_of
from comity.drawing.labels import labels_of
from comity.equilibrium import find_equilibrium
from comity.peels import Equilibrium

Integers = NDArray[np.int64]
Edges = tuple[Integers, Integers]  # the positions of collaborators, and of those who want them


@dataclass(frozen=True, eq=False)
class Groups:
    """A partition of the clients of a graph, in the order in which its groups are told.

    `numbers` (N,) has the group of each client, `peels` the peel of each group, if it is known; `inside` are the edges
    in groups, `across` those between them.
    """

    clients: tuple[str, ...]
    numbers: Integers
    peels: Integers | None
    inside: Edges
    across: Edges

    @classmethod
    def components(cls, graph: BenefitGraph) -> Groups:
        """Return the strongly connected components; a fixed graph's are its coalitions.

        >>> Groups.components(BenefitGraph({"c": ["a"], "a": ["b"], "b": ["a"]})).members
        (('a', 'b'), ('c',))
        """
        found = find_equilibrium(graph)
        numbers = found.numbers.astype(np.int64)
        return cls(graph.clients, numbers, found.peel_of.astype(np.int64), *_parted(_edges(graph), numbers))

    @classmethod
    def coalitions(cls, graph: BenefitGraph, told: Equilibrium | Iterable[Coalition] | None) -> Groups:
        """Return the coalitions: of an equilibrium, or only these, or those that follow if the graph is all there is.

        The edges inside are what the members wanted when they left, those across the wishes that stayed unmet.
        """
        if told is None:
            told = find_equilibrium(graph)
        if not isinstance(told, Equilibrium):
            numbers = _numbered(graph, told)
            return cls(graph.clients, numbers, None, *_parted(_edges(graph), numbers))
        if set(told.clients) != set(graph.clients):
            raise InputError("the equilibrium has other clients than the graph; give the one that was found with it")
        place = np.array([graph.position_of(client) for client in told.clients], np.int64)
        numbers = np.empty(len(place), np.int64)
        numbers[place] = told.numbers
        last = told.wishes.wanted[told.wishes.valid_at(len(told.peels))].tocoo()
        inside, _ = _parted((place[last.col], place[last.row]), numbers)
        unmet = [(graph.position_of(wish.collaborator), graph.position_of(wish.client)) for wish in told.unmet]
        lost = np.array(unmet, np.int64).reshape(-1, 2)
        return cls(graph.clients, numbers, told.peel_of.astype(np.int64), inside, (lost[:, 0], lost[:, 1]))

    @cached_property
    def order(self) -> Integers:
        """The positions of the clients, group by group."""
        return np.argsort(self.numbers, kind="stable")

    @cached_property
    def sizes(self) -> Integers:
        """How many clients each group has."""
        return np.bincount(self.numbers)

    @cached_property
    def members(self) -> tuple[tuple[str, ...], ...]:
        """The clients of each group."""
        parts = np.split(self.order, np.cumsum(self.sizes)[:-1])
        return tuple(tuple(self.clients[place] for place in part.tolist()) for part in parts)

    @cached_property
    def labels(self) -> dict[str, str]:
        """What is written for each client, the same in all figures."""
        return dict(zip(self.clients, labels_of(self.clients), strict=True))

    @cached_property
    def looks(self) -> tuple[Look, ...]:
        """How each group looks; colours are for groups of two or more."""
        together = self.sizes > 1
        return tuple(look_of(at) if many else ALONE for many, at in zip(together, np.cumsum(together) - 1, strict=True))

    def by_peel(self) -> tuple[tuple[int, ...], ...]:
        """Return the numbers of the groups of each peel; in one part, if peels are not known."""
        if self.peels is None:
            return (tuple(range(len(self.sizes))),)
        return tuple(tuple(np.flatnonzero(self.peels == peel).tolist()) for peel in range(int(self.peels.max()) + 1))

    def named(self, edges: Edges) -> list[tuple[str, str]]:
        """Return edges as names: the collaborator, and who wants it."""
        return [(self.clients[j], self.clients[i]) for j, i in zip(*(end.tolist() for end in edges), strict=True)]


def _edges(graph: BenefitGraph) -> Edges:
    wants = graph.wants.tocoo()
    return wants.col.astype(np.int64), wants.row.astype(np.int64)


def _parted(edges: Edges, numbers: Integers) -> tuple[Edges, Edges]:
    """Return the edges in groups and those between groups."""
    sources, targets = edges
    same = numbers[sources] == numbers[targets]
    return (sources[same], targets[same]), (sources[~same], targets[~same])


def _numbered(graph: BenefitGraph, coalitions: Iterable[Coalition]) -> Integers:
    """Return the coalition of each client, having checked that each is in one."""
    numbers = np.full(len(graph), -1, np.int64)
    for number, coalition in enumerate(coalitions):
        members = sorted(check_coalition(coalition, f"coalition {number + 1}"))
        if not members:
            raise InputError(f"coalition {number + 1} is empty; leave it out")
        places = [graph.position_of(client) for client in members]
        for client, place in zip(members, places, strict=True):
            if numbers[place] >= 0:
                raise InputError(f"client {shown(client)} is in two coalitions; each client is in one")
        numbers[places] = number
    if (numbers < 0).any():
        raise InputError(f"client {shown(graph.clients[int(np.argmin(numbers))])} is in no coalition; name it alone")
    return numbers
