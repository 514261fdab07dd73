"""Losses of rows as functions of a model's parameters, Newton's method, and the log loss of logistic regression.

Every task of generalised linear models has a loss: its value, gradient (slope) and Hessian (curvature), summed over
rows. This module has what they share, and the log loss of classes; `comity.core.losses` lists all of them.

Parameters θ of classes are one vector (d,). For two classes it has one entry for each feature, for the log odds of the
second class. For C > 2 classes it has C entries for each feature, feature by feature; the constant feature is the last,
so the intercepts are the last entries.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.special import expit, log_softmax, softmax

from comity.core.arrays import Floats

INTERCEPT_SHARE = 1e-3  # of the penalty, for intercepts; without it, rows of a single class have no finite optimum
_MAX_NEWTON_STEPS = 60
_MAX_HALVINGS = 30


def penalty_factors(size: int, intercepts: int, share: float = INTERCEPT_SHARE) -> Floats:
    """Return the factor of the penalty for each parameter (size,): one, and a small `share` for intercepts."""
    factors = np.ones(size)
    factors[size - intercepts :] = share
    return factors


@dataclass(frozen=True, slots=True)
class Dealing:
    """How rows are dealt into disjoint parts that train and test.

    Attributes:
        least: The least number of rows of a part.
        most: The most parts there may be.
        evenly: Whether strata are spread evenly. Parts with the same shares of classes as the rest would flatter models
            that follow the client's own shares.
    """

    least: int = 1
    most: int | None = None
    evenly: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Penalty:
    """The quadratic form (θ - μ)ᵀ A (θ - μ), with A the diagonal (d,) or symmetric matrix (d, d) `form`, μ the `mean`.

    >>> at = np.array([1.0, 2.0])
    >>> Penalty(np.array([3.0, 1.0])).value(at), Penalty(np.diag([3.0, 1.0]), np.array([1.0, 0.0])).value(at)
    (7.0, 4.0)
    """

    form: Floats
    mean: Floats | float = 0.0

    def value(self, parameters: Floats) -> float:
        """Return its value at some parameters."""
        apart = parameters - self.mean
        return float(self.form @ apart**2 if self.form.ndim == 1 else apart @ self.form @ apart)

    def slope(self, parameters: Floats) -> Floats:
        """Return its gradient (d,) at some parameters."""
        apart = parameters - self.mean
        return np.asarray(2 * self.form * apart if self.form.ndim == 1 else 2 * self.form @ apart)

    @property
    def curvature(self) -> Floats:
        """Its Hessian (d, d)."""
        return np.diag(2 * self.form) if self.form.ndim == 1 else 2 * self.form


class Loss(ABC):
    """The loss of n rows, convex in the parameters θ (d,), of which the last are intercepts.

    Divided by 2φ, it is minus a log likelihood up to a constant; φ is one half unless rows vary more than the
    distribution of the task says (`dispersion`). A row counts `counts` (n,) times.
    """

    __slots__ = ()
    features: Floats
    target: Floats

    @property
    def intercepts(self) -> int:
        """How many of the parameters, the last ones, are intercepts."""
        return 1

    @property
    def size(self) -> int:
        """The number of parameters, d."""
        return int(self.features.shape[1])

    @abstractmethod
    def total(self, parameters: Floats, counts: Floats) -> float:
        """Return the loss summed over rows."""

    @abstractmethod
    def derivatives(self, parameters: Floats, counts: Floats) -> tuple[Floats, Floats]:
        """Return slope (d,) and curvature (d, d) of the loss summed over rows."""

    def slope(self, parameters: Floats, counts: Floats) -> Floats:
        """Return the gradient (d,) of the loss summed over rows."""
        return self.derivatives(parameters, counts)[0]

    def curvature(self, parameters: Floats, counts: Floats) -> Floats:
        """Return the Hessian (d, d) of the loss summed over rows."""
        return self.derivatives(parameters, counts)[1]

    def observations(self, counts: Floats) -> float:
        """Return the number of observations that the loss is a sum of: rows, or events."""
        return float(counts.sum())

    @property
    def strata(self) -> Floats:
        """What is spread evenly over the folds of a search: a number for each row (n,), such as its class."""
        return np.zeros(len(self.target))

    @property
    def dealing(self) -> Dealing:
        """How rows are dealt once into disjoint parts."""
        return Dealing()

    def dispersion(self, parameters: Floats, counts: Floats, used: float) -> float:
        """Return how much more rows vary than the distribution says, at least 1, with `used` parameters fitted."""
        return 1.0

    def expanded(self, point: Floats, counts: Floats) -> tuple[Floats, Floats, float, float]:
        """Return gram, cross, square and rows of the loss square - 2 cross·θ + θᵀ gram θ, expanded at a point (d,)."""
        slope, curvature = self.derivatives(point, counts)
        level = self.total(point, counts) - slope @ point + point @ curvature @ point / 2
        return curvature / 2, (curvature @ point - slope) / 2, float(level), self.observations(counts)

    @abstractmethod
    def some(self, here: object) -> Self:
        """Return the loss on some of the rows."""

    def fit(self, counts: Floats, penalty: Floats | Penalty, start: Floats, rounds: int = _MAX_NEWTON_STEPS) -> Floats:
        """Return the parameters θ (d,) that minimise mean loss + penalty, by Newton's method.

        An array (d,) is the penalty Σ penalty_k θ_k². Each of at most `rounds` steps is halved until it lowers the
        objective enough (Armijo's rule).
        """
        total, pull = counts.sum(), penalty if isinstance(penalty, Penalty) else Penalty(penalty)

        def objective(parameters: Floats) -> float:
            return float(self.total(parameters, counts) / total + pull.value(parameters))

        theta, value = start, objective(start)
        ridge = pull.curvature
        for _ in range(rounds):
            slope, curvature = self.derivatives(theta, counts)
            slope = slope / total + pull.slope(theta)
            step = np.linalg.solve(curvature / total + ridge, slope)
            if slope @ step <= 1e-12 * max(value, 1e-12):
                break
            length = 1.0
            for _ in range(_MAX_HALVINGS):
                new = objective(theta - length * step)
                if new <= value - 1e-4 * length * float(slope @ step):
                    break
                length /= 2
            else:
                break
            theta, value = theta - length * step, new
        return theta


@dataclass(frozen=True, slots=True, eq=False)
class LogLoss(Loss):
    """The log loss on n rows: features (n, f), the position of each row's class (n,), and the number of classes."""

    features: Floats
    target: Floats
    classes: int

    @property
    def outputs(self) -> int:
        """The number of entries of θ for each feature."""
        return 1 if self.classes == 2 else self.classes

    @property
    def intercepts(self) -> int:
        """One intercept for each output."""
        return self.outputs

    @property
    def strata(self) -> Floats:
        """The classes."""
        return self.target

    @property
    def dealing(self) -> Dealing:
        """Parts have two rows at least: the AUC compares rows of a part."""
        return Dealing(least=2)

    @property
    def size(self) -> int:
        """The number of parameters, d."""
        return int(self.features.shape[1]) * self.outputs

    def scores(self, parameters: Floats) -> Floats:
        """Return the linear scores (n, outputs) of the rows: log odds, or logits of the softmax."""
        return np.asarray(self.features @ parameters.reshape(-1, self.outputs))

    def losses(self, parameters: Floats) -> Floats:
        """Return the loss of every row (n,)."""
        scores = self.scores(parameters)
        if self.outputs == 1:
            return np.logaddexp(0.0, np.where(self.target == 1, -scores[:, 0], scores[:, 0]))
        return np.asarray(-log_softmax(scores, axis=1)[np.arange(len(scores)), self.target.astype(np.intp)])

    def total(self, parameters: Floats, counts: Floats) -> float:
        """Return the loss summed over rows."""
        return float(counts @ self.losses(parameters))

    def derivatives(self, parameters: Floats, counts: Floats) -> tuple[Floats, Floats]:
        """Return slope (d,) and curvature (d, d) of the loss summed over rows."""
        probabilities = self.probabilities(parameters)
        return self._slope(probabilities, counts), self._curvature(probabilities, counts)

    def slope(self, parameters: Floats, counts: Floats) -> Floats:
        """Return the gradient (d,) of the loss summed over rows."""
        return self._slope(self.probabilities(parameters), counts)

    def some(self, here: object) -> Self:
        """Return the loss on some of the rows."""
        return replace(self, features=self.features[here], target=self.target[here])  # type: ignore[call-overload]

    def _slope(self, probabilities: Floats, counts: Floats) -> Floats:
        target = self.target[:, None]
        residuals = probabilities - (target if self.outputs == 1 else target == np.arange(self.outputs))
        return np.asarray((self.features.T @ (residuals * counts[:, None])).ravel())

    def _curvature(self, probabilities: Floats, counts: Floats) -> Floats:
        if self.outputs == 1:
            weight = counts * probabilities[:, 0] * (1 - probabilities[:, 0])
            return np.asarray((self.features * weight[:, None]).T @ self.features)
        size = self.features.shape[1]
        blocks = np.empty((size, self.outputs, size, self.outputs))
        for first in range(self.outputs):
            for second in range(first, self.outputs):
                weight = counts * probabilities[:, first] * ((first == second) - probabilities[:, second])
                block = (self.features * weight[:, None]).T @ self.features
                blocks[:, first, :, second] = block
                blocks[:, second, :, first] = block.T
        return blocks.reshape(self.size, self.size)

    def probabilities(self, parameters: Floats) -> Floats:
        """Return probabilities (n, outputs): of the second class if there are two classes, otherwise of every class."""
        scores = self.scores(parameters)
        return np.asarray(expit(scores) if self.outputs == 1 else softmax(scores, axis=1))


def predict_linear(features: Floats, parameters: Floats, classes: int, mean: float, scale: float) -> Floats:
    """Return the predictions of a linear model (d,) for features (n, f), whose last column is ones.

    With classes these are probabilities (n, C); otherwise values (n,), scaled back by the target's mean and scale.
    """
    if not classes:
        return np.asarray(features @ parameters * scale + mean)
    found = LogLoss(features, np.empty(0), classes).probabilities(parameters)
    return np.column_stack([1 - found, found]) if found.shape[1] == 1 else found
