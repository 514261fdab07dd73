"""A game: what each client's utility is, with each set of clients (paper, Section 3.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self, final

from comity.core.graph import BenefitGraph
from comity.core.names import Coalition, check_coalition, check_name, shown, unknown_client
from comity.core.numbers import check_finite
from comity.errors import InputError

if TYPE_CHECKING:
    import os

_KEYS = ("client", "coalition", "utility")


@final
class Game:
    """Utilities U(i, C): how well client i does with the data of coalition C, larger being better.

    Not every coalition needs a utility; each client needs one alone, U(i, {i}), from which gains are measured.
    From the utilities follow the *maximal utility* of a client among some others (Definition 1), its
    *collaborators*, the smallest set that attains it (Definition 2), and the benefit graph.

    **Ties.** Where several sets attain a client's maximum, its collaborators are the set with the fewest members,
    and among these the one whose members stand first in `clients` (compared like words in a dictionary). Where
    such a choice would bind clients together though a part of them could leave without loss, `settle` chooses
    again. Utilities are equal if the numbers are; round them beforehand if you mean less.

    >>> game = Game.from_records([
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
        """Take records of client, coalition and utility: mappings with these keys, or triples.

        Clients are ordered as they first stand as the client of a record. The same record twice is harmless.
        """
        utilities = _collect(records)
        self.clients = tuple(utilities)
        # Sets are numbers with a bit for each client, the first the highest: of as many members, those that stand first
        # make the larger number.
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
        # Best first by the rule for ties, so that the first set that fits is the answer to every question.
        self._ranked = {client: sorted(sets.items(), key=_preference) for client, sets in self._utilities.items()}

    @classmethod
    def from_records(cls, records: Iterable[Mapping[str, Any] | tuple[str, Iterable[str], float]]) -> Self:
        """Build a game from records of client, coalition and utility: mappings with these keys, or triples."""
        return cls(records)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a game from a JSON file: a list of records with the keys client, coalition and utility."""
        from comity.formats import load_game  # formats build games, so they stand above this module

        game: Self = load_game(path)
        return game

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the game to a JSON file, as `load` reads it."""
        from comity.formats import save_game

        save_game(self, path)

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the records of the game, as `from_records` takes them."""
        bits = [(other, self._bit[other]) for other in self.clients]
        for client, recorded in self._utilities.items():
            for mask, utility in recorded.items():
                members = [other for other, bit in bits if mask & bit]
                yield {"client": client, "coalition": members, "utility": utility}

    def utility(self, client: str, coalition: Iterable[str]) -> float:
        """Return the recorded utility U(i, C) of this very coalition."""
        mask = self._mask(coalition)
        try:
            return self._utilities[self._known(client)][mask]
        except KeyError:
            raise InputError(
                f"the game does not record the utility of {shown(client)} with {shown(sorted(self._members(mask)))}"
            ) from None

    def maximal_utility(self, client: str, coalition: Iterable[str]) -> float:
        """Return the best that `client` can do with any part of `coalition` that holds it (Definition 1)."""
        return self._best(client, self._mask(coalition))[1]

    def collaborators_of(self, client: str, remaining: Iterable[str] | None = None) -> Coalition:
        """Return the smallest set among `remaining` (all, if not told) that attains the maximum (Definition 2)."""
        return self._members(self._best(client, self._everybody_or(remaining))[0])

    def best_sets(self, client: str, remaining: Iterable[str] | None = None) -> tuple[Coalition, ...]:
        """Return every set that attains the maximum and has no smaller one inside it: more than one is a tie."""
        among = self._everybody_or(remaining)
        best = self._best(client, among)[1]
        smallest: list[int] = []
        for mask, utility in self._ranked[client]:  # sets of equal utility come with the fewest members first
            if utility < best:
                break
            if utility == best and not mask & ~among and not any(known & mask == known for known in smallest):
                smallest.append(mask)
        return tuple(self._members(mask) for mask in smallest)

    def benefit_graph(self, remaining: Iterable[str] | None = None) -> BenefitGraph:
        """Return the benefit graph among `remaining` (all, if not told)."""
        members = self._members(self._everybody_or(remaining))
        among = [client for client in self.clients if client in members]
        return BenefitGraph({client: self.collaborators_of(client, among) for client in among})

    def settle(self, coalition: Iterable[str]) -> dict[str, Coalition]:
        """Return a smallest part of `coalition` that can leave without loss, with the collaborators of its members.

        Without ties the part is all of a stable coalition. With ties, some clients may have been bound together by
        a choice between equals; then the part is smaller. Parts whose members all keep what they have in the
        coalition are closed under union, so the largest one without a given client is found by sending away
        whoever loses, again and again; leaving out one client after the other, the last first, ends at a part that
        has none inside it (Definition 3, condition 2).
        """
        whole = self._mask(coalition)
        members = self._members(whole)
        part = whole if all(len(self.best_sets(client, members)) == 1 for client in members) else self._part(whole)
        chosen = self._members(part)
        return {client: self.collaborators_of(client, chosen) for client in chosen}

    def _part(self, part: int) -> int:
        """Leave out one client after the other as long as somebody can leave without loss."""
        goal = {client: self._best(client, part)[1] for client in self._members(part)}
        for client in reversed(self.clients):
            bit = self._bit[client]
            if part & bit and (smaller := self._content(part & ~bit, goal)):
                part = smaller
        return part

    def _content(self, part: int, goal: Mapping[str, float]) -> int:
        """Return the largest subset of `part` in which everybody attains its goal."""
        while losers := [i for i in self._members(part) if self._best(i, part)[1] < goal[i]]:
            part &= ~self._mask(losers)
        return part

    def _best(self, client: str, among: int) -> tuple[int, float]:
        for mask, utility in self._ranked[self._known(client)]:
            if not mask & ~among:
                return mask, utility
        raise InputError(
            f"client {shown(client)} is not in {shown(sorted(self._members(among)))}; a client is in its coalition"
        )

    def _known(self, client: str) -> str:
        if client not in self._bit:
            raise unknown_client(client, self.clients)
        return client

    def _everybody_or(self, remaining: Iterable[str] | None) -> int:
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

    def __repr__(self) -> str:
        sets = sum(len(recorded) for recorded in self._utilities.values())
        return f"<Game: {len(self.clients)} clients, {sets} utilities>"


def _collect(records: object) -> dict[str, dict[Coalition, float]]:
    """Return the utilities of every client by coalition, having checked the records."""
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
                raise unknown_client(member, utilities, f"{where} (every member needs records of its own)")
    return utilities


def _preference(entry: tuple[int, float]) -> tuple[float, int, int]:
    """Sort sets by falling utility, then the fewest members, then the members' positions."""
    mask, utility = entry
    return -utility, mask.bit_count(), -mask


def _check_record(record: object, number: int) -> tuple[str, Coalition, float]:
    """Return client, coalition and utility of one record, having checked each."""
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
            f"record {number}: the coalition {shown(sorted(coalition))} is without its client {shown(client)}; add it"
        )
    return client, coalition, check_finite(utility, lambda: f"record {number}: the utility of {shown(client)}")
