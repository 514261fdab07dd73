"""A game: each client's utility with each coalition (paper, Section 3.1)."""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self, final

from comity.core.names import Coalition, check_coalition, check_name, shown, unknown_client
from comity.core.numbers import check_finite
from comity.errors import FormatError, InputError
from comity.game.graph import BenefitGraph

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
        self._utilities = _collect(records)
        self.clients = tuple(self._utilities)
        for client, recorded in self._utilities.items():
            if frozenset([client]) not in recorded:
                raise InputError(
                    f"client {shown(client)} has no utility alone; add a record with the coalition [{shown(client)}], "
                    "since gains are measured from there"
                )
        position = {client: index for index, client in enumerate(self.clients)}

        def preference(entry: tuple[Coalition, float]) -> tuple[float, int, list[int]]:
            members, utility = entry
            return -utility, len(members), sorted(map(position.__getitem__, members))

        # Each client's sets, best first: the first one inside the remaining clients is its set of collaborators.
        self._ranked = {client: sorted(sets.items(), key=preference) for client, sets in self._utilities.items()}

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
        from comity.game.formats import load  # formats build games, so that they import this module

        loaded = load(path)
        if not isinstance(loaded, cls):
            raise FormatError(
                f"{path}: this is a graph, but a game is needed: records of client, coalition and utility"
            )
        return loaded

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
        for client, recorded in self._utilities.items():
            for coalition, utility in recorded.items():
                yield {"client": client, "coalition": self._ordered(coalition), "utility": utility}

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
        members = self._check(coalition)
        try:
            return self._utilities[self._known(client)][members]
        except KeyError:
            raise InputError(
                f"the game does not record the utility of {shown(client)} with {shown(sorted(members))}"
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
        return self._best(client, self._check(coalition))[1]

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
        return self._best(client, self._check(remaining))[0]

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
        among = self._check(remaining)
        best = self._best(client, among)[1]
        smallest: list[Coalition] = []
        for members, utility in self._ranked[client]:  # sets of equal utility are sorted by their number of members
            if utility < best:
                break
            if utility == best and members <= among and not any(known <= members for known in smallest):
                smallest.append(members)
        return tuple(smallest)

    def benefit_graph(self, remaining: Iterable[str] | None = None) -> BenefitGraph:
        """Return the benefit graph: an edge j → i for every collaborator j of i (paper, Section 3.1).

        Args:
            remaining: The clients of the graph; all if not given.

        Returns:
            The graph, in the order of the game's clients.

        Raises:
            UnknownClientError: If one of the clients is not in the game.
        """
        among = self._check(remaining)
        return BenefitGraph({client: self._best(client, among)[0] for client in self._ordered(among)})

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
        part = self._check(coalition)
        if any(len(self.best_sets(client, part)) > 1 for client in part):
            goal = {client: self._best(client, part)[1] for client in part}
            for client in reversed(self._ordered(part)):
                if client in part and (smaller := self._largest_without_loss(part - {client}, goal)):
                    part = smaller
        return {client: self._best(client, part)[0] for client in self._ordered(part)}

    def _largest_without_loss(self, part: Coalition, goal: Mapping[str, float]) -> Coalition:
        """Return the largest subset of `part` whose members all attain their goals."""
        while losers := [i for i in part if self._best(i, part)[1] < goal[i]]:
            part = part.difference(losers)
        return part

    def _best(self, client: str, among: Coalition) -> tuple[Coalition, float]:
        """Return the client's collaborators among some clients, and its utility with them."""
        for members, utility in self._ranked[self._known(client)]:
            if members <= among:
                return members, utility
        raise InputError(f"client {shown(client)} is not in {shown(sorted(among))}; its coalition must include it")

    def _known(self, client: str) -> str:
        if client not in self._utilities:
            raise unknown_client(client, self.clients)
        return client

    def _check(self, clients: Iterable[str] | None) -> Coalition:
        """Return some clients of the game as a set, all for None."""
        members = frozenset(self.clients if clients is None else clients)
        for unknown in members.difference(self._utilities):
            raise unknown_client(unknown, self.clients)
        return members

    def _ordered(self, members: Coalition) -> list[str]:
        return [client for client in self.clients if client in members]

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
            for member in coalition.difference(utilities):
                where = f"the coalition {shown(sorted(coalition))} of {shown(client)}"
                raise unknown_client(member, utilities, f"{where} (every member needs its own records)")
    return utilities


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
