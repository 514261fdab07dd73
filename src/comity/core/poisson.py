"""The loss of counts: half the deviance of Poisson regression with a log link.

Row i has the expected count μ_i = base_i exp(x_iᵀθ), where `base` is what is expected if all parameters are zero: the
mean rate of all clients times the row's exposure. Its loss is μ - y + y log(y / μ), half its deviance: minus its log
likelihood plus that of the model in which every row has its own mean. It is zero for a perfect prediction.

Counts often vary more than the Poisson distribution says, by a factor that `PoissonLoss.dispersion` estimates. The loss
divided by it is then minus the logarithm of a quasi-likelihood (McCullagh and Nelder, *Generalized Linear Models*,
chapter 9).
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from comity.core.arrays import Floats
from comity.core.likelihood import Loss

_MOST = 20.0  # the logarithm of an expected count over its base; beyond, exp continues as a parabola
_TINY = 1e-300
_ROWS_BEFORE = 10.0  # rows without overdispersion that are taken as seen before


@dataclass(frozen=True, slots=True, eq=False)
class PoissonLoss(Loss):
    """Half the deviance of n rows: features (n, f), counts (n,) and the expected counts (n,) if parameters are zero."""

    features: Floats
    target: Floats
    base: Floats

    def means(self, parameters: Floats) -> Floats:
        """Return the expected count of each row (n,)."""
        return self.base * exponential(self.features @ parameters)[1]

    def losses(self, parameters: Floats) -> Floats:
        """Return the loss of every row (n,)."""
        scores, target = self.features @ parameters, self.target
        perfect = target * np.log(np.maximum(target, _TINY) / self.base) - target
        return np.asarray(self.base * exponential(scores)[0] - target * scores + perfect)

    def total(self, parameters: Floats, counts: Floats) -> float:
        """Return the loss summed over rows."""
        return float(counts @ self.losses(parameters))

    def derivatives(self, parameters: Floats, counts: Floats) -> tuple[Floats, Floats]:
        """Return slope (d,) and curvature (d, d) of the loss summed over rows."""
        _, first, second = exponential(self.features @ parameters)
        slope = self.features.T @ (counts * (self.base * first - self.target))
        return slope, (self.features * (counts * self.base * second)[:, None]).T @ self.features

    def dispersion(self, parameters: Floats, counts: Floats, used: float) -> float:
        """Return Pearson's statistic over its degrees of freedom, at least 1, leaning on 1 where rows are few."""
        means = np.maximum(self.means(parameters), _TINY)
        pearson = float(counts @ ((self.target - means) ** 2 / means))
        freedom = max(float(counts.sum()) - used, 0.0)
        return max((pearson + _ROWS_BEFORE) / (freedom + _ROWS_BEFORE), 1.0)

    def some(self, here: object) -> Self:
        """Return the loss on some of the rows."""
        rows = {name: getattr(self, name)[here] for name in ("features", "target", "base")}
        return replace(self, **rows)


def exponential(scores: Floats) -> tuple[Floats, Floats, Floats]:
    """Return exp(z) and its first two derivatives; far out it continues as a parabola, so that nothing overflows.

    >>> [each.tolist() for each in exponential(np.array([0.0]))]
    [[1.0], [1.0], [1.0]]
    >>> bool(np.isfinite(exponential(np.array([1e9]))).all())
    True
    """
    second = np.exp(np.minimum(scores, _MOST))
    beyond = np.maximum(scores - _MOST, 0.0)
    return second * (1 + beyond + beyond**2 / 2), second * (1 + beyond), second
