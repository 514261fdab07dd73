"""Real numbers as 64-bit integers (fixed point), so that masks cancel exactly."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comity.core.arrays import Floats
from comity.errors import InputError, NotFiniteError

Whole = NDArray[np.uint64]
_BITS = 62  # of 64: one is for the sign, one is spare


@dataclass(frozen=True, slots=True)
class FixedPoint:
    """Integers for real numbers up to `largest` in absolute value, in sums over at most `clients` clients.

    Every number is rounded to the nearest multiple of `step`, so a sum over N clients is within N / 2 steps of the
    exact one, plus the rounding of a 64-bit float. Sums are modulo 2⁶⁴ and cannot overflow.

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
        # Within these bounds, which no real value reaches, powers of two are exact.
        if not 2.0**-500 <= self.largest <= 2.0**500:
            raise InputError(
                f"the largest value in a secure sum is {self.largest}; it must be a positive number (such as 65536)"
            )
        if self.clients < 1:
            raise InputError(f"the sum is over {self.clients} clients; there must be 1 or more")

    @property
    def step(self) -> float:
        """The distance between neighbouring numbers, a power of two."""
        return 2.0 ** (math.ceil(math.log2(self.largest) + math.log2(self.clients)) - _BITS)

    @property
    def error(self) -> float:
        """The largest rounding error of a sum: half a step for each client."""
        return self.clients * self.step / 2

    def whole(self, values: NDArray[Any], client: str) -> Whole:
        """Return a client's values as integers modulo 2⁶⁴; a value that is too large is an `InputError`."""
        values = np.asarray(values, np.float64)
        if not np.isfinite(values).all():
            raise NotFiniteError(client)
        if float(np.abs(values).max(initial=0.0)) > self.largest:
            raise InputError(
                f"the answer of client {client!r} has a value beyond {self.largest:g}, the largest in this secure sum; "
                "raise that limit, or lower the learning rate"
            )
        return np.rint(values / self.step).astype(np.int64).view(np.uint64)

    def real(self, whole: Whole) -> Floats:
        """Return sums as real numbers."""
        return np.asarray(whole.view(np.int64) * self.step, np.float64)
