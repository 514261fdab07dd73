"""What the models of clients have in common, learned from all of them: how far they lie apart, and in which directions.

Client i's parameters are drawn from N(μ, Ω), and its loss, over 2φ, is minus its log likelihood: φ is the variance of
the noise, or one half for a log loss (more for counts that are overdispersed). `Hierarchy.learn` estimates μ, Ω and φ
by EM on the marginal likelihood. With few clients Ω leans on its diagonal, as if `_LEANING` clients for each parameter
had been seen that vary column by column.

The *personal model* of a client with a set S of collaborators is pulled from its own rows towards their model:
θ = P (b / φ + (cΩ)⁻¹ μ_S), with P = (G / φ + (cΩ)⁻¹)⁻¹, G and b from its own rows, and μ_S estimated on the rows of S
and its own. The *pull* c says how far apart the members of S are, compared with all clients: 0 pools their rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from comity.core.arrays import Floats, Integers
from comity.families.glm.sums import Sums

_LEANING = 2.0  # clients for each parameter
_SHARED_COLUMNS = 4.0  # clients' worth of evidence that all slopes vary alike
_MAX_CLIENTS = 300  # from whom it is learned: a sample, drawn at random, of more
_MAX_STEPS = 40
_MIN_CHANGE = 2e-3  # of the variances in a step, relative
_MIN_NOISE = 1e-6  # in units of the target's variance: with less, rounding would decide
_TINY = 1e-9
_LOOSE = 1e2  # the least prior variance of a set's intercept, in units of the target's variance


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Clients' models and what they have in common: see the module.

    Attributes:
        sums: The losses of the clients; of more than `_MAX_CLIENTS`, it was learned from some.
        intercepts: How many of the parameters, the last ones, are intercepts.
        mean: μ (d,).
        spread: Ω (d, d).
        noise: φ.
        models: Each client's model (N, d), pulled towards the mean of all.
    """

    sums: Sums
    intercepts: int
    mean: Floats
    spread: Floats
    noise: float
    models: Floats

    @classmethod
    def learn(cls, sums: Sums, intercepts: int, noise: float | None = None) -> Hierarchy:
        """Estimate it by EM; the noise is estimated too unless it is given."""
        if len(sums) > _MAX_CLIENTS:
            sample = np.sort(np.random.default_rng(0).permutation(len(sums))[:_MAX_CLIENTS])
            found = cls.learn(sums.some(sample), intercepts, noise)
            inverse = _inverse(found.spread)
            right = sums.cross / found.noise + inverse @ found.mean
            everybody = np.linalg.solve(sums.gram / found.noise + inverse, right[..., None])[..., 0]
            return replace(found, sums=sums, models=np.asarray(everybody))
        clients, size = len(sums), sums.size
        rows, leaning = max(float(sums.rows.sum()), 1.0), _LEANING * size
        variance, spread, ridge = 0.7 if noise is None else noise, 0.05 * np.eye(size), 1.0
        for _ in range(_MAX_STEPS):
            inverse = _inverse(spread)
            posterior = _inverse(sums.gram / variance + inverse)
            drawn = posterior @ inverse  # how far a client's model follows the mean
            precision = (sums.gram / variance) @ drawn
            right = (sums.cross[:, None, :] @ drawn)[:, 0] / variance
            of_mean = _inverse(precision.sum(axis=0) + np.diag(_mean_precision(ridge, size, intercepts)))
            mean = of_mean @ right.sum(axis=0)
            models = (posterior @ sums.cross[..., None])[..., 0] / variance + drawn @ mean
            apart, kept = models - mean, np.eye(size) - drawn
            moments = posterior.sum(axis=0) + apart.T @ apart + _sandwiched(kept, of_mean)
            before, spread = np.diag(spread), _shrink(moments, clients, leaning, intercepts)
            ridge = (
                max(float((mean**2 + np.diag(of_mean))[: size - intercepts].mean()), 1e-8) if size > intercepts else 1.0
            )
            if noise is None:
                unsure = posterior + drawn @ of_mean @ drawn.transpose(0, 2, 1)
                left = sums.losses(models) + np.einsum("nij,nji->n", unsure, sums.gram)
                variance = max(float(left.sum()) / rows, _MIN_NOISE)
            if np.abs(np.diag(spread) / before - 1).max() < _MIN_CHANGE:
                break
        return cls(sums, intercepts, mean, spread, variance, models)

    @cached_property
    def prior_precision(self) -> Floats:
        """The inverse variance (d,) of a set's parameters: by the squares of the clients', intercepts loose."""
        squares = (self.models**2).mean(axis=0)
        variance = _lean_on_groups(squares, len(self.models), self.intercepts)
        loose = slice(variance.size - self.intercepts, None)
        variance[loose] = np.maximum(variance[loose], _LOOSE)
        return np.asarray(1 / np.maximum(variance, _TINY))

    def pulled(self, pull: float) -> Pulled:
        """Return what personal models with a pull are made of."""
        inverse = _inverse(self.spread * pull)
        posterior = _inverse(self.sums.gram / self.noise + inverse)
        drawn = posterior @ inverse
        own = (posterior @ self.sums.cross[..., None])[..., 0] / self.noise
        precision = (self.sums.gram / self.noise) @ drawn
        right = (self.sums.cross[:, None, :] @ drawn)[:, 0] / self.noise
        return Pulled(self.prior_precision, posterior, drawn, own, precision, right)


@dataclass(frozen=True, slots=True, eq=False)
class Pulled:
    """Personal models with a certain pull, for any sets of collaborators.

    A client's model is own + drawn μ_S, where μ_S solves (Σ precision + prior) μ_S = Σ right over the members of S.
    """

    prior: Floats
    posterior: Floats
    drawn: Floats
    own: Floats
    precision: Floats
    right: Floats

    def set_means(self, members: sparse.csr_array | None) -> tuple[Floats, Floats]:
        """Return for each of P sets (P, N) the precision (P, d, d) and the mean μ_S (P, d); None is the set of all."""
        size = self.prior.size
        if members is None:
            precision, right = self.precision.sum(axis=0)[None], self.right.sum(axis=0)[None]
        else:
            precision = (members @ self.precision.reshape(len(self.precision), -1)).reshape(-1, size, size)
            right = members @ self.right
        precision = precision + np.diag(self.prior)
        return precision, np.asarray(np.linalg.solve(precision, right[..., None])[..., 0])

    def models(self, members: sparse.csr_array | None, target: Integers | slice = slice(None)) -> Floats:
        """Return the personal model (P, d) of each target (P,) with its set, of which it is a member itself."""
        mean = self.set_means(members)[1]
        return np.asarray(self.own[target] + (self.drawn[target] @ mean[..., None])[..., 0])

    def newcomer(self) -> Floats:
        """Return the model (d,) of a client that has no rows: the mean of all."""
        return np.asarray(self.set_means(None)[1][0])


def _inverse(matrices: Floats) -> Floats:
    """Return the inverses of positive definite matrices, symmetric."""
    found = np.linalg.inv(matrices)
    return np.asarray((found + np.swapaxes(found, -1, -2)) / 2)


def _mean_precision(ridge: float, size: int, intercepts: int) -> Floats:
    """Return the prior precision (d,) of the mean of all clients: a ridge, and hardly any for intercepts."""
    precision = np.full(size, 1 / ridge)
    precision[size - intercepts :] = 1e-6
    return precision


def _sandwiched(outer: Floats, inner: Floats) -> Floats:
    """Return Σ_n A_n B A_nᵀ for matrices A (N, d, d) and B (d, d)."""
    return np.asarray(np.tensordot(outer @ inner, outer, axes=((0, 2), (0, 2))))


def _shrink(moments: Floats, clients: int, leaning: float, intercepts: int) -> Floats:
    """Return the covariance from the sum of the clients' squares, leaning on its diagonal."""
    diagonal = _lean_on_groups(np.diag(moments) / clients, clients, intercepts)
    return np.asarray((moments + leaning * np.diag(diagonal)) / (clients + leaning) + _TINY * np.eye(len(moments)))


def _lean_on_groups(squares: Floats, clients: int, intercepts: int) -> Floats:
    """Return the mean squares (d,) of parameters, each leaning on the mean over its group: slopes, intercepts."""
    leaned = squares.copy()
    slopes = squares.size - intercepts
    for group in (slice(None, slopes), slice(slopes, None)):
        if squares[group].size:
            leaned[group] = (clients * squares[group] + _SHARED_COLUMNS * squares[group].mean()) / (
                clients + _SHARED_COLUMNS
            )
    return leaned
