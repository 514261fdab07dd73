"""The result of peeling: the coalitions, and the peels that produced them (paper, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from comity.core.names import Coalition, unknown_client
from comity.game.components import IntegerArray
from comity.game.graph import BenefitGraph

_MAX_CLIENTS_IN_REPR = 30
_NEVER = np.iinfo(np.int32).max  # a number past all peels


@dataclass(frozen=True, slots=True, eq=False)
class Wishes:
    """The clients' answers: in peel ``peel[e]``, client ``asker[e]`` wanted the clients in row e of `wanted`.

    Entries e are in the order of peels; a later entry of a client replaces its earlier ones.
    """

    asker: IntegerArray
    peel: IntegerArray
    wanted: csr_array

    def asked_at(self, number: int) -> IntegerArray:
        """Return the positions of the clients that were asked in a peel, in increasing order."""
        first, after = np.searchsorted(self.peel, (number, number + 1))
        return np.unique(self.asker[first:after])

    def valid_at(self, number: int) -> IntegerArray:
        """Return each client's last entry up to a peel."""
        until = int(np.searchsorted(self.peel, number, side="right"))
        last = np.zeros(self.wanted.shape[1], np.intp)
        last[self.asker[:until]] = np.arange(until)  # of equal positions the last assignment stays
        return last

    def replaced_at(self) -> IntegerArray:
        """Return for each entry the peel in which its client's next entry replaced it, or never."""
        order = np.argsort(self.asker, kind="stable")
        again = np.flatnonzero(self.asker[order[1:]] == self.asker[order[:-1]])
        replaced = np.full(self.asker.size, _NEVER, np.int32)
        replaced[order[again]] = self.peel[order[again + 1]]
        return replaced


@dataclass(frozen=True, slots=True)
class UnmetWish:
    """A client lost a collaborator, which left in an earlier peel with a coalition of other clients.

    Attributes:
        client: The client that wanted the collaborator.
        collaborator: The collaborator.
        peel: The peel in which the collaborator left, counted from 0.

    Example:
        >>> from comity import find_equilibrium
        >>> print(find_equilibrium({"a": ["b"], "b": ["a"], "c": ["a"]}).unmet[0])
        c wanted a; a gains nothing from c
    """

    client: str
    collaborator: str
    peel: int

    def __str__(self) -> str:
        return f"{self.client} wanted {self.collaborator}; {self.collaborator} gains nothing from {self.client}"


@dataclass(frozen=True, slots=True)
class Peel:
    """One iteration of peeling (paper, Algorithm 1): who remained, whom they wanted, and which coalitions left.

    Its properties are computed on demand, since a long chain has as many peels as clients.

    Attributes:
        equilibrium: The equilibrium that the peel belongs to.
        number: The number of the peel, counted from 0.

    Example:
        >>> from comity import find_equilibrium
        >>> peel = find_equilibrium({"a": ["b"], "b": ["a"], "c": ["a"]}).peels[1]
        >>> peel
        <Peel 1: {c} left>
        >>> peel.remaining
        ('c',)
    """

    equilibrium: Equilibrium
    number: int

    @property
    def graph(self) -> BenefitGraph:
        """The benefit graph of the clients that remained."""
        wishes, remaining = self.equilibrium.wishes, self._remaining
        wanted = wishes.wanted[wishes.valid_at(self.number)[remaining]][:, remaining].tocsr()
        return BenefitGraph._from_wants(self.remaining, wanted)

    @property
    def remaining(self) -> tuple[str, ...]:
        """The clients that had not left before this peel."""
        return _names(self.equilibrium.clients, self._remaining)

    @property
    def asked(self) -> tuple[str, ...]:
        """The clients that named their collaborators: all at first, later those that lost one or had a tie."""
        return _names(self.equilibrium.clients, self.equilibrium.wishes.asked_at(self.number))

    @property
    def stable(self) -> tuple[Coalition, ...]:
        """The coalitions that left: strongly connected, and wanting no other remaining client."""
        return tuple(frozenset(self.equilibrium.members(number)) for number in self._coalition_numbers)

    @property
    def _remaining(self) -> IntegerArray:
        """The positions of the clients that had not left before this peel, in increasing order."""
        return np.flatnonzero(self.equilibrium.peel_of[self.equilibrium.numbers] >= self.number)

    @property
    def _coalition_numbers(self) -> range:
        """The numbers of the coalitions that left in this peel."""
        return range(*np.searchsorted(self.equilibrium.peel_of, (self.number, self.number + 1)))

    def __repr__(self) -> str:
        numbers = self._coalition_numbers
        shown = [self.equilibrium.members(number) for number in numbers[:_MAX_CLIENTS_IN_REPR]]
        if len(numbers) < _MAX_CLIENTS_IN_REPR and sum(map(len, shown)) <= _MAX_CLIENTS_IN_REPR:
            return f"<Peel {self.number}: {_braces(shown)} left>"
        return f"<Peel {self.number}: {len(numbers):,} coalitions left>"


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A collaboration equilibrium: a partition of the clients, with the peels that produced it (paper, Section 4.1).

    `find_equilibrium` returns it. Two equilibria are equal if they have the same clients in the same order and the same
    peels: who was asked, whom they wanted, and which coalitions left.

    It is stored in a few integer arrays, so that millions of clients fit into memory.

    Attributes:
        clients: The clients' names.
        numbers: Each client's coalition, numbered from 0 in the order in which coalitions form.
        peel_of: The peel in which each coalition left, counted from 0.
        wishes: Whom the clients wanted, and when.

    Example:
        >>> from comity import find_equilibrium
        >>> found = find_equilibrium({"a": ["b"], "b": ["a"], "c": ["a"]})
        >>> found
        Equilibrium({a, b}, {c})
        >>> sorted(found.coalition_of("a"))
        ['a', 'b']
    """

    clients: tuple[str, ...]
    numbers: IntegerArray
    peel_of: IntegerArray
    wishes: Wishes

    def __post_init__(self) -> None:
        for array in (self.numbers, self.peel_of, self.wishes.asker, self.wishes.peel):
            array.flags.writeable = False

    @cached_property
    def coalitions(self) -> tuple[Coalition, ...]:
        """The coalitions in the order in which they form; within a peel, in the order of their first clients."""
        members, starts = self._members
        names = _names(self.clients, members)
        return tuple(frozenset(names[first:after]) for first, after in pairwise(starts.tolist()))

    @cached_property
    def peels(self) -> tuple[Peel, ...]:
        """The peels, in order."""
        return tuple(Peel(self, number) for number in range(int(self.peel_of[-1]) + 1))

    def coalition_of(self, client: str) -> Coalition:
        """Return the coalition of a client.

        Args:
            client: The client's name.

        Returns:
            The members of its coalition, the client among them.

        Raises:
            UnknownClientError: If there is no such client.
        """
        return self.coalitions[int(self.numbers[self._place(client)])]

    def peel_number_of(self, client: str) -> int:
        """Return the peel in which a client left.

        Args:
            client: The client's name.

        Returns:
            The number of the peel, counted from 0.

        Raises:
            UnknownClientError: If there is no such client.
        """
        return int(self.peel_of[self.numbers[self._place(client)]])

    def collaborators_of(self, client: str) -> Coalition:
        """Return whom a client wanted when it left; all of them are in its coalition.

        Args:
            client: The client's name.

        Returns:
            Its collaborators, the client itself among them.

        Raises:
            UnknownClientError: If there is no such client.
        """
        place = self._place(client)
        wanted, entry = self.wishes.wanted, self._last[place]
        row = wanted.indices[wanted.indptr[entry] : wanted.indptr[entry + 1]]
        return frozenset({client, *(self.clients[j] for j in row if self.numbers[j] == self.numbers[place])})

    @cached_property
    def unmet(self) -> tuple[UnmetWish, ...]:
        """The wishes that stayed unmet, in the order in which the collaborators left."""
        entries = np.repeat(np.arange(self.wishes.asker.size), np.diff(self.wishes.wanted.indptr))
        askers, wanted = self.wishes.asker[entries], self.wishes.wanted.indices
        left = self.peel_of[self.numbers]
        gone = left[wanted]
        # A collaborator is lost if it left before the client did, and while the client still wanted it.
        lost = np.flatnonzero((gone < left[askers]) & (gone < self.wishes.replaced_at()[entries]))
        lost = lost[np.lexsort((wanted[lost], askers[lost], gone[lost]))]
        return tuple(
            UnmetWish(self.clients[i], self.clients[j], int(peel))
            for i, j, peel in zip(askers[lost], wanted[lost], gone[lost], strict=True)
        )

    def members(self, number: int) -> tuple[str, ...]:
        """Return the members of a coalition in the order of `clients`.

        Args:
            number: The coalition's number, counted from 0; negative numbers count from the end.

        Returns:
            The members' names.

        Raises:
            IndexError: If there is no such coalition.
        """
        members, starts = self._members
        number = range(len(self.peel_of))[number]
        return _names(self.clients, members[starts[number] : starts[number + 1]])

    def coalition(self, number: int) -> Coalition:
        """Return a coalition by its number.

        Args:
            number: The coalition's number, counted from 0; negative numbers count from the end.

        Returns:
            The coalition.

        Raises:
            IndexError: If there is no such coalition.
        """
        return self.coalitions[number]

    def to_dict(self) -> dict[str, Any]:
        """Return the equilibrium as values that JSON can hold; peels are counted from 1.

        Returns:
            A dictionary with the clients, the coalitions, the unmet wishes and the peels. Each peel has the wishes of
            the clients that were asked in it and the coalitions that left; the wishes of the others are in earlier
            peels.
        """
        wanted = self.wishes.wanted
        peels: list[dict[str, Any]] = [{"peel": peel.number + 1, "wishes": {}, "left": []} for peel in self.peels]
        for entry, (client, peel) in enumerate(zip(self.wishes.asker, self.wishes.peel, strict=True)):
            row = wanted.indices[wanted.indptr[entry] : wanted.indptr[entry + 1]]
            peels[peel]["wishes"][self.clients[client]] = list(_names(self.clients, row))
        coalitions = []
        for number, peel in enumerate(self.peel_of.tolist()):
            members = list(self.members(number))
            coalitions.append({"members": members, "peel": peel + 1})
            peels[peel]["left"].append(members)
        unmet = [{"client": u.client, "collaborator": u.collaborator, "peel": u.peel + 1} for u in self.unmet]
        return {"clients": list(self.clients), "coalitions": coalitions, "unmet": unmet, "peels": peels}

    @cached_property
    def _members(self) -> tuple[IntegerArray, IntegerArray]:
        """The positions of the clients sorted by coalition, and where each coalition begins."""
        sizes = np.bincount(self.numbers, minlength=len(self.peel_of))
        return np.argsort(self.numbers, kind="stable"), np.concatenate(([0], np.cumsum(sizes)))

    @cached_property
    def _last(self) -> IntegerArray:
        return self.wishes.valid_at(_NEVER)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {client: index for index, client in enumerate(self.clients)}

    def _place(self, client: str) -> int:
        if client not in self._positions:
            raise unknown_client(client, self.clients)
        return self._positions[client]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Equilibrium):
            return NotImplemented
        return self.clients == other.clients and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.clients, *self.numbers.tolist()))

    def __repr__(self) -> str:
        if len(self.clients) <= _MAX_CLIENTS_IN_REPR:
            return f"Equilibrium({_braces(map(self.members, range(len(self.peel_of))))})"
        return f"<Equilibrium: {len(self.clients):,} clients in {len(self.peel_of):,} coalitions>"


def _names(clients: tuple[str, ...], positions: IntegerArray) -> tuple[str, ...]:
    return tuple(clients[index] for index in positions.tolist())


def _braces(coalitions: Iterable[Iterable[str]]) -> str:
    """Write coalitions as sets: {a, b}, {c}."""
    return ", ".join("{" + ", ".join(coalition) + "}" for coalition in coalitions)
