"""Cross-fitted losses on a quadratic front, with the symbols of `comity.families.glm.quadratic_front`."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from comity.core.arrays import Floats, Integers
from comity.search.trials import Bounds

if TYPE_CHECKING:
    from comity.families.glm.quadratic_front import QuadraticFront

_ARRAYS = ("target", "judged", "judged_rows", "_judge_gram", "_judge_cross", "_own_gram", "_own_cross", "_own_rows")
_MIN_LOG_PENALTY, _MAX_LOG_PENALTY = float(np.log(1e-9)), float(np.log(1e3))


class QuadraticTrials:
    """Cross-fitted losses of P targets at once, as functions of weights and penalty, with their derivatives.

    Trial p is about client ``target[p]``. For every fold k of its rows, a model is trained on all rows of the other
    clients and on the target's own rows outside fold k, and evaluated on fold k. Only the target's own rows differ
    between folds, so the one large product, weights times moments, is computed once for all folds.
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
        """Return for each fold the target's own sums over its rows outside that fold, times its unit."""
        own = sums[self.target]
        rest = own.sum(axis=1, keepdims=True) / self.front.repeats - own
        return np.asarray(rest * self.front.unit[self.target].reshape((-1,) + (1,) * (own.ndim - 1)))

    def __len__(self) -> int:
        return self.target.size

    def some(self, chosen: Integers) -> QuadraticTrials:
        """Return some of the trials."""
        part = copy(self)
        for name in _ARRAYS:
            setattr(part, name, getattr(self, name)[chosen])
        return part

    def batches(self, count: int) -> Iterator[slice]:
        """Yield slices of `count` trials that fit into memory."""
        return self.front.batches(count)

    @property
    def bounds(self) -> Bounds:
        """The smallest and the largest logarithm of the penalty."""
        least = self.front.least_penalty
        return _MIN_LOG_PENALTY if least is None else np.log(least[self.target]), _MAX_LOG_PENALTY

    @property
    def alone_losses(self) -> Floats | None:
        """The exact loss of each target's own model (P,), if the front is an expansion for which it is known."""
        known = self.front.alone_losses
        return None if known is None else known[self.target]

    def halves(self) -> list[tuple[QuadraticTrials, QuadraticTrials]]:
        """Return pairs of the same trials, evaluated on one half of the folds and on the other.

        Only the folds of the first repeat are used: across repeats, the two halves would share rows.
        """
        front, folds = self.front, self.front.folds // self.front.repeats
        sums = {name: getattr(front, name)[:, :folds] for name in ("gram", "cross", "square", "rows")}
        once = QuadraticTrials(replace(front, **sums, repeats=1), self.target)
        half = np.arange(once.front.folds) % 2
        return [(once.judged_on(half == this), once.judged_on(half != this)) for this in range(2)]

    def judged_on(self, folds: NDArray[np.bool_]) -> QuadraticTrials:
        """Return the same trials, evaluated only on some of the folds (K,); the training rows stay the same."""
        part = copy(self)
        part.judged = self.judged * folds
        part.judged_rows = (self.front.rows[self.target] * part.judged).sum(axis=1)
        return part

    def outcomes(self, weights: Floats, log_penalty: Floats) -> Floats:
        """Return the model of every fold (P, K, d) for weights (P, N) and penalties (P,)."""
        system, right, _ = self._systems(weights, log_penalty)
        return np.asarray(np.linalg.solve(system, right[..., None])[..., 0])

    def losses(self, weights: Floats, log_penalty: Floats) -> Floats:
        """Return each target's mean cross-validated loss (P,) for weights (P, N) and logarithms of penalties (P,)."""
        return self.mean_losses(self.outcomes(weights, log_penalty))

    def losses_by_penalty(self, weights: Floats, logs: Floats) -> Floats:
        """Return losses (M, P) for weights (P, N), each with M penalties whose logarithms are in `logs` (P, M)."""
        system, right, _ = self._systems(weights)
        before = np.zeros(len(self))
        losses = np.empty(logs.T.shape)
        for number, log_penalty in enumerate(logs.T):
            self._add_penalty(system, np.exp(log_penalty) - before)
            before = np.exp(log_penalty)
            losses[number] = self.mean_losses(np.asarray(np.linalg.solve(system, right[..., None])[..., 0]))
        return losses

    def mean_losses(self, models: Floats) -> Floats:
        """Return the mean loss (P,) of models (P, K, d), each evaluated on its own fold."""
        return self._mean(self._fold_losses(models)[0])

    def _fold_losses(self, models: Floats) -> tuple[Floats, Floats]:
        """Return the loss (P, K) of models θ (P, K, d), summed over the rows of each one's fold, and Gθ (P, K, d)."""
        grams = (self._judge_gram @ models[..., None])[..., 0]
        cross = (self._judge_cross * models).sum(-1)
        return self.front.square[self.target] - 2 * cross + (models * grams).sum(-1), grams

    def _mean(self, sums: Floats) -> Floats:
        """Return the mean over rows (P,) from sums over the rows of each fold (P, K)."""
        return np.asarray((sums * self.judged).sum(axis=1) / self.judged_rows)

    def standard_error(self, one: Floats, other: Floats) -> Floats:
        """Return the standard error (P,) of the mean difference in loss of two models (P, K, d), paired by row.

        A row's difference is δ(2e - δ), with e the residual of `one` and δ the prediction of `other` minus that of
        `one`. Its variance is that of a product of two normal variables, whose second moments follow from the sums.
        For a log-likelihood, the variance of the difference is that of the gradient along the change of parameters,
        and the information equality gives it by the curvature.
        """
        change = other - one
        by_gram = (self._judge_gram @ change[..., None])[..., 0]
        if self.front.likelihood:
            variance = (2 * (change * by_gram).sum(-1) * self.judged).sum(axis=1)
            return np.asarray(np.sqrt(np.maximum(variance, 0.0) * self.front.repeats) / self.judged_rows)
        products = (self._judge_cross * change).sum(-1) - (one * by_gram).sum(-1)
        delta, error, both = map(self._mean, ((change * by_gram).sum(-1), self._fold_losses(one)[0], products))
        variance = delta * (4 * error - 4 * both + delta) + (2 * both - delta) ** 2
        return np.asarray(np.sqrt(np.maximum(variance, 0.0) * self.front.repeats / self.judged_rows))

    def derivatives(self, weights: Floats, log_penalty: Floats) -> tuple[Floats, Floats, Floats]:
        """Return losses (P,), their derivatives by the weights (P, N), and by the logarithm of the penalty (P,).

        By the implicit function theorem ∂θ/∂w_j = A⁻¹ (b_j - G_jθ - n_jλDθ) / s, with A = M / s + λD the matrix of the
        system. With the adjoint u = A⁻¹∇l, l being the loss, ∂l/∂w_j = uᵀ(b_j - G_jθ - n_jλDθ) / s for all j at once.
        """
        front = self.front
        system, right, rows = self._systems(weights, log_penalty)
        models = np.asarray(np.linalg.solve(system, right[..., None])[..., 0])
        sums, grams = self._fold_losses(models)
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
        return self._mean(sums), by_weight, by_penalty

    def _systems(self, weights: Floats, log_penalty: Floats | None = None) -> tuple[Floats, Floats, Floats]:
        """Return A (P, K, d, d), the right side c / s (P, K, d) and weighted rows s (P, K) of every fold's system."""
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
        if log_penalty is not None:
            self._add_penalty(system, np.exp(log_penalty))
        right = cross[:, None] + own[:, None, None] * self._own_cross
        return system, right / rows[..., None], rows

    def _add_penalty(self, system: Floats, penalty: Floats) -> None:
        diagonal = np.arange(self.front.penalised.size)
        system[..., diagonal, diagonal] += penalty[:, None, None] * self.front.penalised
