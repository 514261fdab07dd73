"""The protocol of local rules."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from comity.families.network.answers.learner import Learner


@dataclass(frozen=True, eq=False)
class Place:
    """A point of a training: the shared parameters (1, D), and the client's personal ones (1, Dp)."""

    model: Tensor
    own: Tensor

    def moved(self, by: Place, rate: float) -> Place:
        """Return this place minus `rate` times a slope."""
        return Place(self.model - rate * by.model, self.own - rate * by.own)


@dataclass(frozen=True)
class Rule(ABC):
    """How a client trains from a start on its own rows; its fields are its settings."""

    @abstractmethod
    def train(self, learner: Learner, start: Place, step: int) -> tuple[Place, float]:
        """Return the place after the last step, and the loss at the start; `step` gradients were computed before."""


def slope_at(learner: Learner, place: Place, step: int) -> tuple[float, Place]:
    """Return the mean loss at a place on the rows of a step, and its gradient."""
    first = torch.zeros(1, dtype=torch.long, device=place.model.device)
    losses, by_model, by_own = learner.slopes(place.model, first, step, place.own)
    return float(losses[0]), Place(by_model, by_own)
