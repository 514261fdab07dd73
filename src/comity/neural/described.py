"""What the outputs of a network mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Described:
    """A target: a number, standardised by mean and scale, or one of several classes (0: a number).

    >>> Described(classes=0, mean=10.0, scale=2.0).predictions(torch.tensor([[0.5], [-1.0]]))
    array([11.,  8.])
    """

    classes: int
    mean: float = 0.0
    scale: float = 1.0

    def predictions(self, outputs: Tensor) -> Floats:
        """Return values (n,) in the target's own units, or probabilities (n, C)."""
        if self.classes:
            return np.asarray(torch.softmax(outputs.double(), dim=1).cpu().numpy())
        return np.asarray(outputs.double().reshape(-1).cpu().numpy() * self.scale + self.mean)

    def as_given(self, target: Floats) -> Floats:
        """Return the target in its own units."""
        return target if self.classes else target * self.scale + self.mean
