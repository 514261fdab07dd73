"""Real numbers as whole ones of 64 bits, so that masks cancel exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comity.errors import InputError, NotFiniteError
from comity.questions import Floats

Whole = NDArray[np.uint64]
_BITS = 62  # one more would do; of 64, one is for the sign


@dataclass(frozen=True, slots=True)
class FixedPoint:
    """Multiples of a `step` for numbers up to `largest`, of which there are sums of at most so many `clients`' terms.

    Every number is rounded to the nearest multiple, so that a sum of N terms is wrong by at most N / 2 steps, and then
    by what a sum of 64 bits is rounded by. Sums are taken modulo 2⁶⁴, and cannot overflow.

    >>> point = FixedPoint(largest=65536.0, clients=4)
    >>> point.step == 2.0**-44
    True
    >>> terms = [point.whole(np.array([0.1, -3.0]), "a"), point.whole(np.array([0.2, 1.0]), "b")]
    >>> point.real(terms[0] + terms[1]).round(12)
    array([ 0.3, -2. ])
    """

    largest: float
    clients: int

    def __post_init__(self) -> None:
        # Numbers this large and this small are as well as none, and a power of two is exact within them.
        if not 2.0**-500 <= self.largest <= 2.0**500:
            raise InputError(
                f"the largest value in a secure sum is {self.largest}; it must be a positive number (65536 is common)"
            )
        if self.clients < 1:
            raise InputError(f"a sum is of {self.clients} clients; there must be 1 or more")

    @property
    def step(self) -> float:
        """The distance of two numbers that can be told apart, a power of two."""
        return 2.0 ** (math.ceil(math.log2(self.largest) + math.log2(self.clients)) - _BITS)

    @property
    def error(self) -> float:
        """How far a sum may be from that of the real numbers: half a step for each client."""
        return self.clients * self.step / 2

    def whole(self, values: NDArray[Any], client: str) -> Whole:
        """Return a client's values as whole numbers modulo 2⁶⁴, or refuse those that are too large."""
        values = np.asarray(values, np.float64)
        if not np.isfinite(values).all():
            raise NotFiniteError(client)
        most = float(np.abs(values).max(initial=0.0))
        if most > self.largest:
            raise InputError(
                f"the answer of client {client!r} has a value beyond {self.largest:g}, the largest that its secure sum "
                "takes; take a larger one, or a lower rate"
            )
        return np.rint(values / self.step).astype(np.int64).view(np.uint64)

    def real(self, whole: Whole) -> Floats:
        """Return sums as real numbers."""
        return np.asarray(whole.view(np.int64) * self.step, np.float64)
