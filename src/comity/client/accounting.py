"""What noise is worth: ε for a δ, by Google's dp-accounting.

Answers with Gaussian noise compose: noise of z₁, z₂, … times the sensitivity is together worth noise of 1/√(Σ 1/z²)
times. Σ 1/z² is called the *strength* of what was given; ε follows from it and δ by the distribution of privacy losses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec

import numpy as np

from comity.core.optional import lacking, require

_FINE = 1e-4  # of ε, which the accountant's grid is as fine as
_CLOSE = 1e-3  # of the strength that a budget allows, up to which it is searched for


def check_installed() -> None:
    """Check that there is an accountant, before anything is given; it takes a second to load, and is not yet."""
    if find_spec("dp_accounting") is None:
        raise lacking("dp_accounting", "to tell what noise is worth")


@cache
def epsilon_of(strength: float, delta: float) -> float:
    """Return the ε of answers of some strength.

    >>> round(epsilon_of(1.0, 1e-5), 3)
    4.377
    """
    if not strength:
        return 0.0
    require("dp_accounting", "to tell what noise is worth")
    events, pld = require("dp_accounting.dp_event", "…"), require("dp_accounting.pld", "…")
    bound = strength / 2 + math.sqrt(2 * strength * math.log(1 / delta))  # Bun and Steinke 2016, Proposition 1.3
    accountant = pld.PLDAccountant(value_discretization_interval=_FINE * bound)
    accountant.compose(events.GaussianDpEvent(1 / math.sqrt(strength)))
    with np.errstate(over="ignore"):  # to the accountant, an ε beyond 709 is infinite
        return min(float(accountant.get_epsilon(delta)), bound)


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that may be spent, as ε for a δ."""

    epsilon: float
    delta: float

    def allows(self, strength: float) -> bool:
        """Tell whether answers of some strength are within it."""
        low, high = _bracket(self.epsilon, self.delta)
        if low < strength < high:
            return epsilon_of(strength, self.delta) <= self.epsilon
        return strength <= low


@cache
def _bracket(epsilon: float, delta: float) -> tuple[float, float]:
    """Return a strength that a budget allows and one that it does not, close to each other.

    The accountant takes a tenth of a second, which is too long for every step of a training.
    """
    low, high = 0.0, 1.0
    while epsilon_of(high, delta) <= epsilon:
        low, high = high, 4 * high
    while high - low > _CLOSE * high:
        middle = (low + high) / 2
        low, high = (middle, high) if epsilon_of(middle, delta) <= epsilon else (low, middle)
    return low, high
