"""What a search of collaborators needs to know of a front: losses as functions of weights, with their derivatives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from comity.simplex import Floats

Integers = NDArray[np.intp]
Bounds = tuple[Floats | float, Floats | float]


class Trials(Protocol):
    """The losses of P targets at once, each on rows that did not train its model.

    Trial p is about client ``target[p]``: its loss is a function of weights over the N clients and of the logarithm of
    a penalty, which stays within `bounds`; a front without penalties has equal bounds.
    """

    @property
    def target(self) -> Integers:
        """Whom each trial is about (P,)."""

    @property
    def bounds(self) -> Bounds:
        """Between which logarithms of penalties, numbers or arrays (P,), losses mean something."""

    @property
    def alone_losses(self) -> Floats | None:
        """What each target loses alone (P,), where that is known better than the front says."""

    def __len__(self) -> int: ...

    def some(self, chosen: Integers) -> Self:
        """Return some of the trials."""

    def batches(self, count: int) -> Iterator[slice]:
        """Yield slices of `count` trials, so many at a time as memory allows."""

    def halves(self) -> Sequence[tuple[Self, Self]]:
        """Return the same trials judged on parts of the rows: pairs to search by, and to judge what was found."""

    def losses(self, weights: Floats, log_penalty: Floats) -> Floats:
        """Return each target's mean loss (P,) for weights (P, N) and logarithms of penalties (P,)."""

    def losses_by_penalty(self, weights: Floats, logs: Floats) -> Floats:
        """Return losses (M, P) for weights (P, N), each with M penalties whose logarithms are in `logs` (P, M)."""

    def derivatives(self, weights: Floats, log_penalty: Floats) -> tuple[Floats, Floats, Floats]:
        """Return losses (P,), their derivatives by the weights (P, N), and by the logarithm of the penalty (P,)."""

    def outcomes(self, weights: Floats, log_penalty: Floats) -> Floats:
        """Return what standard errors come from (P, …): of a closed form its models, of others the rows' losses."""

    def standard_error(self, one: Floats, other: Floats) -> Floats:
        """Return the standard error (P,) of the mean difference of two losses, row by row, from their outcomes."""
