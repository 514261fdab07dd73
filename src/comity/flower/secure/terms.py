"""The terms of a secure sum: which clients share secrets, and how large values may be."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from random import SystemRandom

from comity.errors import InputError
from comity.flower.secure.fixed_point import FixedPoint


@dataclass(frozen=True, slots=True)
class Terms:
    """How secrets are shared, and the largest value in a sum.

    Each client shares its secrets among `shares` clients, including itself (0: all; with hundreds of clients a smaller
    odd number suffices). More than the fraction `threshold` of its shares is needed to recover a secret: that many
    clients must stay until the end of the sum, and that many, if they collude with the coordinator, can reveal another
    client's answer. Values beyond `largest` are refused.
    """

    shares: int = 0
    threshold: float = 0.5
    largest: float = 2.0**16

    def __post_init__(self) -> None:
        if self.shares and (self.shares < 3 or self.shares % 2 == 0):
            raise InputError(
                f"secrets are shared among {self.shares} clients; give an odd number, 3 or more, or 0 for all clients"
            )
        if not 0.5 <= self.threshold < 1:
            raise InputError(
                f"the threshold is {self.threshold} of the shares; it must be at least 0.5 and less than 1, because "
                "with fewer shares the coordinator could get both secrets of a client"
            )
        FixedPoint(self.largest, 1)

    def shares_among(self, clients: int) -> int:
        """Return the number of clients that get a share of each secret, for this number of clients."""
        return min(self.shares or clients, clients)

    def needed(self, clients: int) -> int:
        """Return the number of shares needed to recover a secret, for this number of clients.

        >>> [Terms().needed(clients) for clients in (2, 3, 4, 5, 9)]
        [2, 2, 3, 3, 5]
        """
        return max(2, math.floor(self.threshold * self.shares_among(clients)) + 1)

    def neighbours(self, nodes: Iterable[int]) -> dict[int, set[int]]:
        """Return the nodes with which each node shares its secrets, itself included: the nearest on a random ring.

        >>> Terms().neighbours([5, 6]) == {5: {5, 6}, 6: {5, 6}}
        True
        >>> sorted(map(len, Terms(shares=3).neighbours(range(7)).values()))
        [3, 3, 3, 3, 3, 3, 3]
        """
        ring = list(nodes)
        SystemRandom().shuffle(ring)
        if self.shares_among(len(ring)) == len(ring):
            return {node: set(ring) for node in ring}
        offsets = range(-(self.shares // 2), self.shares // 2 + 1)
        return {node: {ring[(at + offset) % len(ring)] for offset in offsets} for at, node in enumerate(ring)}
