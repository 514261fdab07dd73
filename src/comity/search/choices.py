"""Sets of collaborators to choose among, and the choices, for many targets at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from comity.core.arrays import Booleans, Floats, Integers
from comity.search.descent import Points


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """For each of P targets, M sets of collaborators to choose among, one of which is the target alone.

    `sets` (M, P, N) and their `points` (M, P of each). `errors` takes two sets of every target, as numbers (P,), and
    returns the standard errors (P,) of the differences between their losses.
    """

    sets: Booleans
    points: Points
    errors: Callable[[Integers, Integers], Floats]

    def at(self, numbers: Integers) -> Points:
        """Return the point of one set of each target, by its number (P,)."""
        return self.points.some((numbers, np.arange(numbers.size)))


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    """What P targets choose on their faces of the simplex.

    `sets` (P, N) are the collaborators and `chosen` the points with them; `best` is the best point found on the face;
    `alone` is the target without others. A loss of up to `tolerance` (P,) above the best counts as equally good.
    """

    sets: Booleans
    chosen: Points
    best: Points
    alone: Points
    tolerance: Floats

    @classmethod
    def joined(cls, parts: Sequence[Choices]) -> Choices:
        """Return the choices of all parts, one after the other."""
        return cls(
            np.concatenate([part.sets for part in parts]),
            Points.joined([part.chosen for part in parts]),
            Points.joined([part.best for part in parts]),
            Points.joined([part.alone for part in parts]),
            np.concatenate([part.tolerance for part in parts]),
        )
