"""Descent on the Moreau envelope of a client's loss (pFedMe, Dinh et al. 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from comity.families.network.rules.descent import Descent
from comity.families.network.rules.rule import Place, Rule

if TYPE_CHECKING:
    from comity.families.network.answers.learner import Learner


@final
@dataclass(frozen=True)
class Moreau(Rule):
    """Take `steps` of descent on F(w) = min over θ of f(θ) + pull / 2 · |θ - w|², whose gradient is pull · (w - θ).

    The personal θ of each step is found by `inner` steps of descent at `inner_rate`, from w. F is `pull`-smooth, so
    that a `rate` of 1 / pull moves w all the way to θ.
    """

    steps: int
    rate: float
    pull: float
    inner: int
    inner_rate: float
    momentum: float = 0.9

    def train(self, learner: Learner, start: Place, step: int) -> tuple[Place, float]:
        """Return the place after the last step, and the loss at the start."""
        nearby = Descent(self.inner, self.inner_rate, momentum=self.momentum, pull=self.pull)
        place, first = start, 0.0
        for number in range(self.steps):
            best, loss = nearby.train(learner, place, step + number * self.inner)
            slope = Place(self.pull * (place.model - best.model), self.pull * (place.own - best.own))
            place = place.moved(slope, self.rate)
            first = first if number else loss
        return place, first
