"""What each task means for a generalised linear model: the loss of its rows, and what it predicts."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

from comity.core.arrays import Floats
from comity.core.cox import CoxLoss
from comity.core.likelihood import LogLoss, Loss, predict_linear
from comity.core.poisson import PoissonLoss, exponential
from comity.core.tasks import Task


@dataclass(frozen=True, slots=True, eq=False)
class SquaredLoss(Loss):
    """The squared error of n rows: features (n, f) and numbers (n,), both standardised."""

    features: Floats
    target: Floats

    def total(self, parameters: Floats, counts: Floats) -> float:
        """Return the loss summed over rows."""
        return float(counts @ (self.target - self.features @ parameters) ** 2)

    def derivatives(self, parameters: Floats, counts: Floats) -> tuple[Floats, Floats]:
        """Return slope (d,) and curvature (d, d) of the loss summed over rows."""
        weighted = self.features * counts[:, None]
        return 2 * weighted.T @ (self.features @ parameters - self.target), 2 * weighted.T @ self.features

    def expanded(self, point: Floats, counts: Floats) -> tuple[Floats, Floats, float, float]:
        """Return gram, cross, square and rows, which are the same at any point."""
        weighted = self.features * counts[:, None]
        return (
            weighted.T @ self.features,
            weighted.T @ self.target,
            float(counts @ self.target**2),
            float(counts.sum()),
        )

    def some(self, here: object) -> Self:
        """Return the loss on some of the rows."""
        return replace(self, features=self.features[here], target=self.target[here])  # type: ignore[call-overload]


@dataclass(frozen=True, slots=True)
class Scale:
    """What the target of a schema is: its classes, or the mean and scale of its numbers; of counts the mean rate."""

    classes: int
    mean: float
    scale: float


LOSSES: dict[Task, Callable[[Floats, Floats, Floats, Scale], Loss]] = {
    "regression": lambda features, target, exposure, scale: SquaredLoss(features, target),
    "classes": lambda features, target, exposure, scale: LogLoss(features, target, scale.classes),
    "counts": lambda features, target, exposure, scale: PoissonLoss(features, target, exposure * scale.mean),
    "survival": lambda features, target, exposure, scale: CoxLoss(features[:, :-1], target),
}
"""The loss of each task: of features (n, f) whose last column is ones, targets (n,) and exposures (n,)."""

PREDICTIONS: dict[Task, Callable[[Floats, Floats, Scale], Floats]] = {
    "regression": lambda features, model, scale: predict_linear(features, model, 0, scale.mean, scale.scale),
    "classes": lambda features, model, scale: predict_linear(features, model, scale.classes, 0.0, 1.0),
    "counts": lambda features, model, scale: scale.mean * exponential(features @ model)[1],
    "survival": lambda features, model, scale: exponential(features[:, :-1] @ model)[1],
}
"""What a model (d,) of each task predicts for features (n, f) whose last column is ones: a number, the probabilities of
classes (n, C), the expected count for an exposure of one, or the relative risk."""
