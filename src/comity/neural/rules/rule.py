"""What a local rule is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from comity.neural.learner import Learner


@dataclass(frozen=True, eq=False)
class Place:
    """Where a client stands: the shared parameters (1, D), and those that are personal to it (1, Dp)."""

    model: Tensor
    own: Tensor

    def moved(self, by: Place, rate: float) -> Place:
        """Return the place that lies `rate` times a slope further down."""
        return Place(self.model - rate * by.model, self.own - rate * by.own)


@dataclass(frozen=True)
class Rule(ABC):
    """How a client goes from one place to another on its own rows."""

    @abstractmethod
    def train(self, learner: Learner, start: Place, step: int) -> tuple[Place, float]:
        """Return the place that was reached, and the loss at the start; `step` gradients were taken before."""


def slope_at(learner: Learner, place: Place, step: int) -> tuple[float, Place]:
    """Return the mean loss at a place on the rows of a step, and its slope."""
    first = torch.zeros(1, dtype=torch.long, device=place.model.device)
    losses, by_model, by_own = learner.slopes(place.model, first, step, place.own)
    return float(losses[0]), Place(by_model, by_own)
