"""A game: each client's utility with each coalition (paper, Section 3.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self, final

from comity.core.names import Coalition, check_coalition, check_name, shown, unknown_client
from comity.core.numbers import check_finite
from comity.errors import InputError
from comity.game.graph import BenefitGraph

if TYPE_CHECKING:
    import os

_KEYS = ("client", "coalition", "utility")


@final
class Game:
    """Utilities U(i, C): how well client i does with the data of coalition C; larger is better (paper, Section 3.1).

    A game need not record every coalition, but each client needs its utility alone, U(i, {i}), from which gains are
    measured. The utilities define a client's *maximal utility* among some others (Definition 1), its *collaborators*,
    which are the smallest set that attains it (Definition 2), and the benefit graph.

    Ties: where several sets attain a client's maximum, its collaborators are the set with the fewest members, and among
    these the one whose members come first in `clients` (compared like words in a dictionary). Where such a choice
    would tie clients together although some of them could leave without loss, `settle` chooses again. Utilities are
    equal only if the numbers are; round them first if smaller differences do not matter.

    Two games are equal if they have the same clients in the same order, which decides ties, and the same utilities.

    Args:
        records: Client, coalition and utility of each record: mappings with these keys, or tuples in this order. A
            repeated record counts once.

    Raises:
        InputError: If a record is incomplete, contradicts an earlier one, or leaves its client out of the coalition;
            or if a client has no utility alone.
        UnknownClientError: If a member of a coalition has no records.

    Attributes:
        clients: The clients' names, in the order of their first records.

    Example:
        >>> game = Game([
        ...     ("a", ["a"], 0.6), ("a", ["a", "b"], 0.8), ("a", ["a", "b", "c"], 0.8),
        ...     ("b", ["b"], 0.7), ("b", ["a", "b"], 0.9),
        ...     ("c", ["c"], 0.5), ("c", ["a", "c"], 0.6),
        ... ])
        >>> game.maximal_utility("a", {"a", "b", "c"})
        0.8
        >>> sorted(game.collaborators_of("a"))
        ['a', 'b']
        >>> game.benefit_graph()
        BenefitGraph({'a': ['b'], 'b': ['a'], 'c': ['a']})
    """

    clients: tuple[str, ...]

    def __init__(self, records: Iterable[Mapping[str, Any] | tuple[str, Iterable[str], float]]) -> None:
        utilities = _collect(records)
        self.clients = tuple(utilities)
        # A set is an integer with one bit for each client, the first client's the highest: of sets with equally many
        # members, the one whose members come first is the largest integer.
        self._bit = {client: 1 << index for index, client in enumerate(reversed(self.clients))}
        self._utilities = {
            client: {sum(map(self._bit.__getitem__, members)): utility for members, utility in recorded.items()}
            for client, recorded in utilities.items()
        }
        for client, recorded in self._utilities.items():
            if self._bit[client] not in recorded:
                raise InputError(
                    f"client {shown(client)} has no utility alone; add a record with the coalition [{shown(client)}], "
                    "since gains are measured from there"
                )
        # Each client's sets, best first: the first one inside the remaining clients is its set of collaborators.
        self._ranked = {client: sorted(sets.items(), key=_preference) for client, sets in self._utilities.items()}

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a game from a JSON file: a list of records with the keys client, coalition and utility.

        Args:
            path: The file, whose name ends in .json.

        Returns:
            The game.

        Raises:
            FormatError: If there is no such file, or it does not hold a game.
        """
        from comity.game.formats import load_game  # formats build games, so that they import this module

        game: Self = load_game(path)
        return game

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the game to a JSON file, which `load` reads.

        Args:
            path: The file, whose name ends in .json.

        Raises:
            InputError: If the name has another ending.
            OutputError: If the file cannot be written.
        """
        from comity.game.formats import save_game

        save_game(self, path)

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the records of the game, from which `Game` builds an equal one.

        Returns:
            An iterator over mappings with the keys client, coalition and utility.
        """
        bits = [(other, self._bit[other]) for other in self.clients]
        for client, recorded in self._utilities.items():
            for mask, utility in recorded.items():
                members = [other for other, bit in bits if mask & bit]
                yield {"client": client, "coalition": members, "utility": utility}

    def utility(self, client: str, coalition: Iterable[str]) -> float:
        """Return the recorded utility U(i, C) of exactly this coalition.

        Args:
            client: The client.
            coalition: The coalition, which holds the client.

        Returns:
            The utility.

        Raises:
            InputError: If the game does not record it; `maximal_utility` is always known.
            UnknownClientError: If one of the clients is not in the game.
        """
        mask = self._mask(coalition)
        try:
            return self._utilities[self._known(client)][mask]
        except KeyError:
            raise InputError(
                f"the game does not record the utility of {shown(client)} with {shown(sorted(self._members(mask)))}"
            ) from None

    def maximal_utility(self, client: str, coalition: Iterable[str]) -> float:
        """Return the best that a client can do with any part of a coalition (paper, Definition 1).

        Args:
            client: The client.
            coalition: The coalition, which holds the client.

        Returns:
            The largest recorded utility over the subsets of `coalition` that hold the client.

        Raises:
            InputError: If the client is not in the coalition.
            UnknownClientError: If one of the clients is not in the game.
        """
        return self._best(client, self._mask(coalition))[1]

    def collaborators_of(self, client: str, remaining: Iterable[str] | None = None) -> Coalition:
        """Return the smallest set that attains a client's maximal utility (paper, Definition 2).

        Args:
            client: The client.
            remaining: The clients to choose among; all if not given.

        Returns:
            The collaborators, the client itself among them.

        Raises:
            InputError: If the client is not among `remaining`.
            UnknownClientError: If one of the clients is not in the game.
        """
        return self._members(self._best(client, self._mask_of_remaining(remaining))[0])

    def best_sets(self, client: str, remaining: Iterable[str] | None = None) -> tuple[Coalition, ...]:
        """Return every set that attains a client's maximal utility while no proper subset of it does.

        Args:
            client: The client.
            remaining: The clients to choose among; all if not given.

        Returns:
            The sets, the collaborators first. More than one is a tie.

        Raises:
            InputError: If the client is not among `remaining`.
            UnknownClientError: If one of the clients is not in the game.
        """
        among = self._mask_of_remaining(remaining)
        best = self._best(client, among)[1]
        smallest: list[int] = []
        for mask, utility in self._ranked[client]:  # sets of equal utility are sorted by their number of members
            if utility < best:
                break
            if utility == best and not mask & ~among and not any(known & mask == known for known in smallest):
                smallest.append(mask)
        return tuple(self._members(mask) for mask in smallest)

    def benefit_graph(self, remaining: Iterable[str] | None = None) -> BenefitGraph:
        """Return the benefit graph: an edge j → i for every collaborator j of i (paper, Section 3.1).

        Args:
            remaining: The clients of the graph; all if not given.

        Returns:
            The graph, in the order of the game's clients.

        Raises:
            UnknownClientError: If one of the clients is not in the game.
        """
        members = self._members(self._mask_of_remaining(remaining))
        among = [client for client in self.clients if client in members]
        return BenefitGraph({client: self.collaborators_of(client, among) for client in among})

    def settle(self, coalition: Iterable[str]) -> dict[str, Coalition]:
        """Return a smallest part of a coalition that can leave without loss, with its members' collaborators.

        Without ties this is the whole of a stable coalition. With ties, clients may have been tied together by a choice
        between equally good sets; then it is a smaller part, which has no such part inside it (Definition 3,
        condition 2):

        1. Note what each member has in the coalition.
        2. Try each client in turn, the last one first: leave it out, and send away every member that now has less,
           until none does. Parts whose members all keep what they have are closed under union, so that this finds the
           largest such part without that client.
        3. If anybody remains, go on with that part.

        Args:
            coalition: The coalition that is about to leave.

        Returns:
            The collaborators of each member of the part, chosen within the part.
        """
        whole = self._mask(coalition)
        members = self._members(whole)
        part = whole if all(len(self.best_sets(client, members)) == 1 for client in members) else self._part(whole)
        chosen = self._members(part)
        return {client: self.collaborators_of(client, chosen) for client in chosen}

    def _part(self, part: int) -> int:
        """Leave out one client after the other, as long as a part remains that loses nothing."""
        goal = {client: self._best(client, part)[1] for client in self._members(part)}
        for client in reversed(self.clients):
            bit = self._bit[client]
            if part & bit and (smaller := self._largest_without_loss(part & ~bit, goal)):
                part = smaller
        return part

    def _largest_without_loss(self, part: int, goal: Mapping[str, float]) -> int:
        """Return the largest subset of `part` whose members all attain their goals."""
        while losers := [i for i in self._members(part) if self._best(i, part)[1] < goal[i]]:
            part &= ~self._mask(losers)
        return part

    def _best(self, client: str, among: int) -> tuple[int, float]:
        for mask, utility in self._ranked[self._known(client)]:
            if not mask & ~among:
                return mask, utility
        raise InputError(
            f"client {shown(client)} is not in {shown(sorted(self._members(among)))}; its coalition must include it"
        )

    def _known(self, client: str) -> str:
        if client not in self._bit:
            raise unknown_client(client, self.clients)
        return client

    def _mask_of_remaining(self, remaining: Iterable[str] | None) -> int:
        return (1 << len(self.clients)) - 1 if remaining is None else self._mask(remaining)

    def _mask(self, coalition: Iterable[str]) -> int:
        try:
            return sum(map(self._bit.__getitem__, set(coalition)))
        except KeyError as error:
            raise unknown_client(error.args[0], self.clients) from None

    def _members(self, mask: int) -> Coalition:
        return frozenset([client for client, bit in self._bit.items() if mask & bit])

    def __len__(self) -> int:
        return len(self.clients)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Game):
            return NotImplemented
        return self.clients == other.clients and self._utilities == other._utilities

    def __hash__(self) -> int:
        return hash((self.clients, *(frozenset(recorded.items()) for recorded in self._utilities.values())))

    def __repr__(self) -> str:
        sets = sum(len(recorded) for recorded in self._utilities.values())
        return f"<Game: {len(self.clients)} clients, {sets} utilities>"


def _collect(records: object) -> dict[str, dict[Coalition, float]]:
    """Check the records and return the utilities of every client by coalition."""
    if isinstance(records, str | Mapping) or not isinstance(records, Iterable):
        raise InputError(f"a game is built from a list of records, not from {shown(records)}")
    utilities: dict[str, dict[Coalition, float]] = {}
    for number, record in enumerate(records, start=1):
        client, coalition, utility = _check_record(record, number)
        known = utilities.setdefault(client, {}).setdefault(coalition, utility)
        if known != utility:
            raise InputError(
                f"record {number} gives {shown(client)} the utility {utility} with {shown(sorted(coalition))}, "
                f"and an earlier record gives {known}; keep one"
            )
    if not utilities:
        raise InputError("the game has no records; give at least one client's utility alone")
    for client, recorded in utilities.items():
        for coalition in recorded:
            if coalition <= utilities.keys():
                continue
            for member in coalition - utilities.keys():
                where = f"the coalition {shown(sorted(coalition))} of {shown(client)}"
                raise unknown_client(member, utilities, f"{where} (every member needs its own records)")
    return utilities


def _preference(entry: tuple[int, float]) -> tuple[float, int, int]:
    """Return the key that sorts sets by falling utility, then by size, then by their members' positions."""
    mask, utility = entry
    return -utility, mask.bit_count(), -mask


def _check_record(record: object, number: int) -> tuple[str, Coalition, float]:
    """Check one record and return its client, coalition and utility."""
    if isinstance(record, Mapping):
        if missing := [key for key in _KEYS if key not in record]:
            raise InputError(
                f"record {number} has no {missing[0]!r}; a record has the keys client, coalition and utility"
            )
        record = tuple(record[key] for key in _KEYS)
    if not isinstance(record, tuple | list) or len(record) != len(_KEYS):
        raise InputError(f"record {number} is {shown(record)}; expected client, coalition and utility")
    client, members, utility = record
    try:
        check_name(client)
        coalition = check_coalition(members, "the coalition")
    except InputError as error:
        raise InputError(f"record {number}: {error}") from None
    if client not in coalition:
        raise InputError(
            f"record {number}: the coalition {shown(sorted(coalition))} lacks its client {shown(client)}; add it"
        )
    return client, coalition, check_finite(utility, lambda: f"record {number}: the utility of {shown(client)}")
