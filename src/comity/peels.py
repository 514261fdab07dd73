"""What peeling leaves behind: the coalitions, and every peel that produced them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, overload

import numpy as np
from scipy.sparse import csr_array

from comity.core import BenefitGraph, Coalition, unknown_client
from comity.core.components import Integers

_NEVER = np.iinfo(np.int32).max
_SHOWN = 30


@dataclass(frozen=True, slots=True)
class UnmetWish:
    """A client lost a collaborator: `collaborator` left in peel `peel` (from 0) with a coalition without `client`."""

    client: str
    collaborator: str
    peel: int

    def __str__(self) -> str:
        return f"{self.client} wanted {self.collaborator}; {self.collaborator} gains nothing from {self.client}"


@dataclass(frozen=True, slots=True)
class Peel:
    """One iteration: who remained, what they wanted, who was asked for it, who left.

    What it tells is worked out when asked for, since a long chain has as many peels as clients.
    """

    equilibrium: Equilibrium
    number: int

    @property
    def graph(self) -> BenefitGraph:
        """The benefit graph of the clients that remained."""
        return self.equilibrium.graph_at(self.number)

    @property
    def remaining(self) -> tuple[str, ...]:
        """The clients that had not left before this peel."""
        return _names(self.equilibrium.clients, self.equilibrium.remaining_at(self.number))

    @property
    def asked(self) -> tuple[str, ...]:
        """The clients that named their collaborators: all at first, later those who lost one or had a tie to settle."""
        return _names(self.equilibrium.clients, self.equilibrium.wishes.asked_at(self.number))

    @property
    def stable(self) -> tuple[Coalition, ...]:
        """The coalitions that left: strongly connected, and wanting nobody else of those who remained."""
        first, after = self.equilibrium.bounds_of_peel(self.number)
        return tuple(self.equilibrium.coalition(number) for number in range(first, after))

    def __repr__(self) -> str:
        first, after = self.equilibrium.bounds_of_peel(self.number)
        sizes = [len(self.equilibrium.members(number)) for number in range(first, min(after, first + _SHOWN))]
        if after - first < _SHOWN and sum(sizes) <= _SHOWN:
            return f"<Peel {self.number}: {_braces(map(self.equilibrium.members, range(first, after)))} left>"
        return f"<Peel {self.number}: {after - first:,} coalitions left>"


@dataclass(frozen=True, slots=True, eq=False)
class Wishes:
    """What was answered: entry e says that in peel ``peel[e]`` client ``asker[e]`` wanted row e of `wanted`.

    Entries are in the order of peels; a later entry replaces an earlier one of the same client.
    """

    asker: Integers
    peel: Integers
    wanted: csr_array

    def asked_at(self, number: int) -> Integers:
        """Return the positions of the clients that were asked in a peel, rising."""
        first, after = np.searchsorted(self.peel, (number, number + 1))
        return np.unique(self.asker[first:after])

    def valid_at(self, number: int) -> Integers:
        """Return each client's last entry up to a peel."""
        until = int(np.searchsorted(self.peel, number, side="right"))
        last = np.zeros(self.wanted.shape[1], np.intp)
        last[self.asker[:until]] = np.arange(until)  # of equal positions the last assignment stays
        return last

    def replaced_at(self) -> Integers:
        """Return for each entry the peel in which its client's next one replaced it, or a number past all peels."""
        order = np.argsort(self.asker, kind="stable")
        again = np.flatnonzero(self.asker[order[1:]] == self.asker[order[:-1]])
        replaced = np.full(self.asker.size, _NEVER, np.int32)
        replaced[order[again]] = self.peel[order[again + 1]]
        return replaced


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A partition of the clients, with the peels that produced it.

    Two arrays hold it, so a million clients are no burden: each client's coalition, numbered in the order in which
    coalitions form, and the peel in which each coalition left. Names and sets are made when they are asked for.
    """

    clients: tuple[str, ...]
    numbers: Integers
    peel_of: Integers
    wishes: Wishes

    def __post_init__(self) -> None:
        for array in (self.numbers, self.peel_of, self.wishes.asker, self.wishes.peel):
            array.flags.writeable = False

    @cached_property
    def coalitions(self) -> tuple[Coalition, ...]:
        """The coalitions in the order in which they form; within a peel, by the first client of each."""
        members, starts = self._members
        names = _names(self.clients, members)
        return tuple(frozenset(names[first:after]) for first, after in pairwise(starts.tolist()))

    @property
    def peels(self) -> Sequence[Peel]:
        """The peels, in order."""
        return Peels(self)

    def coalition_of(self, client: str) -> Coalition:
        """Return the coalition that `client` is in."""
        return self.coalition(int(self.numbers[self._place(client)]))

    def peel_number_of(self, client: str) -> int:
        """Return the number of the peel, from 0, in which `client` left."""
        return int(self.peel_of[self.numbers[self._place(client)]])

    def collaborators_of(self, client: str) -> Coalition:
        """Return what `client` wanted when it left: collaborators in its own coalition, itself among them."""
        place = self._place(client)
        wanted, entry = self.wishes.wanted, self._last[place]
        row = wanted.indices[wanted.indptr[entry] : wanted.indptr[entry + 1]]
        return frozenset({client, *(self.clients[j] for j in row if self.numbers[j] == self.numbers[place])})

    @cached_property
    def unmet(self) -> tuple[UnmetWish, ...]:
        """The wishes that stayed unmet, in the order in which collaborators left: who lost whom, in which peel."""
        entries = np.repeat(np.arange(self.wishes.asker.size), np.diff(self.wishes.wanted.indptr))
        askers, wanted = self.wishes.asker[entries], self.wishes.wanted.indices
        left = self.peel_of[self.numbers]
        gone = left[wanted]
        # Lost is who left before the client did and while it was still wanted.
        lost = np.flatnonzero((gone < left[askers]) & (gone < self.wishes.replaced_at()[entries]))
        lost = lost[np.lexsort((wanted[lost], askers[lost], gone[lost]))]
        return tuple(
            UnmetWish(self.clients[i], self.clients[j], int(peel))
            for i, j, peel in zip(askers[lost], wanted[lost], gone[lost], strict=True)
        )

    def members(self, number: int) -> tuple[str, ...]:
        """Return the members of coalition `number`, in the order of the clients."""
        members, starts = self._members
        number = range(len(self.peel_of))[number]
        return _names(self.clients, members[starts[number] : starts[number + 1]])

    def coalition(self, number: int) -> Coalition:
        """Return coalition `number`, counted from 0 in the order in which coalitions form."""
        number = range(len(self.peel_of))[number]
        if number not in self._coalitions:
            self._coalitions[number] = frozenset(self.members(number))
        return self._coalitions[number]

    def bounds_of_peel(self, number: int) -> tuple[int, int]:
        """Return the number of the first coalition that left in a peel, and of the first that left after it."""
        first, after = np.searchsorted(self.peel_of, (number, number + 1))
        return int(first), int(after)

    def remaining_at(self, number: int) -> Integers:
        """Return the positions of the clients that had not left before a peel, rising."""
        return np.flatnonzero(self.peel_of[self.numbers] >= number)

    def graph_at(self, number: int) -> BenefitGraph:
        """Return the benefit graph of a peel: what those who remained wanted of each other."""
        remaining = self.remaining_at(number)
        wanted = self.wishes.wanted[self.wishes.valid_at(number)[remaining]][:, remaining].tocsr()
        return BenefitGraph._from_wants(_names(self.clients, remaining), wanted)

    def to_dict(self) -> dict[str, Any]:
        """Return the equilibrium as plain values, for JSON; peels are counted from 1, as people do.

        Of each peel it tells whom those who were asked in it wanted and which coalitions left; what the others
        wanted is in an earlier peel.
        """
        wanted = self.wishes.wanted
        peels: list[dict[str, Any]] = [
            {"peel": number + 1, "wishes": {}, "left": []} for number in range(len(self.peels))
        ]
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
    def _members(self) -> tuple[Integers, Integers]:
        """Clients sorted by coalition, and where each coalition begins."""
        sizes = np.bincount(self.numbers, minlength=len(self.peel_of))
        return np.argsort(self.numbers, kind="stable"), np.concatenate(([0], np.cumsum(sizes)))

    @cached_property
    def _coalitions(self) -> dict[int, Coalition]:
        return {}

    @cached_property
    def _last(self) -> Integers:
        return self.wishes.valid_at(_NEVER)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {client: index for index, client in enumerate(self.clients)}

    def _place(self, client: str) -> int:
        if client not in self._positions:
            raise unknown_client(client, self.clients)
        return self._positions[client]

    def __repr__(self) -> str:
        if len(self.clients) <= _SHOWN:
            return f"Equilibrium({_braces(map(self.members, range(len(self.peel_of))))})"
        return f"<Equilibrium: {len(self.clients):,} clients in {len(self.peel_of):,} coalitions>"


@dataclass(frozen=True, slots=True)
class Peels(Sequence[Peel]):
    """The peels of an equilibrium, each made when it is looked at."""

    equilibrium: Equilibrium

    def __len__(self) -> int:
        return int(self.equilibrium.peel_of[-1]) + 1

    @overload
    def __getitem__(self, number: int) -> Peel: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Peel]: ...
    def __getitem__(self, number: int | slice) -> Peel | Sequence[Peel]:
        if isinstance(number, slice):
            return [Peel(self.equilibrium, index) for index in range(*number.indices(len(self)))]
        return Peel(self.equilibrium, range(len(self))[number])

    def __repr__(self) -> str:
        return f"<{len(self):,} peels>"


def _names(clients: tuple[str, ...], positions: Integers) -> tuple[str, ...]:
    return tuple(clients[index] for index in positions.tolist())


def _braces(coalitions: Iterable[Iterable[str]]) -> str:
    """Write coalitions as people do: {a, b}, {c}."""
    return ", ".join("{" + ", ".join(coalition) + "}" for coalition in coalitions)
