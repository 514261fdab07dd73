"""Meta-learning: descent on the loss after one local step of the client (Per-FedAvg, Fallah et al. 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import torch

from comity.families.network.rules.rule import Place, Rule, slope_at

if TYPE_CHECKING:
    from comity.families.network.answers.learner import Learner


@final
@dataclass(frozen=True)
class Meta(Rule):
    """Take `steps` of descent on F(θ) = f(θ'), θ' = θ - inner_rate · ∇f(θ), with ∇F = (I - inner_rate · ∇²f(θ)) ∇f(θ').

    Without `curvature` the second-order term is dropped (first-order, FO). With it, the product ∇²f(θ) ∇f(θ') is the
    difference of two gradients, at θ ± `spread` · ∇f(θ') (Hessian-free, HF). A step takes two gradients on two batches,
    of ∇f(θ) and ∇f(θ'), or four on three batches, with the curvature.
    """

    steps: int
    rate: float
    inner_rate: float
    curvature: bool = False
    spread: float = 1e-3
    momentum: float = 0.9

    @property
    def gradients(self) -> int:
        """The number of gradients in a step."""
        return 4 if self.curvature else 2

    def train(self, learner: Learner, start: Place, step: int) -> tuple[Place, float]:
        """Return the place after the last step, and the loss at the start."""
        place, first = start, 0.0
        speed = Place(torch.zeros_like(start.model), torch.zeros_like(start.own))
        for number in range(self.steps):
            batch = step + self.gradients * number
            loss, slope = slope_at(learner, place, batch)
            _, ahead = slope_at(learner, place.moved(slope, self.inner_rate), batch + 1)
            if self.curvature:
                ahead = ahead.moved(self._curved(learner, place, ahead, batch + 2), self.inner_rate)
            speed = ahead.moved(speed, -self.momentum)
            place = place.moved(speed, self.rate)
            first = first if number else loss
        return place, first

    def _curved(self, learner: Learner, place: Place, along: Place, step: int) -> Place:
        """Return the product of the curvature at a place and a slope."""
        _, further = slope_at(learner, place.moved(along, -self.spread), step)
        _, nearer = slope_at(learner, place.moved(along, self.spread), step)
        double = 2 * self.spread
        return Place((further.model - nearer.model) / double, (further.own - nearer.own) / double)
