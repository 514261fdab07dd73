"""The privacy spent by noisy answers: ε for a δ, computed by Google's dp-accounting.

Answers with Gaussian noise compose: noise of z₁, z₂, … times the sensitivity costs as much as one answer with noise of
1/√(Σ 1/z²) times. Σ 1/z² is called the *strength* of the answers (μ² in Gaussian differential privacy; Dong, Roth and
Su 2022). ε follows from it and δ by the distribution of privacy losses.
"""

from __future__ import annotations

import math
from functools import cache
from importlib.util import find_spec

import numpy as np

from comity.core.extras import missing_dependency, require

_GRID_STEP = 1e-4  # of the accountant, relative to ε
_BRACKET_WIDTH = 1e-3  # relative to the strength that a budget allows
_PURPOSE = "to compute the privacy spent by noisy answers"


def check_installed() -> None:
    """Check that dp-accounting is installed, without loading it, which takes a second."""
    if find_spec("dp_accounting") is None:
        raise missing_dependency("dp_accounting", _PURPOSE)


@cache
def epsilon_of(strength: float, delta: float) -> float:
    """Return the ε, for this δ, of answers with this strength.

    >>> round(epsilon_of(1.0, 1e-5), 3)
    4.377
    """
    if not strength:
        return 0.0
    events, pld = require("dp_accounting.dp_event", _PURPOSE), require("dp_accounting.pld", _PURPOSE)
    bound = strength / 2 + math.sqrt(2 * strength * math.log(1 / delta))  # Bun and Steinke 2016, Proposition 1.3
    accountant = pld.PLDAccountant(value_discretization_interval=_GRID_STEP * bound)
    accountant.compose(events.GaussianDpEvent(1 / math.sqrt(strength)))
    with np.errstate(over="ignore"):  # the accountant takes an ε above 709 for infinite
        return min(float(accountant.get_epsilon(delta)), bound)


def within_budget(strength: float, epsilon: float, delta: float) -> bool:
    """Return whether answers with this strength spend at most this ε, for this δ."""
    low, high = _bracket(epsilon, delta)
    if low < strength < high:
        return epsilon_of(strength, delta) <= epsilon
    return strength <= low


@cache
def _bracket(epsilon: float, delta: float) -> tuple[float, float]:
    """Return a strength within the limit and one beyond it, close to each other.

    The accountant takes a tenth of a second, which is too long for every training step: only a strength between the two
    is computed exactly.
    """
    low, high = 0.0, 1.0
    while epsilon_of(high, delta) <= epsilon:
        low, high = high, 4 * high
    while high - low > _BRACKET_WIDTH * high:
        middle = (low + high) / 2
        low, high = (middle, high) if epsilon_of(middle, delta) <= epsilon else (low, middle)
    return low, high
