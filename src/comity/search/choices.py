"""Sets of collaborators to choose among, and the choices, for many targets at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from comity.core.arrays import Booleans, Floats, Integers
from comity.search.descent import Points


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """For each of P targets, M sets of collaborators to choose among, one of which is the target alone.

    `sets` (M, P, N), their `points` (M, P of each) and their `outcomes` (M, P, …), from which standard errors are
    computed. On a path, sets shrink from the set that the search found to the target alone; a target that is alone
    stays so for the remaining stages.
    """

    sets: Booleans
    points: Points
    outcomes: Floats

    @property
    def losses(self) -> Floats:
        """The losses of every stage (M, P)."""
        return self.points.losses

    def some(self, stages: Integers, targets: Integers) -> Candidates:
        """Return the sets of some stages (M', P') of some targets (P',)."""
        return Candidates(self.sets[stages, targets], self.points.at(stages, targets), self.outcomes[stages, targets])

    def at(self, stages: Integers) -> Points:
        """Return each target's point at its own stage (P,)."""
        return self.points.at(stages, np.arange(stages.size))


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
