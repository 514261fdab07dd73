"""Rules by which a client trains a model on its own rows. A class and a line in `RULES` add another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import torch
from torch import Tensor

from comity.errors import InputError
from comity.questions import TrainingRule, from_plain, to_plain

if TYPE_CHECKING:
    from comity.families.network.answers.learner import Learner


@dataclass(frozen=True)
class Rule(ABC):
    """How a client trains from a start on its own rows, in a number of steps; its fields are its settings.

    Places are tensors (1, D + Dp): the shared parameters of a model, followed by the client's personal ones.
    """

    steps: int
    rate: float

    @abstractmethod
    def train(self, learner: Learner, start: Tensor, step: int) -> tuple[Tensor, float]:
        """Return the place after the last step, and the loss at the start; `step` gradients were computed before."""


def _slope_at(learner: Learner, place: Tensor, step: int) -> tuple[float, Tensor]:
    """Return the mean loss at a place on the rows of a step, and its gradient."""
    shared, network = learner.functional.size, torch.zeros(1, dtype=torch.long, device=place.device)
    losses, by_model, by_own = learner.slopes(place[:, :shared], network, step, place[:, shared:].clone())
    return float(losses[0]), torch.cat([by_model, by_own], dim=1)


def _descend(
    start: Tensor, steps: int, rate: float, momentum: float, slope_at: Callable[[Tensor, int], tuple[float, Tensor]]
) -> tuple[Tensor, float]:
    """Descend with momentum along the slopes of a place and a step; return the last place and the first loss."""
    place, speed, first = start, torch.zeros_like(start), 0.0
    for number in range(steps):
        loss, slope = slope_at(place, number)
        speed = slope + momentum * speed
        place = place - rate * speed
        first = first if number else loss
    return place, first


@final
@dataclass(frozen=True)
class Descent(Rule):
    """Take `steps` of descent on f(θ) + pull / 2 · |θ - θ₀|², with a proximal term about the start θ₀."""

    momentum: float = 0.9
    pull: float = 0.0

    @property
    def path_length(self) -> float:
        """The length of its path in units of rate times gradient, if the gradient is constant.

        >>> Descent(steps=2, rate=0.1, momentum=0.5).path_length  # 1 + (1 + 0.5)
        2.5
        """
        return sum(1 - self.momentum**number for number in range(1, self.steps + 1)) / (1 - self.momentum)

    def train(self, learner: Learner, start: Tensor, step: int) -> tuple[Tensor, float]:
        """Return the place after the last step, and the loss at the start."""
        shared = learner.functional.size

        def pulled(place: Tensor, number: int) -> tuple[float, Tensor]:
            loss, slope = _slope_at(learner, place, step + number)
            slope[:, :shared] += self.pull * (place - start)[:, :shared]
            return loss, slope

        return _descend(start, self.steps, self.rate, self.momentum, pulled)


@final
@dataclass(frozen=True)
class Meta(Rule):
    """Take `steps` of descent on the loss after a local step, F(θ) = f(θ'), θ' = θ - inner_rate · ∇f(θ).

    Its gradient is ∇F(θ) = (I - inner_rate · ∇²f(θ)) ∇f(θ') (Per-FedAvg, Fallah et al. 2020). Without `curvature` the
    second-order term is dropped (first-order, FO). With it, the product ∇²f(θ) ∇f(θ') is the difference of two
    gradients, at θ ± `spread` · ∇f(θ') (Hessian-free, HF). A step takes two gradients on two batches, of ∇f(θ) and
    ∇f(θ'), or four on three batches, with the curvature.
    """

    inner_rate: float
    curvature: bool = False
    spread: float = 1e-3
    momentum: float = 0.9

    @property
    def gradients(self) -> int:
        """The number of gradients in a step."""
        return 4 if self.curvature else 2

    def train(self, learner: Learner, start: Tensor, step: int) -> tuple[Tensor, float]:
        """Return the place after the last step, and the loss at the start."""

        def after_a_step(place: Tensor, number: int) -> tuple[float, Tensor]:
            batch = step + self.gradients * number
            loss, slope = _slope_at(learner, place, batch)
            _, ahead = _slope_at(learner, place - self.inner_rate * slope, batch + 1)
            if self.curvature:
                _, further = _slope_at(learner, place + self.spread * ahead, batch + 2)
                _, nearer = _slope_at(learner, place - self.spread * ahead, batch + 2)
                ahead = ahead - self.inner_rate * ((further - nearer) / (2 * self.spread))
            return loss, ahead

        return _descend(start, self.steps, self.rate, self.momentum, after_a_step)


@final
@dataclass(frozen=True)
class Moreau(Rule):
    """Take `steps` of descent on the Moreau envelope of a loss, F(w) = min over θ of f(θ) + pull / 2 · |θ - w|².

    Its gradient is pull · (w - θ) (pFedMe, Dinh et al. 2020). The personal θ of each step is found by `inner` steps of
    descent at `inner_rate`, from w. F is `pull`-smooth, so that a `rate` of 1 / pull moves w all the way to θ.
    """

    pull: float
    inner: int
    inner_rate: float
    momentum: float = 0.9

    def train(self, learner: Learner, start: Tensor, step: int) -> tuple[Tensor, float]:
        """Return the place after the last step, and the loss at the start."""
        nearby = Descent(self.inner, self.inner_rate, momentum=self.momentum, pull=self.pull)

        def of_envelope(place: Tensor, number: int) -> tuple[float, Tensor]:
            best, loss = nearby.train(learner, place, step + number * self.inner)
            return loss, self.pull * (place - best)

        return _descend(start, self.steps, self.rate, 0.0, of_envelope)


RULES: dict[str, type[Rule]] = {"descent": Descent, "meta": Meta, "moreau": Moreau}


def record_of(rule: Rule) -> TrainingRule:
    """Return a rule as a record that can be sent.

    >>> record_of(Descent(steps=3, rate=0.1))
    TrainingRule(name='descent', settings={'steps': 3, 'rate': 0.1, 'momentum': 0.9, 'pull': 0.0})
    """
    name = next(name for name, kind in RULES.items() if type(rule) is kind)
    return TrainingRule(name, to_plain(rule))


def rule_of(record: TrainingRule) -> Rule:
    """Return the rule of a record; settings that do not fit it are an `InputError`.

    >>> rule_of(TrainingRule("descent", {"steps": 3, "rate": 0.1, "momentum": 0.9, "pull": 0.0}))
    Descent(steps=3, rate=0.1, momentum=0.9, pull=0.0)
    """
    if record.name not in RULES:
        raise InputError(f"there is no rule {record.name!r} to train by; there are {', '.join(RULES)}")
    return from_plain(RULES[record.name], record.settings)
