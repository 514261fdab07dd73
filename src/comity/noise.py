"""The Gaussian mechanism: what a row adds is no longer than a clip, and noise hides whether it is there.

The guarantee is about tables that differ by one row, added or removed. What a row adds to one sum is a vector; if it is
longer than `clip`, it is scaled down to that. A row that counts in several sums, c times in each, changes the whole by
at most clip × √Σc². That is the *sensitivity*; every number of the answer gets noise of `noise` times that deviation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Noise:
    """How what a row adds is clipped (not at all, if `clip` is None), and how much noise there is.

    Without a `generator`, which is for tests, every draw begins with fresh entropy of the operating system.
    """

    clip: float | None
    noise: float
    generator: np.random.Generator | None = field(default=None, repr=False)

    @property
    def active(self) -> bool:
        """Whether anything is done at all."""
        return self.noisy or self.clip is not None

    @property
    def noisy(self) -> bool:
        """Whether there is noise."""
        return self.noise > 0

    def weights(self, lengths: Floats) -> Floats:
        """Return what vectors of these lengths are multiplied with; one that is not finite counts as nothing."""
        known = np.isfinite(lengths)
        if self.clip is None:
            return known.astype(np.float64)
        longer = np.maximum(np.where(known, lengths, 1.0), self.clip)
        return np.asarray(np.where(known, self.clip / longer, 0.0))

    def sensitivity(self, squares: float) -> float:
        """Return by how much a row can change sums in which it counts c times each, Σc² being `squares` at most."""
        return math.inf if self.clip is None else self.clip * math.sqrt(squares)

    def add_to(self, squares: float, *arrays: Floats) -> tuple[Floats, ...]:
        """Return sums with noise, if there is any; all of them together are one answer."""
        if not self.noisy:
            return arrays
        deviation = self.noise * self.sensitivity(squares)
        generator = np.random.default_rng() if self.generator is None else self.generator
        return tuple(array + deviation * generator.standard_normal(array.shape) for array in arrays)
