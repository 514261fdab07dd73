"""Meta-learning: descent on what the loss will be after a step of a client's own (Per-FedAvg)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import torch

from comity.neural.rules.rule import Place, Rule, slope_at

if TYPE_CHECKING:
    from comity.neural.learner import Learner


@final
@dataclass(frozen=True)
class Meta(Rule):
    """Take `steps` down F(θ) = f(θ - inner_rate · ∇f(θ)), whose gradient is (I - inner_rate · ∇²f(θ)) ∇f(θ').

    Without curvature the second-order part is left out (first-order, FO). With it, the product ∇²f(θ) ∇f(θ') is the
    difference of two gradients, at θ ± `spread` · ∇f(θ') (Hessian-free, HF). Two gradients a step, or four, on two or
    three batches: that of ∇f(θ), that of ∇f(θ'), and that of the curvature.
    """

    steps: int
    rate: float
    inner_rate: float
    curvature: bool = False
    spread: float = 1e-3
    momentum: float = 0.9

    @property
    def gradients(self) -> int:
        """How many gradients a step takes."""
        return 4 if self.curvature else 2

    def train(self, learner: Learner, start: Place, step: int) -> tuple[Place, float]:
        """Return the place that was reached, and the loss at the start."""
        place, first = start, 0.0
        speed = Place(torch.zeros_like(start.model), torch.zeros_like(start.own))
        for number in range(self.steps):
            at = step + self.gradients * number
            loss, slope = slope_at(learner, place, at)
            _, ahead = slope_at(learner, place.moved(slope, self.inner_rate), at + 1)
            if self.curvature:
                ahead = ahead.moved(self._curved(learner, place, ahead, at + 2), self.inner_rate)
            speed = ahead.moved(speed, -self.momentum)
            place = place.moved(speed, self.rate)
            first = first if number else loss
        return place, first

    def _curved(self, learner: Learner, place: Place, along: Place, step: int) -> Place:
        """Return the curvature at a place times a slope."""
        _, further = slope_at(learner, place.moved(along, -self.spread), step)
        _, nearer = slope_at(learner, place.moved(along, self.spread), step)
        double = 2 * self.spread
        return Place((further.model - nearer.model) / double, (further.own - nearer.own) / double)
