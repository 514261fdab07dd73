"""Procedures by which clients choose collaborators, and which of them are tried.

A *procedure* says how a client's collaborators and its pull towards their model follow from the rows: alone, with the
nearest m others, or with anybody. What follows from it in a view of the rows: `comity.families.glm.view`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from comity.core.arrays import Floats

_SIZES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64)
_COARSE_SIZES = (1, 2, 4, 8, 16, 32, 64)
MAX_COLLABORATORS = 64  # of a client
Pulls = tuple[tuple[float, ...], tuple[float, ...]]
"""The pulls to try, towards the nearest and towards anybody."""
ALL_PULLS: Pulls = (
    (2.0, 1.0, 0.7, 0.4, 0.1, 0.03, 0.006),  # towards the nearest
    (8.0, 4.0, 2.0, 1.4, 1.0, 0.7, 0.5, 0.3, 0.1, 0.03, 0.01, 0.002),  # towards anybody
)
FEW = 200  # clients, who need all the evidence there is
_NEGLIGIBLE = 0.02  # a pull with a smaller weight is left out


@dataclass(frozen=True, slots=True)
class Procedure:
    """How a client's model comes about: with `size` collaborators, the nearest or anybody; with none, alone.

    The model is the mean of those with each of `pulls`, by their `weights`, which sum to one.
    """

    size: int
    nearest: bool = True
    pulls: tuple[float, ...] = ()
    weights: tuple[float, ...] = ()

    def weighted(self, deviances: Floats, prior: float) -> Procedure:
        """Return it with pulls weighted by likelihood, whose logarithm is minus half the deviance, and a prior.

        The prior weight of a pull c is min(c, 1) to the power `prior`.
        """
        weights = np.minimum(self.pulls, 1.0) ** prior * np.exp((deviances.min() - deviances) / 2)
        weights = np.where(weights < _NEGLIGIBLE * weights.sum(), 0.0, weights)
        kept = np.flatnonzero(weights).tolist()
        total = float(weights.sum())
        return replace(
            self, pulls=tuple(self.pulls[at] for at in kept), weights=tuple(float(weights[at]) / total for at in kept)
        )


def procedures(clients: int, pulls: Pulls = ALL_PULLS) -> tuple[Procedure, ...]:
    """Return the procedures to try with N clients, the first of which is to be alone; a few of them if N is large.

    >>> [each.size for each in procedures(3)]
    [0, 1, 2]
    >>> [each.size for each in procedures(500)]
    [0, 1, 2, 4, 8, 16, 32, 64, 64]
    """
    few = clients <= FEW
    return _procedures(clients, _SIZES if few else _COARSE_SIZES, *(each if few else each[::2] for each in pulls))


def procedures_near(
    clients: int, kept: Sequence[Procedure], best: int, pulls: Pulls = ALL_PULLS
) -> tuple[Procedure, ...]:
    """Return the procedures to try next, when some have been kept; if N is large, more near the best and fewer others.

    >>> first = procedures(500)
    >>> [each.size for each in procedures_near(500, first, 8)]
    [0, 1, 2, 4, 5, 6, 8, 10, 12, 16, 32, 64, 64]
    """
    if clients <= FEW:
        return procedures(clients, pulls)
    sizes = [size for size in _SIZES if size in _COARSE_SIZES or best / 2 < size < best * 2]
    near = []
    for nearest, each in zip((True, False), pulls, strict=True):
        seen = {each.index(pull) for one in kept if one.nearest is nearest for pull in one.pulls}
        near.append(tuple(pull for at, pull in enumerate(each) if seen & {at - 1, at, at + 1}))
    return _procedures(clients, sizes, *near)


def _procedures(
    clients: int, sizes: Sequence[int], pulls: tuple[float, ...], to_anybody: tuple[float, ...]
) -> tuple[Procedure, ...]:
    nearest = [Procedure(size, pulls=pulls) for size in sizes if size < min(clients - 1, MAX_COLLABORATORS + 1)]
    anybody = Procedure(min(clients - 1, MAX_COLLABORATORS), nearest=False, pulls=to_anybody)
    return (Procedure(0), *nearest, anybody)
