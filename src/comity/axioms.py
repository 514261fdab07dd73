"""The axioms of a collaboration equilibrium by their definition, every subset tried (paper, Section 3.2).

Exponential, and meant to be: this is what the short proof of `comity.certificate` is held against.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from comity.core import Coalition, InputError, check_finite, shown

MOST_CLIENTS = 12
NOTHING: Mapping[str, float] = MappingProxyType({})
_SHOWN = 8
Utility = Callable[[str, Coalition], float]


@dataclass(frozen=True, slots=True)
class Witness:
    """A set of clients that breaks an axiom.

    *Inner*: `members` are a part of their coalition and lose nothing by leaving it (against Axiom 1).
    *Outer*: `members` are a rival coalition in which every one of them gains (against Axiom 2).
    """

    axiom: Literal["inner", "outer"]
    members: tuple[str, ...]
    now: Mapping[str, float]
    then: Mapping[str, float]

    def holds(
        self,
        coalitions: Iterable[Iterable[str]],
        utility: Utility,
        tolerance: float = 0.0,
        forgiven: Mapping[str, float] = NOTHING,
    ) -> bool:
        """Check by definition that the witness breaks its axiom, asking `utility` afresh."""
        members = frozenset(self.members)
        homes = {i: home for home in map(frozenset, coalitions) for i in members & home}
        if not members or homes.keys() != members:
            return False
        if self.axiom == "inner":
            unharmed = all(utility(i, members) >= utility(i, homes[i]) - tolerance for i in members)
            return unharmed and all(members < home for home in homes.values())
        return all(utility(i, members) > utility(i, homes[i]) + tolerance + forgiven.get(i, 0.0) for i in members)

    def __str__(self) -> str:
        them = "{" + ", ".join(self.members) + "}"
        if self.axiom == "inner":
            return f"{them} can leave {'its' if len(self.members) == 1 else 'their'} coalition without loss"
        gains = [f"{i} {self.now[i]:.6g} → {self.then[i]:.6g}" for i in self.members[:_SHOWN]]
        more = [f"and {len(self.members) - _SHOWN} more"] if len(self.members) > _SHOWN else []
        return f"{them} would all gain as a coalition of their own ({', '.join(gains + more)})"


class Table:
    """Maximal utilities of every client with every set: ``values[i, mask]``, NaN where client i is not in the set.

    `utility` ought to be maximal already: no smaller with more clients. Where it is not, the largest over all subsets
    is taken, which is the definition, and `raised` says where that was first needed.
    """

    def __init__(self, clients: tuple[str, ...], utility: Utility) -> None:
        if len(clients) > MOST_CLIENTS:
            raise InputError(
                f"trying every subset takes at most {MOST_CLIENTS} clients and there are {len(clients)}; "
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
        """Return the number of a set."""
        return sum(1 << self.clients.index(client) for client in coalition)

    def _raise_to_maximum(self) -> str | None:
        """Make every value the largest over the subsets that hold the client, one client left out at a time."""
        raised = None
        for j in range(len(self.clients)):
            with_j = self.masks[(self.masks >> j & 1).astype(bool)]
            smaller = self.values[:, with_j ^ (1 << j)]
            above = smaller > self.values[:, with_j]  # False where one of them is NaN
            if above.any():
                i, at = np.argwhere(above)[0]
                raised = raised or (
                    f"{self.clients[i]} does better with {{{', '.join(self.members(int(with_j[at]) ^ (1 << j)))}}} "
                    f"than with {{{', '.join(self.members(int(with_j[at])))}}}"
                )
                self.values[:, with_j] = np.where(above, smaller, self.values[:, with_j])
        return raised


def find_witness(
    coalitions: Iterable[Iterable[str]],
    table: Table,
    tolerance: float = 0.0,
    forgiven: Mapping[str, float] = NOTHING,
) -> Witness | None:
    """Try every subset against both axioms and return the first that breaks one, the smallest first; else None."""
    homes = [table.mask(coalition) for coalition in coalitions]
    home_of = [next(home for home in homes if home >> i & 1) for i in range(len(table.clients))]
    now = table.values[np.arange(len(home_of)), home_of]
    outside = np.isnan(table.values)
    unharmed = (outside | (table.values >= now[:, None] - tolerance)).all(axis=0)
    needed = now + tolerance + np.array([forgiven.get(i, 0.0) for i in table.clients])
    gaining = (outside | (table.values > needed[:, None])).all(axis=0)
    parts = np.zeros(table.masks.size, np.bool_)
    for home in homes:
        parts |= ((table.masks & ~home) == 0) & (table.masks != home)
    rivals = ~np.isin(table.masks, homes)
    nonempty = table.masks > 0
    breaks: tuple[tuple[Literal["inner", "outer"], NDArray[np.bool_]], ...] = (
        ("inner", nonempty & parts & unharmed),
        ("outer", nonempty & rivals & gaining),
    )
    for axiom, broken in breaks:
        if broken.any():
            mask = min((int(mask) for mask in np.flatnonzero(broken)), key=int.bit_count)
            members = table.members(mask)
            places = [table.clients.index(i) for i in members]
            then = dict(zip(members, table.values[places, mask].tolist(), strict=True))
            return Witness(axiom, members, dict(zip(members, now[places].tolist(), strict=True)), then)
    return None
