"""The model of a client alone, by its own marginal likelihood: nothing is learned from anybody.

For a number, parameters other than the intercept are drawn from N(0, φ / λ), and the intercept is free. The model is
the mean of those of many penalties λ, each weighted by the marginal likelihood of the client's rows and by a
half-Cauchy prior of √(1 / λ), the standard deviation of parameters in units of the noise.
"""

import numpy as np

from comity.core.arrays import Floats
from comity.families.glm.sums import Sums

_LOG_PENALTIES = np.linspace(-12.0, 14.0, 53)
_LOG_PRIOR = _LOG_PENALTIES / 2 - np.log1p(np.exp(_LOG_PENALTIES))
_TINY = 1e-300


def fit_own(sums: Sums) -> tuple[Floats, Floats]:
    """Return the model alone (N, d) of every client, for a number, and its mean penalty (N,)."""
    rows = np.maximum(sums.rows, 1.0)
    centre, level = sums.gram[:, :-1, -1] / rows[:, None], sums.cross[:, -1] / rows
    gram = sums.gram[:, :-1, :-1] - rows[:, None, None] * centre[:, :, None] * centre[:, None, :]
    cross = sums.cross[:, :-1] - (rows * level)[:, None] * centre
    square = np.maximum(sums.square - rows * level**2, 0.0)
    values, vectors = np.linalg.eigh(gram)
    values = np.maximum(values, 0.0)
    present = values > 1e-10 * np.maximum(values[:, -1:], 1e-10)
    along = (cross[:, None, :] @ vectors)[:, 0] * present  # right sides in the directions of the eigenvectors
    scores, models = [], []
    for log_penalty, log_prior in zip(_LOG_PENALTIES, _LOG_PRIOR, strict=True):
        penalty = np.exp(log_penalty)
        left = np.maximum(square - (along**2 / (values + penalty)).sum(axis=1), _TINY)
        volume = (np.log1p(values / penalty) * present).sum(axis=1)
        scores.append(log_prior - ((sums.rows - 1) * np.log(left) + volume) / 2)
        models.append(along / (values + penalty))
    weight = np.exp(np.array(scores) - np.max(scores, axis=0))
    weight /= weight.sum(axis=0)
    slopes = (vectors @ (np.array(models) * weight[..., None]).sum(axis=0)[..., None])[..., 0]
    intercept = level - (slopes * centre).sum(axis=1)
    return np.column_stack([slopes, intercept]), np.exp(weight.T @ _LOG_PENALTIES)
