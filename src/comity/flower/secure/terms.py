"""What a secure sum is agreed on, and who shares secrets with whom."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from random import SystemRandom

from comity.errors import InputError
from comity.flower.secure.fixed_point import FixedPoint


@dataclass(frozen=True, slots=True)
class Terms:
    """How secrets are shared, and the largest value in a sum.

    Each client shares its secrets among `shares` clients, itself being one (0: everybody; with hundreds of clients an
    odd number that is less will do). More than the part `threshold` of the shares tells a secret: that many must stay
    for the sum, and that many could together with the coordinator unveil another's term. Values beyond `largest` are
    refused.
    """

    shares: int = 0
    threshold: float = 0.5
    largest: float = 2.0**16

    def __post_init__(self) -> None:
        if self.shares and (self.shares < 3 or self.shares % 2 == 0):
            raise InputError(
                f"secrets are shared among {self.shares} clients; take an odd number, 3 or more, or 0 for everybody"
            )
        if not 0.5 <= self.threshold < 1:
            raise InputError(
                f"the threshold is {self.threshold} of the shares; it must be 0.5 or more and less than 1, as with "
                "fewer shares the coordinator could get both secrets of a client"
            )
        FixedPoint(self.largest, 1)

    def shares_among(self, clients: int) -> int:
        """Return among how many of so many clients a secret is shared."""
        return min(self.shares or clients, clients)

    def needed(self, clients: int) -> int:
        """Return how many shares tell a secret.

        >>> [Terms().needed(clients) for clients in (2, 3, 4, 5, 9)]
        [2, 2, 3, 3, 5]
        """
        return max(2, math.floor(self.threshold * self.shares_among(clients)) + 1)

    def neighbours(self, nodes: Iterable[int]) -> dict[int, set[int]]:
        """Return with whom each node shares its secrets, itself among them: on a ring in random order, those nearest.

        >>> Terms().neighbours([5, 6]) == {5: {5, 6}, 6: {5, 6}}
        True
        >>> sorted(map(len, Terms(shares=3).neighbours(range(7)).values()))
        [3, 3, 3, 3, 3, 3, 3]
        """
        ring = list(nodes)
        SystemRandom().shuffle(ring)
        if self.shares_among(len(ring)) == len(ring):
            return {node: set(ring) for node in ring}
        reach = range(-(self.shares // 2), self.shares // 2 + 1)
        return {node: {ring[(place + away) % len(ring)] for away in reach} for place, node in enumerate(ring)}
