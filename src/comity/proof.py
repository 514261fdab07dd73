"""The inequalities of a certificate: how a few utilities decide both axioms (docs/theory.md proves that they do)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from comity.axioms import NOTHING, Utility, Witness
from comity.core import Coalition, check_finite, shown

Stays = Callable[[str, Coalition], bool]
_MOST_QUESTIONS = 10_000
_DUST = 1e-12  # what adding the same numbers in another order may change


@dataclass(frozen=True, slots=True)
class OuterInequality:
    """`client` gains nothing from anybody of `among`: ``best`` = U(i, among) ≤ U(i, C) = ``utility``."""

    client: str
    among: Coalition
    utility: float
    best: float

    @property
    def margin(self) -> float:
        """What the coalition gives beyond what there is to get, without what is forgiven; 0 says that it gives all."""
        return self.utility - self.best


@dataclass(frozen=True, slots=True)
class InnerInequality:
    """Leaving `without` out of its coalition costs `client`: ``reduced`` = U(i, C∖without) < U(i, C) = ``utility``."""

    client: str
    without: Coalition
    utility: float
    reduced: float

    @property
    def margin(self) -> float:
        """What `client` would lose: what those left out bring it."""
        return self.utility - self.reduced


class Values:
    """The utility, asked once for each set, checked to be finite and, where that shows, to be maximal."""

    def __init__(
        self,
        utility: Utility,
        homes: Mapping[str, Coalition],
        tolerance: float,
        forgiven: Mapping[str, float] = NOTHING,
    ) -> None:
        self.utility = utility
        self.homes = homes
        self.everybody = frozenset(homes)
        self.tolerance = tolerance
        self.forgiven = forgiven
        self.contradiction: str | None = None
        self._known: dict[tuple[str, Coalition], float] = {}

    @property
    def count(self) -> int:
        """How many utilities were asked for."""
        return len(self._known)

    def __call__(self, client: str, coalition: Coalition) -> float:
        """Return the utility of a client with a coalition."""
        key = (client, coalition)
        if key not in self._known:
            self._known[key] = check_finite(
                self.utility(client, coalition),
                lambda: f"the utility of {shown(client)} with {shown(sorted(coalition))}",
            )
            self._compare(client, coalition)
        return self._known[key]

    def home(self, client: str) -> float:
        """Return the utility of a client in its own coalition."""
        return self(client, self.homes[client])

    def gains(self, client: str, coalition: Coalition) -> bool:
        """Tell whether a client is better off with a coalition than in its own."""
        return self(client, coalition) > self.home(client) + self.tolerance + self.forgiven.get(client, 0.0)

    def loses(self, client: str, coalition: Coalition) -> bool:
        """Tell whether a client is worse off with a coalition than in its own."""
        return self(client, coalition) < self.home(client) - self.tolerance

    def _compare(self, client: str, coalition: Coalition) -> None:
        """Compare a new value with that of the client's own coalition, and of everybody, where one holds the other."""
        for other in (self.homes[client], self.everybody):
            if (client, other) in self._known:
                small, large = sorted((coalition, other), key=len)
                less, more = self._known[client, small], self._known[client, large]
                if small <= large and less > more + _DUST * abs(less):
                    self.contradiction = self.contradiction or (
                        f"{client} has {less:.6g} with {{{', '.join(sorted(small))}}} "
                        f"and {more:.6g} with {{{', '.join(sorted(large))}}}"
                    )


def check_outer(
    coalitions: list[tuple[str, ...]], values: Values
) -> tuple[tuple[OuterInequality, ...], tuple[Coalition, ...], Witness | None]:
    """Look for an order in which everybody gains nothing from those who are still there.

    Whole coalitions go first; they are tried in the order given, so that for an `Equilibrium` every client is asked
    once. Where that is stuck, single clients go. Who is left at the end is the largest rival coalition, since sets in
    which everybody gains are closed under union.
    """
    found: dict[str, OuterInequality] = {}

    def lets_go(i: str, among: Coalition) -> bool:
        if i not in found and not values.gains(i, among):
            found[i] = OuterInequality(i, among, values.home(i), values(i, among))
        return i in found

    waiting = dict.fromkeys(coalitions)
    order: list[Coalition] = []
    stuck = False
    while waiting and not stuck:
        stuck = True
        for coalition in tuple(waiting):
            among = frozenset(i for other in waiting for i in other)
            if all(lets_go(i, among) for i in coalition):
                order.append(frozenset(coalition))
                del waiting[coalition]
                stuck = False

    rest = tuple(i for coalition in waiting for i in coalition)
    while rest and len(staying := tuple(i for i in rest if not lets_go(i, frozenset(rest)))) < len(rest):
        rest = staying
    rival = _smallest(rest, lambda i, among: values.gains(i, among))
    return tuple(found.values()), tuple(order), _witness("outer", rival, values)


def check_inner(
    coalitions: list[tuple[str, ...]], values: Values, claimed: Callable[[str], Coalition] | None
) -> tuple[tuple[InnerInequality, ...], list[Witness | None], list[str]]:
    """Look, in every coalition, for a part that can leave without loss; return what was checked, parts and ties."""
    checked: dict[tuple[str, Coalition], InnerInequality] = {}
    deserters: list[Witness | None] = []
    notes: list[str] = []

    def costs(i: str, home: Coalition, left: Coalition) -> bool:
        loses = values.loses(i, left)
        if loses:
            checked[i, home - left] = InnerInequality(i, home - left, values.home(i), values(i, left))
        return loses

    for coalition in coalitions:
        if len(coalition) == 1:  # has no part that could leave
            continue
        home = frozenset(coalition)
        needed_by: dict[str, list[str]] = {j: [] for j in coalition}
        for i in coalition:
            wanted = home if claimed is None else claimed(i) & home
            for j in coalition:
                if j == i or j not in wanted:
                    continue
                if costs(i, home, home - {j}):
                    needed_by[j].append(i)
                elif claimed is not None:
                    notes.append(f"{i} does as well without {j}: another best set exists")
        for component in _needed_by_no_other(needed_by):
            rest = tuple(i for i in coalition if i not in component)
            part = _largest(rest, lambda i, left, home=home: not costs(i, home, left))  # type: ignore[misc]
            deserters.append(_witness("inner", _smallest(part, lambda i, left: not values.loses(i, left)), values))
    return tuple(checked.values()), deserters, notes


def _needed_by_no_other(needed_by: Mapping[str, Collection[str]]) -> list[set[str]]:
    """Return the sets of clients who need each other, directly or through others, and whom nobody else needs.

    From a client, the way goes on to one who needs it and whom it does not need, as long as there is one; whoever
    stands at the end needs all who need it. The solver looks for such sets in another way, so that a mistake in the
    one shows in the other.
    """
    needs: dict[str, list[str]] = {client: [] for client in needed_by}
    for client, others in needed_by.items():
        for other in others:
            needs[other].append(client)
    found: list[set[str]] = []
    settled: set[str] = set()
    for client in needed_by:
        if client in settled:
            continue
        at = client
        while not (dependent := _lead_to(at, needed_by)).keys() <= (supporting := _lead_to(at, needs)).keys():
            at = next(other for other in dependent if other not in supporting)
        found.append(set(dependent))
        settled.update(supporting)
    position = {client: place for place, client in enumerate(needed_by)}
    return sorted(found, key=lambda part: min(position[client] for client in part))


def _lead_to(client: str, leads: Mapping[str, Collection[str]]) -> dict[str, None]:
    """Return a client and all to whom it leads, in the order in which they are met."""
    met, ahead = {client: None}, [client]
    while ahead:
        new = dict.fromkeys(other for other in leads[ahead.pop()] if other not in met)
        met |= new
        ahead += new
    return met


def _largest(clients: tuple[str, ...], stays: Stays) -> tuple[str, ...]:
    """Return the largest subset all of whose members stay in it, by sending away those who do not.

    Right if a client that stays in a set stays in every larger one.
    """
    while clients:
        among = frozenset(clients)
        staying = tuple(i for i in clients if stays(i, among))
        if staying == clients:
            return clients
        clients = staying
    return ()


class _EnoughAskedError(Exception):
    pass


def _smallest(clients: tuple[str, ...], stays: Stays) -> tuple[str, ...]:
    """Return a subset all of whose members stay in it, with none inside it, given one all of whose members stay.

    That takes up to n³ questions for n clients, for the sake of a witness that is easy to grasp; after some thousands
    it is left as small as it is.
    """
    questions = itertools.count()

    def counted(i: str, among: Coalition) -> bool:
        if next(questions) >= _MOST_QUESTIONS:
            raise _EnoughAskedError
        return stays(i, among)

    with suppress(_EnoughAskedError):
        for i in reversed(clients):
            if i in clients and (fewer := _largest(tuple(j for j in clients if j != i), counted)):
                clients = fewer
    return clients


def _witness(axiom: Any, members: tuple[str, ...], values: Values) -> Witness | None:
    if not members:
        return None
    then = {i: values(i, frozenset(members)) for i in members}
    return Witness(axiom, members, {i: values.home(i) for i in members}, then)
