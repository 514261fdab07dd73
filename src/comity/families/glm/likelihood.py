"""How likely losses on held-out rows are, and what they say about procedures.

For a number, clients' noises may differ, and one with much noise should count little. The variance of a client's noise
is taken as drawn around a typical one φ, as if it had been seen on ν rows before: φᵢ⁻¹ is gamma distributed with mean
φ⁻¹. Then the sum of n squared errors follows a t distribution with ν degrees of freedom, whose tails are heavy: no
single client decides for all. Twice a log loss is minus the logarithm of a likelihood as it is.
"""

from dataclasses import dataclass

import numpy as np

from comity.core.arrays import Booleans, Floats

_FREEDOM = 10.0  # ν, in rows
_HALVINGS = 40
_PRIOR_OF_VOTE = 3.0  # the logarithm of the odds that a procedure does not hurt a client
_PRIOR_OF_NEAREST = 2.0  # the logarithm of the odds, before anything is seen, of anybody against the nearest
_TINY = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Likelihood:
    """How likely the losses of N clients are, sums over `rows` (N,); their noise is learned unless given."""

    rows: Floats
    noise: float | None = None

    def typical(self, losses: Floats) -> float:
        """Return the noise of a typical client, as losses (N,) show it unless it is given."""
        return typical_noise(losses, self.rows) if self.noise is None else self.noise

    def deviances(self, losses: Floats, typical: float) -> Floats:
        """Return -2 log likelihoods of losses (N, T), up to a constant for each client."""
        if self.noise is not None:
            return losses / self.noise
        return np.asarray((self.rows[:, None] + _FREEDOM) * np.log1p(np.maximum(losses, 0.0) / (_FREEDOM * typical)))

    def gained(self, alone: Floats, common: Floats) -> Floats:
        """Return the log likelihood ratio (N,) of the losses of a common procedure (N,) over those alone (N,)."""
        found = self.deviances(np.column_stack([alone, common]), self.typical(common))
        return np.asarray((found[:, 0] - found[:, 1]) / 2)

    def voted(self, losses: Floats, alone: Floats) -> Floats:
        """Return the deviance (N, T) of each try; clients that it hurts count as if they were alone.

        They must not decide for the others. Before anything is seen, the odds that a client is hurt are small.

        Args:
            losses: The loss of each client with each of T tries (N, T).
            alone: Its loss alone (N,).
        """
        typical = self.typical(losses[:, losses.sum(axis=0).argmin()])
        found = self.deviances(losses, typical)
        hurt = (found - self.deviances(alone[:, None], typical)) / 2 - _PRIOR_OF_VOTE
        return np.asarray(found - 2 * np.logaddexp(0.0, hurt))


def best_for_all(voted: Floats, nearest: Booleans) -> int:
    """Return which of K tries, some of them with the nearest, is best for all clients.

    The nearest must be better than anybody by a likelihood ratio, and better still without the client that it serves
    most: one client must not decide for all.

    Args:
        voted: The deviances (N, K) that count.
        nearest: Whether collaborators are the nearest (K,), or anybody.

    >>> nearest = np.array([True, False])
    >>> best_for_all(np.array([[0.0, 9.0], [0.0, 9.0], [0.0, 9.0]]), nearest)
    0
    >>> best_for_all(np.array([[0.0, 27.0], [0.0, 0.0], [0.0, 0.0]]), nearest)
    1
    """
    odds = _PRIOR_OF_NEAREST + np.log(max(nearest.sum(), 1))  # the sizes share the odds of the nearest
    better = voted[:, ~nearest].mean(axis=1, keepdims=True) - voted
    by_one = nearest & (better.sum(axis=0) <= better.max(axis=0))
    totals = voted.sum(axis=0) + 2 * odds * nearest
    return int(np.where(by_one, np.inf, totals).argmin())


def typical_noise(losses: Floats, rows: Floats) -> float:
    """Return the most likely φ, from losses (N,) that are sums over rows (N,): Σ (n + ν) L / (νφ + L) = Σ n.

    >>> losses, rows = np.array([9.0, 11.0, 10.0, 9000.0]), np.full(4, 10.0)
    >>> round(typical_noise(losses, rows), 2)
    1.99
    """
    losses, seen = np.maximum(losses, 0.0), rows > 0
    low, high = np.log(_TINY), np.log(max(float((losses[seen] / rows[seen]).max(initial=0.0)), _TINY) + _TINY)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        explained = (rows + _FREEDOM) * losses / (_FREEDOM * np.exp(middle) + losses + _TINY**2)
        low, high = (middle, high) if explained.sum() > rows.sum() else (low, middle)
    return float(np.exp(high))
