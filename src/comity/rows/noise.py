"""The Gaussian mechanism: each row's contribution to a sum is clipped, and noise hides whether the row is there.

The guarantee is about tables that differ by one row, added or removed. A row's contribution to a sum is a vector; if it
is longer than `clip`, it is scaled down to that length. A row that counts c_k times in the k-th sum changes all sums
together by at most clip × √Σc_k². This is the *sensitivity*; every number of the answer gets Gaussian noise whose
standard deviation is `noise` × sensitivity.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from comity.core.arrays import Floats


@dataclass(frozen=True, eq=False)
class Noise:
    """The clipping length of a row's contribution (None: no clipping) and the noise, in units of the sensitivity.

    Noise is drawn with fresh entropy of the operating system, except in tests, which pass a `generator`.
    """

    clip: float | None
    noise: float
    generator: np.random.Generator | None = field(default=None, repr=False)

    @property
    def active(self) -> bool:
        """Whether answers are clipped or noisy."""
        return self.noisy or self.clip is not None

    @property
    def noisy(self) -> bool:
        """Whether there is noise."""
        return self.noise > 0

    def weights(self, lengths: Floats) -> Floats:
        """Return the factors that clip vectors of these lengths; the factor of a length that is not finite is 0."""
        known = np.isfinite(lengths)
        if self.clip is None:
            return known.astype(np.float64)
        longer = np.maximum(np.where(known, lengths, 1.0), self.clip)
        return np.asarray(np.where(known, self.clip / longer, 0.0))

    def sensitivity(self, squares: float) -> float:
        """Return the sensitivity of sums: clip × √squares, where `squares` is the largest Σc_k² of a row."""
        return math.inf if self.clip is None else self.clip * math.sqrt(squares)

    def add_to(self, squares: float, *arrays: Floats) -> tuple[Floats, ...]:
        """Return the arrays of sums of one answer, with noise if there is any; `squares` as in `sensitivity`."""
        if not self.noisy:
            return arrays
        deviation = self.noise * self.sensitivity(squares)
        generator = np.random.default_rng() if self.generator is None else self.generator
        return tuple(array + deviation * generator.standard_normal(array.shape) for array in arrays)
