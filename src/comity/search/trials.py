"""What the search for collaborators needs from a front: losses as functions of weights, with their derivatives."""

from collections.abc import Iterator, Sequence
from typing import Protocol, Self

from comity.core.arrays import Floats, Integers

Bounds = tuple[Floats | float, Floats | float]


class Objective(Protocol):
    """P functions to minimise, of weights (P, N) and of the logarithms of penalties (P,)."""

    def some(self, chosen: Integers) -> Self:
        """Return some of the functions."""

    def losses(self, weights: Floats, log_penalty: Floats) -> Floats:
        """Return the values (P,)."""

    def derivatives(self, weights: Floats, log_penalty: Floats) -> tuple[Floats, Floats, Floats]:
        """Return values (P,), derivatives by the weights (P, N) and by the logarithms of the penalties (P,)."""


class Trials(Objective, Protocol):
    """The mean losses of P target clients, each on rows that were held out from its model's training.

    The loss of trial p is that of client ``target[p]``, as a function of weights over the N clients and of the
    logarithm of a penalty, which stays within `bounds`; a front without penalties has equal bounds.
    """

    @property
    def target(self) -> Integers:
        """The target client of each trial (P,)."""

    @property
    def bounds(self) -> Bounds:
        """The bounds of the penalties' logarithms, as numbers or arrays (P,)."""

    @property
    def alone_losses(self) -> Floats | None:
        """Each target's exact loss alone (P,), where the front only approximates it; else None."""

    def __len__(self) -> int: ...

    def batches(self, count: int) -> Iterator[slice]:
        """Yield slices of `count` trials, as many at a time as memory allows."""

    def halves(self) -> Sequence[tuple[Self, Self]]:
        """Return pairs of the same trials on different parts of the rows, one to search with and one to validate."""

    def losses_by_penalty(self, weights: Floats, logs: Floats) -> Floats:
        """Return losses (M, P) for weights (P, N), each with M penalties; `logs` (P, M) are their logarithms."""

    def outcomes(self, weights: Floats, log_penalty: Floats) -> Floats:
        """Return what standard errors are computed from (P, …): models of a closed form, or the losses of rows."""

    def standard_error(self, one: Floats, other: Floats) -> Floats:
        """Return the standard error (P,) of the mean difference of two losses, paired by rows, from outcomes."""
