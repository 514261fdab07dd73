"""Gradient descent with momentum, and an optional pull towards the start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import torch

from comity.families.network.rules.rule import Place, Rule, slope_at

if TYPE_CHECKING:
    from comity.families.network.answers.learner import Learner


@final
@dataclass(frozen=True)
class Descent(Rule):
    """Take `steps` of descent on f(θ) + pull / 2 · |θ - θ₀|², with a proximal term about the start θ₀."""

    steps: int
    rate: float
    momentum: float = 0.9
    pull: float = 0.0

    @property
    def gradients_long(self) -> float:
        """The length of its path in units of rate times gradient, if the gradient is constant.

        >>> Descent(steps=2, rate=0.1, momentum=0.5).gradients_long  # 1 + (1 + 0.5)
        2.5
        """
        return sum(1 - self.momentum**number for number in range(1, self.steps + 1)) / (1 - self.momentum)

    def train(self, learner: Learner, start: Place, step: int) -> tuple[Place, float]:
        """Return the place after the last step, and the loss at the start."""
        place, first = start, 0.0
        speed = Place(torch.zeros_like(start.model), torch.zeros_like(start.own))
        for number in range(self.steps):
            loss, slope = slope_at(learner, place, step + number)
            pulled = slope.model + self.pull * (place.model - start.model)
            speed = Place(pulled, slope.own).moved(speed, -self.momentum)
            place = place.moved(speed, self.rate)
            first = first if number else loss
        return place, first
