"""How likely losses are, if clients' noises differ: a client with much noise counts little.

The variance of a client's noise is taken as drawn around a typical one φ, as if it had been seen on ν rows before:
φᵢ⁻¹ is gamma distributed with mean φ⁻¹ and ν degrees of freedom. Then the sum of n squared errors follows a t
distribution, whose tails are heavy: no single client decides for all.
"""

import numpy as np

from comity.core.arrays import Floats

_FREEDOM = 10.0  # ν, in rows
_STEPS = 20  # enough for a digit or two, which is more than it is known to
_TINY = 1e-12


def typical_noise(losses: Floats, rows: Floats) -> float:
    """Return the most likely φ, from losses (N,) that are sums over rows (N,).

    >>> losses, rows = np.array([9.0, 11.0, 10.0, 9000.0]), np.full(4, 10.0)
    >>> round(typical_noise(losses, rows), 2)
    2.0
    """
    losses, total = np.maximum(losses, 0.0), max(float(rows.sum()), 1.0)
    noise = max(float(losses.sum()) / total, _TINY)
    for _ in range(_STEPS):
        counted = (rows + _FREEDOM) * losses / (_FREEDOM * noise + losses)
        noise = max(noise * float(counted.sum()) / total, _TINY)
    return noise


def deviances(losses: Floats, rows: Floats, typical: float) -> Floats:
    """Return -2 log likelihoods of losses (N, T), sums over rows (N,), up to a constant.

    >>> deviances(np.array([[10.0, 12.0]]), np.array([10.0]), 1.0).round(2)
    array([[13.86, 15.77]])
    """
    return np.asarray((rows[:, None] + _FREEDOM) * np.log1p(np.maximum(losses, 0.0) / (_FREEDOM * typical)))
