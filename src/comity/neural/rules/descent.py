"""Gradient descent with momentum, and a pull towards where it began if that is wanted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import torch

from comity.neural.rules.rule import Place, Rule, slope_at

if TYPE_CHECKING:
    from comity.neural.learner import Learner


@final
@dataclass(frozen=True)
class Descent(Rule):
    """Take `steps` down the loss, f(θ) + pull / 2 · |θ - θ₀|², where θ₀ is where it began (a proximal term)."""

    steps: int
    rate: float
    momentum: float = 0.9
    pull: float = 0.0

    @property
    def gradients_long(self) -> float:
        """How many gradients, times the rate, its way is long where the slope is the same all along.

        >>> Descent(steps=2, rate=0.1, momentum=0.5).gradients_long  # 1, and then 1 + 0.5
        2.5
        """
        return sum(1 - self.momentum**number for number in range(1, self.steps + 1)) / (1 - self.momentum)

    def train(self, learner: Learner, start: Place, step: int) -> tuple[Place, float]:
        """Return the place that was reached, and the loss at the start."""
        place, first = start, 0.0
        speed = Place(torch.zeros_like(start.model), torch.zeros_like(start.own))
        for number in range(self.steps):
            loss, slope = slope_at(learner, place, step + number)
            pulled = slope.model + self.pull * (place.model - start.model)
            speed = Place(pulled, slope.own).moved(speed, -self.momentum)
            place = place.moved(speed, self.rate)
            first = first if number else loss
        return place, first
