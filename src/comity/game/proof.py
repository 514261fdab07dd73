"""The inequalities of a certificate: a few utilities decide both axioms, as docs/theory.md proves."""

import itertools
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, runtime_checkable

from comity.core.names import Coalition, shown
from comity.core.numbers import check_finite
from comity.game.axioms import Utility, Witness, make_witness


@runtime_checkable
class Partition(Protocol):
    """Coalitions together with the collaborators of each client, for example an `Equilibrium`."""

    @property
    def coalitions(self) -> tuple[Coalition, ...]:
        """The coalitions."""

    def collaborators_of(self, client: str) -> Coalition:
        """Return the collaborators of a client in its coalition."""


Stays = Callable[[str, Coalition], bool]
"""Whether a client stays in a coalition."""
_MAX_QUESTIONS_FOR_SMALLEST = 10_000
_MAX_EDGES = 2_000  # of a coalition; with more, only those are checked that tie it together
_ROUNDING = 1e-12  # the relative difference that adding the same numbers in another order may make


@dataclass(frozen=True, slots=True)
class OuterInequality:
    """`client` gains nothing from the clients `among`: ``best`` = U(i, among) ≤ U(i, C) = ``utility``."""

    client: str
    among: Coalition
    utility: float
    best: float

    @property
    def margin(self) -> float:
        """How much better the coalition is than the best among the clients; negative only within what is forgiven."""
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
        """What `client` would lose without them."""
        return self.utility - self.reduced


@dataclass
class Values:
    """The utility, called once for each client and set, and checked to be finite and maximal.

    A utility is maximal if it never falls when a set grows. Each value is compared with those of the client's own
    coalition and of all clients; `contradiction` describes the first fall that was found.
    """

    utility: Utility
    homes: Mapping[str, Coalition]
    tolerance: float
    forgiven: Mapping[str, float]
    contradiction: str | None = None
    known: dict[tuple[str, bool, Coalition], float] = field(default_factory=dict)

    @cached_property
    def all_clients(self) -> Coalition:
        """The clients of all coalitions."""
        return frozenset(self.homes)

    def __call__(self, client: str, coalition: Coalition) -> float:
        """Return the utility of a client with a coalition."""
        key = self._key(client, coalition)
        if key not in self.known:
            value = check_finite(
                self.utility(client, coalition),
                lambda: f"the utility of {shown(client)} with {shown(sorted(coalition))}",
            )
            self._compare(client, coalition, value)
            self.known[key] = value
        return self.known[key]

    def _key(self, client: str, coalition: Coalition) -> tuple[str, bool, Coalition]:
        """Return what a value is remembered by: of a part of the client's own coalition, those that are not in it."""
        home = self.homes[client]
        if coalition is home:
            return client, True, frozenset()
        return (client, True, home - coalition) if coalition <= home else (client, False, coalition)

    def home(self, client: str) -> float:
        """Return the utility of a client in its own coalition."""
        return self(client, self.homes[client])

    def gains(self, client: str, coalition: Coalition) -> bool:
        """Return whether a client is better off with a coalition than in its own."""
        return self(client, coalition) > self.home(client) + self.tolerance + self.forgiven.get(client, 0.0)

    def loses(self, client: str, coalition: Coalition) -> bool:
        """Return whether a client is worse off with a coalition than in its own."""
        return self(client, coalition) < self.home(client) - self.tolerance

    def _compare(self, client: str, coalition: Coalition, value: float) -> None:
        """Compare a new value with those of the client's own coalition and of all clients, if the sets are nested."""
        for other in (self.homes[client], self.all_clients):
            known = self.known.get(self._key(client, other))
            if known is not None:
                small, large = sorted((coalition, other), key=len)
                less, more = (value, known) if small is coalition else (known, value)
                if less > more + _ROUNDING * abs(less) and small <= large:
                    self.contradiction = self.contradiction or (
                        f"{client} has {less:.6g} with {{{', '.join(sorted(small))}}} "
                        f"and {more:.6g} with {{{', '.join(sorted(large))}}}"
                    )


def check_outer(
    coalitions: list[tuple[str, ...]], values: Values
) -> tuple[tuple[OuterInequality, ...], tuple[Coalition, ...], Witness | None]:
    """Look for an order in which each client gains nothing from those that remain (docs/theory.md, Theorem 1).

    1. Go through the coalitions in the given order. If no member of a coalition gains from all that remain, the
       coalition leaves. Repeat until none leaves. Who remains is counted again only if a coalition could not leave, so
       that many coalitions share one set; for an `Equilibrium`, one pass asks for each client once, and for one client
       of each peel twice.
    2. Do the same with the single clients of the coalitions that are left.
    3. The clients that remain now, if any, would all gain together. Because sets in which all members gain are closed
       under union, they are the largest rival coalition; a smallest one inside it becomes the witness.

    Returns the inequalities, the coalitions in the order in which they left, and the rival coalition if there is one.
    """
    found: dict[str, OuterInequality] = {}

    def can_leave(i: str, among: Coalition) -> bool:
        if i not in found and not values.gains(i, among):
            found[i] = OuterInequality(i, among, values.home(i), values(i, among))
        return i in found

    waiting = dict.fromkeys(coalitions)
    order: list[Coalition] = []
    stuck = False
    among = frozenset(i for coalition in coalitions for i in coalition)
    while waiting and not stuck:
        stuck = True
        for coalition in tuple(waiting):
            leaves = all(can_leave(i, among) for i in coalition)
            if not leaves and len(among) > sum(map(len, waiting)):  # some that were among them have left
                among = frozenset(i for other in waiting for i in other)
                leaves = all(can_leave(i, among) for i in coalition)
            if leaves:
                order.append(frozenset(coalition))
                del waiting[coalition]
                stuck = False

    rest = _largest(tuple(i for coalition in waiting for i in coalition), lambda i, among: not can_leave(i, among))
    rival = _smallest(rest, values.gains)
    witness = make_witness("outer", rival, values.homes, values) if rival else None
    return tuple(found.values()), tuple(order), witness


def check_inner(
    coalitions: list[tuple[str, ...]], values: Values, collaborators_of: Callable[[str], Coalition] | None
) -> tuple[tuple[InnerInequality, ...], list[Witness], list[str]]:
    """Look in every coalition for a part that can leave without loss (docs/theory.md, Theorem 2).

    1. Find out which clients each member needs: those whose absence costs it. Only its collaborators are tried, or, if
       they are not given, all other members. Of very many, only as many are tried as tie the coalition together.
    2. Find the groups of members that need each other and that no other member needs. If the coalition is strongly
       connected, it is the only such group, and no part can leave.
    3. For each group, take the members outside it and send away those that lose, until none does. The rest, if any, can
       leave without loss; a smallest part of it becomes a witness.

    Returns the inequalities, the parts that can leave, and notes on ties.
    """
    checked: dict[tuple[str, Coalition], InnerInequality] = {}
    leaving: list[Witness] = []
    notes: list[str] = []

    def costs(i: str, left: Coalition) -> bool:
        if loses := values.loses(i, left):
            without = values.homes[i] - left
            checked[i, without] = InnerInequality(i, without, values.home(i), values(i, left))
        return loses

    for coalition in coalitions:
        if len(coalition) == 1:  # it has no proper part
            continue
        home = frozenset(coalition)
        needed_by: dict[str, list[str]] = {j: [] for j in coalition}
        for j, i in _edges_within(coalition, collaborators_of):
            if costs(i, home - {j}):
                needed_by[j].append(i)
            elif collaborators_of is not None:
                notes.append(f"{i} does as well without {j}: another best set exists")
        for component in _needed_by_no_other(needed_by):
            rest = tuple(i for i in coalition if i not in component)
            if part := _largest(rest, lambda i, left: not costs(i, left)):
                smallest = _smallest(part, lambda i, left: not values.loses(i, left))
                leaving.append(make_witness("inner", smallest, values.homes, values))
    return tuple(checked.values()), leaving, notes


def edges_to_check(partition: Partition) -> Iterator[tuple[str, str]]:
    """Yield the edges j → i within coalitions, as pairs (j, i), that `check_inner` checks for inner agreement."""
    for coalition in partition.coalitions:
        if len(coalition) > 1:
            yield from _edges_within(tuple(sorted(coalition)), partition.collaborators_of)


def _edges_within(
    coalition: tuple[str, ...], collaborators_of: Callable[[str], Coalition] | None
) -> list[tuple[str, str]]:
    """Return the edges within a coalition; of more than `_MAX_EDGES`, a few that connect it strongly if all do.

    These are a tree from one member to all others and a tree from all others to it, each found breadth first.
    """
    inside = frozenset(coalition)
    if collaborators_of is None:
        return [(j, i) for i in coalition for j in coalition if j != i]
    givers = {
        i: [j for j in coalition if j != i and j in wanted]
        for i in coalition
        for wanted in (collaborators_of(i) & inside,)
    }
    edges = [(j, i) for i in coalition for j in givers[i]]
    if len(edges) <= _MAX_EDGES:
        return edges
    receivers: dict[str, list[str]] = {j: [] for j in coalition}
    for j, i in edges:
        receivers[j].append(i)
    outward, inward = _tree(coalition[0], receivers), _tree(coalition[0], givers)
    if len(outward) < len(coalition) - 1 or len(inward) < len(coalition) - 1:
        return edges
    return sorted({*outward, *((j, i) for i, j in inward)}, key=lambda edge: (edge[1], edge[0]))


def _tree(root: str, edges: Mapping[str, Collection[str]]) -> list[tuple[str, str]]:
    """Return the edges by which a search, breadth first, reaches everything from a root."""
    reached, found = {root}, []
    queue = deque([root])
    while queue:
        at = queue.popleft()
        for other in edges[at]:
            if other not in reached:
                reached.add(other)
                found.append((at, other))
                queue.append(other)
    return found


def _needed_by_no_other(needed_by: Mapping[str, Collection[str]]) -> list[set[str]]:
    """Return the groups of clients that need each other, directly or through others, and that no other client needs.

    A client is in such a group if it depends on all clients that depend on it, directly or through others; the group is
    these clients. The solver finds such groups by another algorithm, so that a mistake in one shows in the other.
    """
    needs: dict[str, list[str]] = {client: [] for client in needed_by}
    for client, others in needed_by.items():
        for other in others:
            needs[other].append(client)
    found: list[set[str]] = []
    for client in needed_by:
        if not any(client in group for group in found):
            dependent = _reachable(client, needed_by)
            if dependent <= _reachable(client, needs):
                found.append(dependent)
    return found


def _reachable(client: str, edges: Mapping[str, Collection[str]]) -> set[str]:
    """Return a client and all that can be reached from it along the edges."""
    found, frontier = {client}, [client]
    while frontier:
        new = set(edges[frontier.pop()]) - found
        found |= new
        frontier += new
    return found


def _largest(clients: tuple[str, ...], stays: Stays) -> tuple[str, ...]:
    """Return the largest subset whose members all stay in it, by sending away those that do not, again and again.

    This is correct if a client that stays in a set also stays in every larger set.
    """
    while clients:
        among = frozenset(clients)
        staying = tuple(i for i in clients if stays(i, among))
        if staying == clients:
            return clients
        clients = staying
    return ()


class _TooManyQuestionsError(Exception):
    pass


def _smallest(clients: tuple[str, ...], stays: Stays) -> tuple[str, ...]:
    """Return a subset whose members all stay in it and that has no smaller one inside it.

    The members of `clients` all stay. Leave out each client in turn, the last one first, and go on with the largest
    subset of the others whose members all stay, if there is one. This takes up to n³ questions for n clients, only to
    make the witness easier to read, and therefore stops after some thousands.
    """
    questions = itertools.count()

    def counted(i: str, among: Coalition) -> bool:
        if next(questions) >= _MAX_QUESTIONS_FOR_SMALLEST:
            raise _TooManyQuestionsError
        return stays(i, among)

    with suppress(_TooManyQuestionsError):
        for i in reversed(clients):
            if i in clients and (fewer := _largest(tuple(j for j in clients if j != i), counted)):
                clients = fewer
    return clients
