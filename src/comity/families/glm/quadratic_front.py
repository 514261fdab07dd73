"""The exact Pareto front of quadratic losses: ridge regression, in closed form.

Client j's loss over its n_j rows with features x and target y is Σ (y - xᵀθ)² = q_j - 2 b_jᵀθ + θᵀG_jθ, with the
moments G_j = Σ x xᵀ (`gram`), b_j = Σ y x (`cross`) and q_j = Σ y² (`square`). For weights w over the clients and a
penalty λ the model θ minimises Σ w_j loss_j(θ) / s + λ θᵀDθ, so it solves

    (M / s + λD) θ = c / s,   M = Σ w_j G_j,  c = Σ w_j b_j,  s = Σ w_j n_j,

where the diagonal matrix D has small entries for the intercepts. A weight counts *per row*: equal weights are pooled
training. A zero weight leaves a client out exactly, so the faces of the simplex are the fronts of sub-coalitions.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from comity.core.arrays import Floats, Integers
from comity.core.likelihood import INTERCEPT_SHARE, penalty_factors
from comity.families.glm.quadratic_trials import QuadraticTrials
from comity.search.descent import Points

_MAX_SHARE_FOR_SPARSE = 0.1  # of weights that are not zero, up to which a sparse product is faster
_MAX_VALUES_IN_BATCH = 1e6  # in the matrices of the systems that are solved at once
_INTERCEPT_SHARE = 1e-9  # of the penalty: keeps a system solvable if no row determines the intercept


@dataclass(frozen=True, eq=False)
class QuadraticFront:
    """The front of N clients whose rows are in K folds, for models of d parameters, the last of which are intercepts.

    Attributes:
        gram: Σ x xᵀ over each client's rows in each fold, (N, K, d, d).
        cross: Σ y x over each client's rows in each fold, (N, K, d).
        square: Σ y² over each client's rows in each fold, (N, K).
        rows: Number of each client's rows in each fold, (N, K).
        intercepts: Number of intercepts, the last parameters.
        per_client: Weights scale a client's mean loss, as in the paper, and not the loss of each of its rows.
        likelihood: The sums are not squares but the second-order expansion of a negative log-likelihood.
        repeats: How often the rows were split into folds; K counts the folds of all repeats.
        whole_gram: With an expansion at a separate point for each target, every client's `gram` over all its rows at
            each target's point, (N targets, N clients, d, d); `gram` is then that at the client's own point.
        whole_cross: The same for `cross`, (N, N, d).
        alone_losses: Exact losses of the clients' own models, (N,); far from its point an expansion is inexact.
        least_penalty: Penalties (N,) below which the expansion underestimates a client's loss.
    """

    gram: Floats
    cross: Floats
    square: Floats
    rows: Floats
    intercepts: int = 1
    per_client: bool = False
    likelihood: bool = False
    repeats: int = 1
    whole_gram: Floats | None = None
    whole_cross: Floats | None = None
    alone_losses: Floats | None = None
    least_penalty: Floats | None = None

    @property
    def clients(self) -> int:
        """The number of clients, N."""
        return int(self.rows.shape[0])

    @property
    def folds(self) -> int:
        """The number of folds, K."""
        return int(self.rows.shape[1])

    @cached_property
    def penalised(self) -> Floats:
        """The diagonal of D (d,): ones, but nearly zero for the intercepts."""
        share = INTERCEPT_SHARE if self.likelihood else _INTERCEPT_SHARE
        return penalty_factors(self.cross.shape[2], self.intercepts, share)

    @cached_property
    def unit(self) -> Floats:
        """The weight of each row of a client whose weight is one (N,)."""
        rows = self.rows.sum(axis=1)
        return self.repeats / rows if self.per_client else np.ones(self.clients)

    @cached_property
    def total_gram(self) -> Floats:
        """Every client's `gram` over all its rows, times its unit, flattened: (1 or N targets, N, d²)."""
        total: Floats = self.gram.sum(axis=1)[None] / self.repeats if self.whole_gram is None else self.whole_gram
        return total.reshape(len(total), self.clients, -1) * self.unit[:, None]

    @cached_property
    def total_cross(self) -> Floats:
        """Every client's `cross` over all its rows, times its unit: (1 or N targets, N, d)."""
        total: Floats = self.cross.sum(axis=1)[None] / self.repeats if self.whole_cross is None else self.whole_cross
        return np.asarray(total * self.unit[:, None])

    @cached_property
    def total_rows(self) -> Floats:
        """Every client's number of rows, times its unit: (N,)."""
        return np.asarray(self.rows.sum(axis=1) / self.repeats * self.unit)

    def trials(self, target: Integers) -> QuadraticTrials:
        """Return the cross-validated losses of P targets (P,) as functions of weights: see `QuadraticTrials`."""
        return QuadraticTrials(self, target)

    def models(self, target: Integers, weights: Floats, log_penalty: Floats) -> Floats:
        """Return models (P, d) of all rows, for targets (P,), weights (P, N) and logarithms of penalties (P,)."""
        size = self.penalised.size
        gram, cross, rows = self.mix(target, weights)
        system = gram.reshape(-1, size, size) / rows[:, None, None]
        system[:, np.arange(size), np.arange(size)] += np.exp(log_penalty)[:, None] * self.penalised
        return np.asarray(np.linalg.solve(system, (cross / rows[:, None])[..., None])[..., 0])

    def own_models(self, points: Points) -> Floats:
        """Return the models (N, d) of all rows at each client's own point."""
        return self.models(np.arange(self.clients), points.weights, points.log_penalty)

    def mix(self, target: Integers, weights: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the weighted sums over clients M (P, d²), c (P, d) and s (P,)."""
        if self.whole_gram is None:
            sparse = np.count_nonzero(weights) <= _MAX_SHARE_FOR_SPARSE * weights.size
            mixing = csr_array(weights) if sparse else weights
            return mixing @ self.total_gram[0], mixing @ self.total_cross[0], weights @ self.total_rows
        gram = (weights[:, None] @ self.total_gram[target])[:, 0]
        cross = (weights[:, None] @ self.total_cross[target])[:, 0]
        return gram, cross, weights @ self.total_rows

    def spread(self, target: Integers, by_gram: Floats, by_cross: Floats) -> Floats:
        """Return ⟨G_j, by_gram⟩ + ⟨b_j, by_cross⟩ for every client j (P, N), with arrays (P, d²) and (P, d).

        This is the transpose of `mix`: it carries derivatives by M and c over to the weights.
        """
        if self.whole_gram is None:
            return np.asarray(by_cross @ self.total_cross[0].T + by_gram @ self.total_gram[0].T)
        products = self.total_gram[target] @ by_gram[..., None] + self.total_cross[target] @ by_cross[..., None]
        return np.asarray(products[..., 0])

    def batches(self, count: int) -> Iterator[slice]:
        """Yield slices of `count` trials that fit into memory, and well into a processor's cache."""
        size = max(1, int(_MAX_VALUES_IN_BATCH / (self.folds * self.penalised.size**2)))
        for first in range(0, count, size):
            yield slice(first, first + size)
