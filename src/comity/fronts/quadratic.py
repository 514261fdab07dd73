"""The exact front of quadratic losses: linear regression with ridge, in closed form.

Client j's loss over a set of rows is Σ (y - xᵀθ)² = y·y - 2 bᵀθ + θᵀGθ, known by its moments G, b and y·y. For weights
w over the clients and a penalty λ the model solves

    (M / s + λD) θ = c / s,   M = Σ w_j G_j,  c = Σ w_j b_j,  s = Σ w_j n_j,

where D spares the intercept. A weight is *per sample*: equal weights are pooled training. A zero weight leaves a client
out exactly, so the faces of the simplex are the fronts of sub-coalitions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from comity.likelihood import SPARED, spare_intercepts
from comity.trials import Bounds, Integers

Floats = NDArray[np.float64]
_SUMS = ("_judge_gram", "_judge_cross", "_own_gram", "_own_cross", "_own_rows")
_SPARSE = 0.1  # up to this share of weights that are not zero, a sparse product is the faster one
_MOST_NUMBERS = 1e6  # in the systems of one batch
LEAST, MOST = float(np.log(1e-9)), float(np.log(1e3))  # logarithms of penalties
_UNPENALISED = 1e-9  # keeps a system solvable whose intercept no row determines


@dataclass(frozen=True, eq=False)
class QuadraticFront:
    """The front of N clients whose rows lie in K folds, for models of d parameters, the last being `intercepts`.

    `gram` (N, K, d, d), `cross` (N, K, d), `square` (N, K) and `rows` (N, K) are sums over a client's rows in a fold.
    With `per_client`, weights are those of the paper: they scale a client's mean loss, not that of each of its rows.
    `likelihood` says that the sums are not squares but a second-order expansion of a negative log-likelihood. Such a
    front may be expanded at a point of each target's own: then `whole_gram` (N, N, d, d) and `whole_cross` (N, N, d)
    have for each target every client's sums over all its rows, and the sums in folds are those at the client's own.
    Far from there it misleads: `alone_losses` (N,) are exact ones, and below `least_penalty` (N,) it flatters.
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
        """How many clients there are, N."""
        return int(self.rows.shape[0])

    @property
    def folds(self) -> int:
        """How many folds there are, K."""
        return int(self.rows.shape[1])

    @cached_property
    def penalised(self) -> Floats:
        """The diagonal of D: ones, but next to nothing for the intercepts."""
        return spare_intercepts(self.cross.shape[2], self.intercepts, SPARED if self.likelihood else _UNPENALISED)

    @cached_property
    def unit(self) -> Floats:
        """What a weight of one gives to each row of a client (N,)."""
        rows = self.rows.sum(axis=1)
        return self.repeats / rows if self.per_client else np.ones(self.clients)

    @cached_property
    def total_gram(self) -> Floats:
        """Every client's gram matrix over all its rows, times its unit, flattened: (1 or N, N, d²), by target."""
        total: Floats = self.gram.sum(axis=1)[None] / self.repeats if self.whole_gram is None else self.whole_gram
        return total.reshape(len(total), self.clients, -1) * self.unit[:, None]

    @cached_property
    def total_cross(self) -> Floats:
        """Every client's Σ y x over all its rows, times its unit: (1 or N, N, d), by target."""
        total: Floats = self.cross.sum(axis=1)[None] / self.repeats if self.whole_cross is None else self.whole_cross
        return np.asarray(total * self.unit[:, None])

    @cached_property
    def total_rows(self) -> Floats:
        """How many rows every client has, times its unit: (N,)."""
        return np.asarray(self.rows.sum(axis=1) / self.repeats * self.unit)

    def once(self) -> QuadraticFront:
        """Return the front with the folds of the first repetition only."""
        folds = self.folds // self.repeats
        gram, cross, square, rows = (each[:, :folds] for each in (self.gram, self.cross, self.square, self.rows))
        return replace(self, gram=gram, cross=cross, square=square, rows=rows, repeats=1)

    def trials(self, target: Integers) -> QuadraticTrials:
        """Return the trials of P targets: see `QuadraticTrials`."""
        return QuadraticTrials(self, target)

    def models(self, target: Integers, weights: Floats, log_penalty: Floats) -> Floats:
        """Return the parameters (P, d) for targets (P,), weights (P, N), logarithms of penalties (P,), on all rows."""
        size = self.penalised.size
        gram, cross, rows = self.mix(target, weights)
        system = gram.reshape(-1, size, size) / rows[:, None, None]
        system[:, np.arange(size), np.arange(size)] += np.exp(log_penalty)[:, None] * self.penalised
        return np.asarray(np.linalg.solve(system, (cross / rows[:, None])[..., None])[..., 0])

    def mix(self, target: Integers, weights: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the weighted sums over clients: gram (P, d²), cross (P, d), rows (P,)."""
        if self.whole_gram is None:
            few = np.count_nonzero(weights) <= _SPARSE * weights.size
            mixing = csr_array(weights) if few else weights
            return mixing @ self.total_gram[0], mixing @ self.total_cross[0], weights @ self.total_rows
        gram = (weights[:, None] @ self.total_gram[target])[:, 0]
        cross = (weights[:, None] @ self.total_cross[target])[:, 0]
        return gram, cross, weights @ self.total_rows

    def spread(self, target: Integers, by_gram: Floats, by_cross: Floats) -> Floats:
        """Return for each client (P, N) the products of its sums with gram-like (P, d²) and cross-like (P, d) ones."""
        if self.whole_gram is None:
            return np.asarray(by_cross @ self.total_cross[0].T + by_gram @ self.total_gram[0].T)
        products = self.total_gram[target] @ by_gram[..., None] + self.total_cross[target] @ by_cross[..., None]
        return np.asarray(products[..., 0])

    def batches(self, count: int) -> Iterator[slice]:
        """Yield slices of `count` trials, so many at a time as memory allows and a processor's cache likes."""
        size = max(1, int(_MOST_NUMBERS / (self.folds * self.penalised.size**2)))
        for first in range(0, count, size):
            yield slice(first, first + size)


class QuadraticTrials:
    """Cross-fitted losses of P targets at once, as functions of weights and penalty, with their derivatives.

    Trial p is about client ``target[p]``. For every fold k of its rows, a model is trained on all rows of the
    others and on the target's own rows outside fold k, and judged on fold k.

    Only the target's own rows differ from fold to fold, so the one large product, weights times moments, is shared by
    all folds.
    """

    def __init__(self, front: QuadraticFront, target: Integers) -> None:
        self.front = front
        self.target = target
        self.judged = np.ones((target.size, front.folds))
        self.judged_rows = front.rows[target].sum(axis=1)
        self._judge_gram, self._judge_cross = front.gram[target], front.cross[target]
        self._own_gram = self._own(front.gram)
        self._own_cross = self._own(front.cross)
        self._own_rows = self._own(front.rows)

    def _own(self, sums: Floats) -> Floats:
        """Return the target's own sums for each fold, over its rows outside that fold, times its unit."""
        own = sums[self.target]
        rest = own.sum(axis=1, keepdims=True) / self.front.repeats - own
        return np.asarray(rest * self.front.unit[self.target].reshape((-1,) + (1,) * (own.ndim - 1)))

    def __len__(self) -> int:
        return self.target.size

    def some(self, chosen: Integers) -> QuadraticTrials:
        """Return some of the trials."""
        part = object.__new__(QuadraticTrials)
        part.front = self.front
        for name in ("target", "judged", "judged_rows", *_SUMS):
            setattr(part, name, getattr(self, name)[chosen])
        return part

    def batches(self, count: int) -> Iterator[slice]:
        """Yield slices of `count` trials, so many at a time as memory allows."""
        return self.front.batches(count)

    @property
    def bounds(self) -> Bounds:
        """Between which logarithms penalties are looked for."""
        least = self.front.least_penalty
        return LEAST if least is None else np.log(least[self.target]), MOST

    @property
    def alone_losses(self) -> Floats | None:
        """What each target loses alone (P,), if it is known better than by an expansion."""
        known = self.front.alone_losses
        return None if known is None else known[self.target]

    def halves(self) -> list[tuple[QuadraticTrials, QuadraticTrials]]:
        """Return pairs of the same trials, judged on one half of the folds and on the other.

        Of folds that were drawn several times over, the first do: in others, rows would judge that have searched.
        """
        once = self.front.once().trials(self.target)
        half = np.arange(once.front.folds) % 2
        return [(once.judged_on(half == this), once.judged_on(half != this)) for this in range(2)]

    def judged_on(self, folds: NDArray[np.bool_]) -> QuadraticTrials:
        """Return the same trials, judged on some of the folds (K,) only; what trains stays the same."""
        part = self.some(np.arange(len(self)))
        part.judged = self.judged * folds
        part.judged_rows = (self.front.rows[self.target] * part.judged).sum(axis=1)
        return part

    def outcomes(self, weights: Floats, log_penalty: Floats) -> Floats:
        """Return the model of every fold (P, K, d) for weights (P, N) and penalties (P,)."""
        system, right, _ = self._systems(weights, log_penalty)
        return np.asarray(np.linalg.solve(system, right[..., None])[..., 0])

    def losses(self, weights: Floats, log_penalty: Floats) -> Floats:
        """Return each target's mean cross-fitted loss (P,)."""
        return self.mean_losses(self.outcomes(weights, log_penalty))

    def losses_by_penalty(self, weights: Floats, logs: Floats) -> Floats:
        """Return losses (M, P) for weights (P, N), each with M penalties whose logarithms are in `logs` (P, M)."""
        system, right, _ = self._pooled(weights)
        before = np.zeros(len(self))
        losses = np.empty(logs.T.shape)
        for at, each in enumerate(logs.T):
            self._add_penalty(system, np.exp(each) - before)
            before = np.exp(each)
            losses[at] = self.mean_losses(np.asarray(np.linalg.solve(system, right[..., None])[..., 0]))
        return losses

    def mean_losses(self, models: Floats) -> Floats:
        """Return the mean loss (P,) of models (P, K, d), each judged on its own fold."""
        grams = (self._judge_gram @ models[..., None])[..., 0]
        sums = self.front.square[self.target] - 2 * (self._judge_cross * models).sum(-1) + (models * grams).sum(-1)
        means: Floats = (sums * self.judged).sum(axis=1) / self.judged_rows
        return means

    def standard_error(self, one: Floats, other: Floats) -> Floats:
        """Return the standard error (P,) of the mean difference of two models' losses, row by row (models (P, K, d)).

        A row's difference is δ(2e - δ), with e the residual of `one` and δ what `other` predicts more. Its variance
        is that of a product of two normal variables, whose second moments are known. The difference of two
        log-likelihoods varies as its slope does, whose second moments are the curvature (the information equality).
        """
        change = other - one
        by_gram = (self._judge_gram @ change[..., None])[..., 0]
        if self.front.likelihood:
            variance = (2 * (change * by_gram).sum(-1) * self.judged).sum(axis=1)
            return np.asarray(np.sqrt(np.maximum(variance, 0.0) * self.front.repeats) / self.judged_rows)
        residual = self.front.square[self.target] - 2 * (self._judge_cross * one).sum(-1)
        residual = residual + (one * (self._judge_gram @ one[..., None])[..., 0]).sum(-1)
        sums = ((change * by_gram).sum(-1), residual, (self._judge_cross * change).sum(-1) - (one * by_gram).sum(-1))
        delta, error, both = ((part * self.judged).sum(axis=1) / self.judged_rows for part in sums)
        variance = delta * (4 * error - 4 * both + delta) + (2 * both - delta) ** 2
        return np.asarray(np.sqrt(np.maximum(variance, 0.0) * self.front.repeats / self.judged_rows))

    def derivatives(self, weights: Floats, log_penalty: Floats) -> tuple[Floats, Floats, Floats]:
        """Return losses (P,), their derivatives by the weights (P, N), and by the logarithm of the penalty (P,).

        By the implicit function theorem ∂θ/∂w_j = A⁻¹ (b_j - G_jθ - n_jλDθ) / s, with A the matrix of the system; the
        adjoint u = A⁻¹∇l makes this one product for all j.
        """
        front = self.front
        system, right, rows = self._systems(weights, log_penalty)
        models = np.linalg.solve(system, right[..., None])[..., 0]
        grams = (self._judge_gram @ models[..., None])[..., 0]
        sums = front.square[self.target] - 2 * (self._judge_cross * models).sum(-1) + (models * grams).sum(-1)
        losses = (sums * self.judged).sum(axis=1) / self.judged_rows
        slope = 2 * (grams - self._judge_cross) * (self.judged / self.judged_rows[:, None])[..., None]
        adjoint = np.linalg.solve(system, slope[..., None])[..., 0]
        shrinking = np.exp(log_penalty)[:, None, None] * front.penalised * models
        by_penalty = -(adjoint * shrinking).sum(axis=(1, 2))

        scaled = adjoint / rows[..., None]
        pull = (scaled * shrinking).sum(axis=-1)
        outer = (scaled.transpose(0, 2, 1) @ models).reshape(len(self), -1)
        by_weight = front.spread(self.target, -outer, scaled.sum(axis=1))
        by_weight -= pull.sum(axis=1)[:, None] * front.total_rows
        own = self._own_cross - (self._own_gram @ models[..., None])[..., 0]
        by_weight[np.arange(len(self)), self.target] = (scaled * own).sum(axis=(1, 2)) - (pull * self._own_rows).sum(1)
        return losses, by_weight, by_penalty

    def _systems(self, weights: Floats, log_penalty: Floats) -> tuple[Floats, Floats, Floats]:
        """Return matrix (P, K, d, d), right side (P, K, d) and weighted rows (P, K) of every fold's system."""
        system, right, rows = self._pooled(weights)
        self._add_penalty(system, np.exp(log_penalty))
        return system, right, rows

    def _pooled(self, weights: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the systems without a penalty."""
        front = self.front
        everybody = np.arange(len(self))
        own = weights[everybody, self.target]
        others = weights.copy()
        others[everybody, self.target] = 0.0
        size = front.penalised.size
        gram, cross, count = front.mix(self.target, others)
        rows = count[:, None] + own[:, None] * self._own_rows
        system = self._own_gram * (own[:, None] / rows)[..., None, None]
        system += gram.reshape(-1, 1, size, size) / rows[..., None, None]
        right = cross[:, None] + own[:, None, None] * self._own_cross
        return system, right / rows[..., None], rows

    def _add_penalty(self, system: Floats, penalty: Floats) -> None:
        diagonal = np.arange(self.front.penalised.size)
        system[..., diagonal, diagonal] += penalty[:, None, None] * self.front.penalised
