"""What is known about how well each client does with each of some procedures: its own rows, and those of all others.

The same K procedures (alone, with the nearest collaborator, with the nearest two, …) are tried with all N clients. One
of them, the *common* one, serves the clients best. The question is what a client would lose by another.

The models say it: if the model of the common procedure is right up to what a client's rows leave open, the excess loss
of another procedure has the mean q, the squared distance of the predictions, and the covariance C. But models may be
wrong: clients that lie far apart may be so for a reason. So the excess is taken as g(q), and g is learned from the rows
of all clients that tested models. They did not train these models, so that they tell without flattery what distances
are worth. The final models, which have all rows, are judged by the same g.

A single client's test rows say little beyond that: C is what its rows leave open, and the same rows were used. Only if
they contradict the models so much that its C must be larger, s C with a larger s, the client is believed. And whom the
common procedure hurts for sure has but its own rows to go by.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit
from scipy.stats import norm

from comity.core.arrays import Booleans, Floats, Integers

_SCALES = np.array([1.2, 4.0, 12.0, 40.0])  # with the first, the models are right; on new rows they lie further apart
_SEEN_BEFORE = np.array([8.0, 2.0, 1.0, 0.5])  # clients of each scale that are taken as seen
# The expected level of g(q) / q and its precision: alone and for the rest, to decide; and alone, to report.
_ALONE, _REST, _REPORTED = (1.35, 1.5), (1.0, 1.5), (1.3, 0.15)
_PRIOR_OF_SLOPE, _PRIOR_OF_FACTOR = 2.0, 4.0  # precisions
_PRIOR_OF_SERVED = 8.0  # the logarithm of the odds that the common procedure does not hurt a client
_ROWS_FOR_TAILS = 10.0  # rows whose losses are as good as none, before a client's own are believed
_WITH_ALL_ROWS = 0.97  # distances of final models are worth less; measured on planted federations
_MIN_KEPT, _MAX_KEPT = 0.25, 1.25  # of what distances alone are worth
_COVERED, _QUANTILE = 0.95, norm.ppf(0.975)
_HALVINGS = 40
_ROUNDS = 50
_MIN_CHANGE = 1e-3
_JITTER = 1e-6  # relative, so that procedures that are the same do not make matrices singular
_TINY = 1e-16


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What is known about N clients with K procedures, tested on F parts of the rows, before it is weighed.

    Attributes:
        common: The number of the common procedure.
        excess: The mean loss over that of the common procedure on each part (N, F, K), of models learned without it.
        rows: The rows of each part that tested (N, F): none where nothing was tested.
        expected: The squared distances q of these models (N, F, K).
        unit: The variance of the noise of each client (N,), by which that of an excess loss follows from q.
        gained: The log likelihood ratio (N,) of the common procedure over being alone, on rows that tested.
        noise: The covariance of the mean excess losses of each client (N, K, K).
        spread: The covariance C of its true excess losses (N, K, K).
        final: The squared distances q of the models of all rows (N, K).
        final_spread: The variance of the true excess loss of the final model alone (N,).
        moved: The mean squared distance (N, 2) between models that were learned without a part and the final ones: of
            those alone, and of the common procedure.
    """

    common: int
    excess: Floats
    rows: Floats
    expected: Floats
    unit: Floats
    gained: Floats
    noise: Floats
    spread: Floats
    final: Floats
    final_spread: Floats
    moved: Floats

    @property
    def trusted(self) -> Floats:
        """How far a client's own test rows are believed (N,): tails are heavy, and few rows do not show them."""
        rows = self.rows.sum(axis=1)
        return np.asarray(rows / (rows + _ROWS_FOR_TAILS))

    @property
    def served(self) -> Floats:
        """The probability (N,) that the common procedure does not hurt a client, by rows that tested; 1 without any."""
        chances = expit(_PRIOR_OF_SERVED + self.gained * self.trusted)
        return np.where(self.rows.any(axis=1), chances, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """The expected excess losses of final models over the common procedure's, and how sure they are.

    Attributes:
        mean: The expected excess losses (N, K), by which clients decide.
        alone: The expected excess losses alone (N,) as they are reported: they lean less on what is usual.
        errors: The standard errors (S, N) of the excess loss alone with each of the scales s, if g is right.
        weights: How likely each of the scales is for each client (S, N).
        common_error: What it has in addition because the g that is reported is uncertain (N,): common to all clients.
        curves: g for being alone, and for the rest.
    """

    mean: Floats
    alone: Floats
    errors: Floats
    weights: Floats
    common_error: Floats
    curves: tuple[Curve, Curve]

    @property
    def error(self) -> Floats:
        """The standard error (N,) of the excess loss alone: 1.96 of it on either side hold 95 % of the mixture."""
        deviations = np.hypot(self.errors, self.common_error)
        low, high = np.zeros(deviations.shape[1]), deviations.max(axis=0)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            covered = (self.weights * (2 * _positive(_QUANTILE * middle, deviations) - 1)).sum(axis=0)
            enough = covered >= _COVERED
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return np.asarray(high)

    def probability(self, gain: Floats) -> Floats:
        """Return the probability (N,) that clients that expect to gain (N,) over being alone do gain; ½ for no gain."""
        chances = _positive(gain, np.hypot(self.errors, self.common_error))
        return np.asarray(np.minimum((self.weights * chances).sum(axis=0), 1.0))

    def probability_of_loss(self, client: Integers, loss: Floats, error: Floats) -> Floats:
        """Return the probability (P,) that clients lose by another model if they expect a loss, with an error by C."""
        chances = _positive(loss, np.sqrt(_SCALES)[:, None] * error)
        return np.asarray(np.minimum((self.weights[:, client] * chances).sum(axis=0), 1.0))


def _positive(mean: Floats, deviation: Floats) -> Floats:
    """Return the probability that normal variables are positive; one half where they are exactly zero."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(deviation > 0, norm.cdf(mean / deviation), np.where(mean > 0, 1.0, 0.5))


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """What distances are worth: g(q) = q (level + slope (m - q) / (m + q)), at least 0, with m the mean distance.

    Attributes:
        coefficients: Level and slope.
        covariance: Their covariance (2, 2).
        middle: m.
    """

    coefficients: Floats
    covariance: Floats
    middle: float

    @classmethod
    def fit(cls, expected: Floats, excess: Floats, variance: Floats, rows: Floats, prior: tuple[float, float]) -> Curve:
        """Estimate it from distances (P,) and excess losses (P,) with a variance (P,), on some rows (P,).

        `prior` has the expected level and its precision.
        """
        middle = max(float(rows @ expected) / max(float(rows.sum()), 1.0), _TINY)
        columns = _columns(expected, middle)
        weights = 1 / np.maximum(variance, _TINY)
        level, precision = prior
        covariance = np.linalg.inv((columns.T * weights) @ columns + np.diag([precision, _PRIOR_OF_SLOPE]))
        right = (columns.T * weights) @ excess + np.array([level * precision, 0.0])
        found, slope = covariance @ right
        most = max(float(found), 0.0)  # with a larger slope, far models would seem to cost less than near ones
        return cls(np.array([found, np.clip(slope, -most, most)]), np.asarray(covariance), middle)

    def __call__(self, expected: Floats) -> Floats:
        """Return g of distances."""
        return np.asarray(np.maximum(_columns(expected, self.middle) @ self.coefficients, 0.0))

    def error(self, expected: Floats) -> Floats:
        """Return the standard error of g."""
        columns = _columns(expected, self.middle)
        return np.asarray(np.sqrt(np.einsum("...a,ab,...b->...", columns, self.covariance, columns)))


def _columns(expected: Floats, middle: float) -> Floats:
    return np.stack([expected, expected * (middle - expected) / (middle + expected)], axis=-1)


def weigh(evidence: Evidence) -> Posterior:
    """Learn what distances are worth, and weigh it against what each client's rows say."""
    clients, _, count = evidence.excess.shape
    others = np.delete(np.arange(count), evidence.common)
    curves = _curve(evidence, others[:1], _ALONE), _curve(evidence, others[1:], _REST)
    factors = _factors(evidence, curves[1])

    def worth(distances: Floats) -> Floats:
        return np.concatenate([curves[0](distances[..., :1]), factors * curves[1](distances[..., 1:])], axis=-1)

    known = np.asarray(evidence.rows.any(axis=1))
    share = evidence.rows / np.maximum(evidence.rows.sum(axis=1, keepdims=True), 1.0)
    left = np.einsum("nf,nfk->nk", share, evidence.excess - worth(evidence.expected))[:, others]
    distances = np.einsum("nf,nfk->nk", share, evidence.expected)
    grid = np.ix_(np.arange(clients), others, others)
    trusted_rows = np.maximum(evidence.trusted, _TINY)[:, None, None]
    noise, spread = (_regular(each[grid]) for each in (evidence.noise / trusted_rows, evidence.spread))
    inverses = np.array([np.linalg.inv(noise + scale * spread) for scale in _SCALES])
    fits = (np.linalg.slogdet(inverses)[1] - np.einsum("na,snab,nb->sn", left, inverses, left)) / 2
    weights = _mixture(np.where(known, fits, 0.0), known)
    larger = (_SCALES - _SCALES[0])[:, None]
    trusts = larger[..., None, None] * (spread @ inverses) * known[:, None, None]
    followed = np.einsum("sn,snab,nb->na", weights, trusts, left)
    mean, totals = _WITH_ALL_ROWS * worth(evidence.final), distances.sum(axis=0)
    closer = np.divide(evidence.final.sum(axis=0), totals, out=np.zeros(count), where=totals > 0)
    reported = _curve(evidence, others[:1], _REPORTED, _curve(evidence, others[:1], _REPORTED))
    kept = _kept(evidence, reported)
    mean[:, others] += followed * closer[others]
    alone = kept * reported(evidence.final[:, 0]) + followed[:, 0] * closer[0]
    served = evidence.served
    measured = evidence.trusted[:, None] * np.einsum("nf,nfk->nk", share, evidence.excess)
    mean = served[:, None] * mean + (1 - served)[:, None] * measured
    alone = served * alone + (1 - served) * measured[:, 0]
    trusted = np.clip(trusts[:, :, 0, 0], 0.0, 1.0)
    left_open = served * evidence.final_spread * (_SCALES[:, None] - larger * trusted)
    left_open = left_open + (1 - served) * evidence.noise[:, 0, 0]
    common_error = served * (1 - (weights * trusted).sum(axis=0)) * kept * reported.error(evidence.final[:, 0])
    return Posterior(mean, alone, np.sqrt(left_open), weights, common_error, curves)


def _kept(evidence: Evidence, curve: Curve) -> float:
    """Return what is left, with all rows, of what distances alone are worth.

    Losses fall when a model gets all rows. If a model is the expectation of what more rows would show, by the squared
    distance that it moves; the loss alone, with fewer rows, falls by more than that of the common procedure.
    """
    weight = evidence.rows * evidence.served[:, None]
    tested = float((weight * curve(evidence.expected[:, :, 0])).sum())
    falls = float(weight.sum(axis=1) @ (evidence.moved[:, 0] - evidence.moved[:, 1]))
    final = float(weight.sum(axis=1) @ curve(evidence.final[:, 0]))
    return float(np.clip((tested - falls) / final, _MIN_KEPT, _MAX_KEPT)) if final > 0 else _WITH_ALL_ROWS


def _regular(covariances: Floats) -> Floats:
    """Return covariances (N, K, K) of which none is singular, as those of procedures that are the same would be."""
    size = covariances.shape[-1]
    small = _JITTER * np.trace(covariances, axis1=1, axis2=2) / size + _TINY
    return np.asarray(covariances + small[:, None, None] * np.eye(size))


def _curve(evidence: Evidence, chosen: Integers, prior: tuple[float, float], before: Curve | None = None) -> Curve:
    """Fit a curve to some procedures, by the clients that are served.

    Together the procedures count as one, since they are much alike. The variance of the losses follows from the
    distances, or from what an estimate `before` has said of them.
    """
    tested = np.repeat((evidence.rows * evidence.served[:, None])[:, :, None], len(chosen), axis=2)
    here = tested > 0
    expected, excess, rows = evidence.expected[:, :, chosen][here], evidence.excess[:, :, chosen][here], tested[here]
    unit = np.broadcast_to(evidence.unit[:, None, None], tested.shape)[here]
    apart = expected if before is None else (expected + before(expected)) / 2
    variance = _row_variance(apart, unit) / rows * _wider(evidence) * len(chosen)
    return Curve.fit(expected, excess, variance, rows, prior)


def _factors(evidence: Evidence, curve: Curve) -> Floats:
    """Return by how much each procedure with collaborators differs from what the curve of all of them says (K - 1,)."""
    expected, excess = evidence.expected[:, :, 1:], evidence.excess[:, :, 1:]
    variance = np.maximum(_row_variance(expected, evidence.unit[:, None, None]), _TINY) * _wider(evidence)
    weights, thought = (evidence.rows * evidence.served[:, None])[:, :, None] / variance, curve(expected)
    seen = (weights * thought**2).sum(axis=(0, 1))
    found = (weights * thought * excess).sum(axis=(0, 1))
    return np.asarray(np.maximum((found + _PRIOR_OF_FACTOR) / (seen + _PRIOR_OF_FACTOR), 0.0))


def _row_variance(expected: Floats, unit: Floats) -> Floats:
    """Return the variance of a row's excess loss, by the expected squared distance and the variance of the noise."""
    return np.asarray(2 * expected**2 + 4 * expected * unit)


def _wider(evidence: Evidence) -> float:
    """Return by how much parts vary more than independent ones (Nadeau and Bengio 2003)."""
    parts: int = evidence.rows.shape[1]
    return 1 + parts / max(parts - 1, 1)


def _mixture(fits: Floats, known: Booleans) -> Floats:
    """Return how likely each scale is for each client (S, N), by log likelihoods (S, N) and how often it occurs."""
    shares = _SEEN_BEFORE / _SEEN_BEFORE.sum()
    for _ in range(_ROUNDS):
        logs = fits + np.log(shares)[:, None]
        weights = np.exp(logs - logs.max(axis=0))
        weights /= weights.sum(axis=0)
        seen = (weights * known).sum(axis=1) + _SEEN_BEFORE
        seen /= seen.sum()
        done = np.abs(seen - shares).max() < _MIN_CHANGE
        shares = seen
        if done:
            break
    return np.asarray(weights)
