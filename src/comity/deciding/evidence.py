"""What is known about how well each client does with each of some procedures: its own rows, and those of all others.

The same K procedures (alone, with the nearest collaborator, with the nearest two, …) are tried with all N clients. One
of them, the *common* one, has the least loss over all clients. The question is what a client would gain by another.

- A client's rows say it with noise: the difference d of two cross-validated losses has the covariance V.
- The models say it too. If the model of the common procedure is right up to what a client's rows leave open, the excess
  loss δ of a procedure has the mean q, the squared distance of its predictions, and the covariance C.

Neither is trusted blindly: δ ~ N(a q, s C), where a, and how often which s occurs, is learned from all clients
(empirical Bayes), starting near a = s = 1. The posterior is a mixture of normal distributions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from comity.core.arrays import Floats

_SCALES = np.array([0.3, 1.0, 3.0, 10.0, 30.0])
_SEEN_BEFORE = np.array([2.0, 6.0, 2.0, 1.0, 0.5])  # clients of each scale that are taken as seen
EXPECTED_FACTORS = np.array([1.15, 1.0])  # alone and the rest; measured on planted federations
_PRIOR_OF_FACTORS = 0.5  # the precision of a factor a around what is expected
_ROUNDS = 50
_MIN_CHANGE = 1e-3
_JITTER = 1e-6  # relative, so that procedures that are the same do not make matrices singular
_TINY = 1e-16


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What is known about N clients with K procedures before it is weighed.

    Attributes:
        losses: Cross-validated mean losses (N, K); NaN for a client without any.
        noise: Their covariance (N, K, K), as differences from the common procedure.
        expected: The expected excess losses over the common procedure (N, K).
        spread: The covariance of the excess losses (N, K, K).
    """

    losses: Floats
    noise: Floats
    expected: Floats
    spread: Floats

    def some(self, chosen: list[int]) -> Evidence:
        """Return what is known about some of the procedures."""
        grid = np.ix_(np.arange(len(self.losses)), np.array(chosen), np.array(chosen))
        return Evidence(self.losses[:, chosen], self.noise[grid], self.expected[:, chosen], self.spread[grid])


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """The expected excess loss of each procedure over the common one, and how sure it is.

    Attributes:
        mean: The expected excess losses (N, K).
        covariance: Their covariance (N, K, K), for factors as they are.
        common_error: The part (N,) of the standard error of a client's excess loss alone that comes from the factor,
            and so is common to all clients.
        factors: The factors a: for being alone, and for the rest.
        shares: How often each scale s occurs.
    """

    mean: Floats
    covariance: Floats
    common_error: Floats
    factors: Floats
    shares: Floats


def weigh(evidence: Evidence, common: int) -> Posterior:
    """Weigh what clients' rows say against what is expected; the first procedure is to be alone."""
    losses, expected = evidence.losses, evidence.expected
    clients, count = losses.shape
    others = np.delete(np.arange(count), common)
    grid = np.ix_(np.arange(clients), others, others)
    known = np.asarray(~np.isnan(losses).any(axis=1))
    observed = np.where(known[:, None], losses - losses[:, [common]], 0.0)[:, others]
    scale = np.maximum(expected[:, others], 1e-12)
    small = _JITTER * scale.mean(axis=1) ** 2 + _TINY
    jitter = small[:, None, None] * np.eye(count - 1)
    noises, spreads, means = evidence.noise[grid] + jitter, evidence.spread[grid] + jitter, expected[:, others]
    kinds = np.stack([others == 0, others != 0]).astype(np.float64)  # a factor for being alone, one for the rest
    factors, shares = EXPECTED_FACTORS, _SEEN_BEFORE / _SEEN_BEFORE.sum()
    for _ in range(_ROUNDS):
        centre = means * (factors @ kinds)
        fits, inverses = [], []
        for each in _SCALES:
            total = noises + each * spreads
            inverse = np.linalg.inv(total)
            left = observed - centre
            fits.append(-(np.einsum("na,nab,nb->n", left, inverse, left) + np.linalg.slogdet(total)[1]) / 2)
            inverses.append(inverse)
        logs = np.where(known, np.array(fits), 0.0) + np.log(shares)[:, None]
        weights = np.exp(logs - logs.max(axis=0))
        weights /= weights.sum(axis=0)
        mixed = np.einsum("sn,snab->nab", weights * known, np.array(inverses))
        by_kind = kinds[:, None, :] * means  # (2, N, K - 1)
        system = np.einsum("ina,nab,jnb->ij", by_kind, mixed, by_kind) + _PRIOR_OF_FACTORS * np.eye(2)
        right = np.einsum("ina,nab,nb->i", by_kind, mixed, observed) + _PRIOR_OF_FACTORS * EXPECTED_FACTORS
        new = np.maximum(np.linalg.solve(system, right), 0.0)
        seen = (weights * known).sum(axis=1) + _SEEN_BEFORE
        seen /= seen.sum()
        done = max(np.abs(new - factors).max(), np.abs(seen - shares).max()) < _MIN_CHANGE
        factors, shares = new, seen
        if done:
            break
    centre = means * (factors @ kinds)
    parts, covariances, trusts = [], [], []
    for each, inverse in zip(_SCALES, inverses, strict=True):
        gain = each * spreads @ inverse * known[:, None, None]
        trusts.append(gain[:, 0, 0])
        parts.append(centre + (gain @ (observed - centre)[..., None])[..., 0])
        covariances.append(each * (spreads - gain @ spreads))
    mean = np.einsum("sn,sna->na", weights, np.array(parts))
    apart = np.array(parts) - mean
    inside = np.einsum("sn,snab->nab", weights, np.array(covariances) + apart[..., :, None] * apart[..., None, :])
    whole, covariance = np.zeros((clients, count)), np.zeros((clients, count, count))
    whole[:, others], covariance[grid] = mean, inside
    # The more a client follows its own rows, the less hangs on the factor.
    followed = np.einsum("sn,sn->n", weights, np.array(trusts))
    common_error = (1 - followed) * means[:, 0] * np.sqrt(np.linalg.inv(system)[0, 0])
    return Posterior(whole, covariance, common_error, factors, shares)
