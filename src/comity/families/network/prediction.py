"""From the outputs of a network to predictions of the target."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from comity.core.arrays import Floats
from comity.families.network.modules import Functional, perceptron
from comity.questions.schema import Target


@dataclass(frozen=True, slots=True)
class TargetScale:
    """The scale of a target: a number, standardised by mean and scale (`classes` is 0), or one of several classes.

    >>> TargetScale(classes=0, mean=10.0, scale=2.0).predictions(torch.tensor([[0.5], [-1.0]]))
    array([11.,  8.])
    """

    classes: int
    mean: float = 0.0
    scale: float = 1.0

    def predictions(self, outputs: Tensor) -> Floats:
        """Return predictions (n,) in the units of the target, or probabilities (n, C)."""
        if self.classes:
            return np.asarray(torch.softmax(outputs.double(), dim=1).cpu().numpy())
        return np.asarray(outputs.double().reshape(-1).cpu().numpy() * self.scale + self.mean)

    def as_given(self, target: Floats) -> Floats:
        """Return a standardised target in its original units."""
        return target if self.classes else target * self.scale + self.mean


def predict_encoded(features: Floats, target: Target, model: Floats, width: int, depth: int) -> Floats:
    """Return a perceptron's values (n,) or probabilities (n, C) for encoded rows (n, f), whose last column is ones."""
    classes = len(target.classes)
    functional = Functional.of(perceptron(features.shape[1] - 1, classes or 1, width, depth, seed=0).double())
    with torch.no_grad():
        outputs = functional(torch.as_tensor(model), torch.zeros(0), torch.as_tensor(features[:, :-1]))
    return TargetScale(classes, target.mean, target.scale).predictions(outputs)
