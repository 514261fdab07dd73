"""The axioms of a collaboration equilibrium, checked by their definition on every subset (paper, Section 3.2).

This takes exponential time on purpose: it is the reference for the short proof of `comity.game.certificate`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from comity.core.arrays import Booleans
from comity.core.names import Coalition, shown
from comity.core.numbers import check_finite
from comity.errors import InputError

MAX_CLIENTS = 12
NOTHING_FORGIVEN: Mapping[str, float] = MappingProxyType({})
_MAX_GAINS_SHOWN = 8
Utility = Callable[[str, Coalition], float]
Axiom = Literal["inner", "outer"]


@dataclass(frozen=True, slots=True)
class Witness:
    """A set of clients that breaks an axiom of a collaboration equilibrium (paper, Section 3.2).

    Attributes:
        axiom: ``"inner"``: `members` are part of a coalition and can leave it without loss, against Axiom 1.
            ``"outer"``: `members` would all gain as a new coalition, against Axiom 2.
        members: The clients of the set.
        now: The maximal utility of each member in its present coalition.
        then: The maximal utility of each member with `members`.

    Example:
        >>> from comity import Game, certify
        >>> game = Game([("a", ["a"], 1), ("a", ["a", "b"], 2), ("b", ["b"], 1), ("b", ["a", "b"], 3)])
        >>> witness = certify([["a"], ["b"]], game).witnesses[0]
        >>> witness.axiom, witness.members
        ('outer', ('a', 'b'))
        >>> print(witness)
        {a, b} would all gain by forming a coalition (a 1 → 2, b 1 → 3)
    """

    axiom: Axiom
    members: tuple[str, ...]
    now: Mapping[str, float]
    then: Mapping[str, float]

    def holds(
        self,
        coalitions: Iterable[Iterable[str]],
        utility: Utility,
        tolerance: float = 0.0,
        forgiven: Mapping[str, float] = NOTHING_FORGIVEN,
    ) -> bool:
        """Check by definition that the witness breaks its axiom.

        Args:
            coalitions: The partition that the witness speaks about.
            utility: The maximal utility of a client with a coalition; it is called anew.
            tolerance: Differences of up to this much do not count.
            forgiven: For each client, a gain of up to this much does not count either.

        Returns:
            Whether the axiom is broken.
        """
        members = frozenset(self.members)
        homes = {i: home for home in map(frozenset, coalitions) for i in members & home}
        if not members or homes.keys() != members:
            return False
        if self.axiom == "inner":
            unharmed = all(utility(i, members) >= utility(i, homes[i]) - tolerance for i in members)
            return unharmed and all(members < home for home in homes.values())
        return all(utility(i, members) > utility(i, homes[i]) + tolerance + forgiven.get(i, 0.0) for i in members)

    def __str__(self) -> str:
        members = "{" + ", ".join(self.members) + "}"
        if self.axiom == "inner":
            return f"{members} can leave {'its' if len(self.members) == 1 else 'their'} coalition without loss"
        gains = [f"{i} {self.now[i]:.6g} → {self.then[i]:.6g}" for i in self.members[:_MAX_GAINS_SHOWN]]
        if len(self.members) > _MAX_GAINS_SHOWN:
            gains.append(f"and {len(self.members) - _MAX_GAINS_SHOWN} more")
        return f"{members} would all gain by forming a coalition ({', '.join(gains)})"


def make_witness(axiom: Axiom, members: tuple[str, ...], homes: Mapping[str, Coalition], utility: Utility) -> Witness:
    """Return a witness with its members' utilities in their present coalitions, `homes`, and with each other."""
    together = frozenset(members)
    now = {i: utility(i, homes[i]) for i in members}
    return Witness(axiom, members, now, {i: utility(i, together) for i in members})


class UtilityTable:
    """The maximal utility of every client with every set: ``values[i, mask]``, NaN where client i is not in the set.

    Bit i of `mask` says whether client i is in the set. The given utility should be maximal already, that is, never
    fall when a set grows. Where it falls, the table takes the largest value over all subsets, which is the definition,
    and `raised` describes the first such place.
    """

    def __init__(self, clients: tuple[str, ...], utility: Utility) -> None:
        if len(clients) > MAX_CLIENTS:
            raise InputError(
                f"trying every subset takes at most {MAX_CLIENTS} clients and there are {len(clients)}; "
                "leave exhaustive out: the short proof works at any size"
            )
        self.clients = clients
        self.masks = np.arange(1 << len(clients))
        self.values = np.full((len(clients), self.masks.size), np.nan)
        for mask in range(1, self.masks.size):
            members = self.members(mask)
            for i in range(len(clients)):
                if mask >> i & 1:
                    what = f"the utility of {shown(clients[i])} with {shown(list(members))}"
                    self.values[i, mask] = check_finite(utility(clients[i], frozenset(members)), what)
        self.raised = self._raise_to_maximum()

    def members(self, mask: int) -> tuple[str, ...]:
        """Return the clients of a set, in order."""
        return tuple(client for i, client in enumerate(self.clients) if mask >> i & 1)

    def __call__(self, client: str, coalition: Coalition) -> float:
        """Return the maximal utility of a client with a coalition."""
        return float(self.values[self.clients.index(client), self.mask(coalition)])

    def mask(self, coalition: Iterable[str]) -> int:
        """Return the mask of a coalition."""
        return sum(1 << self.clients.index(client) for client in coalition)

    def _raise_to_maximum(self) -> str | None:
        """Raise every value to the largest over the subsets that hold the client; describe the first one raised.

        For each client j in turn, every set takes over a larger value of the same set without j. After the last
        client, all subsets have been compared.
        """
        raised = None
        for j in range(len(self.clients)):
            with_j = self.masks[(self.masks >> j & 1).astype(bool)]
            smaller = self.values[:, with_j ^ (1 << j)]
            above = smaller > self.values[:, with_j]  # False where one of them is NaN
            if above.any():
                i, column = np.argwhere(above)[0]
                mask = int(with_j[column])
                raised = raised or (
                    f"{self.clients[i]} does better with {{{', '.join(self.members(mask ^ (1 << j)))}}} "
                    f"than with {{{', '.join(self.members(mask))}}}"
                )
                self.values[:, with_j] = np.where(above, smaller, self.values[:, with_j])
        return raised


def find_witness(
    coalitions: Iterable[Iterable[str]],
    table: UtilityTable,
    tolerance: float = 0.0,
    forgiven: Mapping[str, float] = NOTHING_FORGIVEN,
) -> Witness | None:
    """Try every subset against both axioms, and return a smallest one that breaks an axiom, if there is one.

    1. A set breaks inner agreement if it is a proper part of a coalition and no member loses in it (Axiom 1).
    2. A set breaks outer agreement if every member gains in it (Axiom 2).
    """
    homes = {i: frozenset(coalition) for coalition in coalitions for i in coalition}
    now = np.array([[table(i, homes[i])] for i in table.clients])
    needed = now + tolerance + np.array([[forgiven.get(i, 0.0)] for i in table.clients])
    parts = [(table.masks & ~home == 0) & (table.masks != home) for home in map(table.mask, set(homes.values()))]
    outside = np.isnan(table.values)
    broken: dict[Axiom, Booleans] = {
        "inner": np.any(parts, axis=0) & (outside | (table.values >= now - tolerance)).all(axis=0),
        "outer": (outside | (table.values > needed)).all(axis=0),
    }
    for axiom, sets in broken.items():
        if masks := np.flatnonzero(sets[1:]).tolist():  # without the empty set
            smallest = min((mask + 1 for mask in masks), key=int.bit_count)
            return make_witness(axiom, table.members(smallest), homes, table)
    return None
