"""Adam, as a plain record of arrays, so that a training can be kept, sent and gone on with."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.optim.adam import adam

_MEAN, _SQUARE = 0.9, 0.999  # what is kept of the means in each step
_LEAST = 1e-8


@dataclass(eq=False)
class Adam:
    """The state of Adam (Kingma and Ba 2015): running means of gradients and of their squares, and steps taken.

    >>> adam, at = Adam.begin(torch.zeros(2)), torch.zeros(2)
    >>> adam.step(at, torch.tensor([1.0, -3.0]), rate=0.1).round(decimals=3)
    tensor([-0.1000,  0.1000])
    """

    mean: Tensor
    square: Tensor
    steps: int = 0

    @classmethod
    def begin(cls, parameters: Tensor) -> Adam:
        """Return the state before the first step."""
        return cls(torch.zeros_like(parameters), torch.zeros_like(parameters))

    def step(self, parameters: Tensor, gradient: Tensor, rate: float) -> Tensor:
        """Return parameters a step further down a gradient."""
        moved = parameters.clone()
        self.move(moved, gradient, rate)
        return moved

    def move(self, parameters: Tensor, gradient: Tensor, rate: float) -> None:
        """Move parameters a step down a gradient, where they are: a copy of millions costs as much as the step."""
        adam(
            [parameters],
            [gradient.contiguous()],  # the fused one takes another order for this
            [self.mean],
            [self.square],
            [],
            [torch.tensor(float(self.steps), device=parameters.device)],
            fused=True,  # one pass over the arrays: with millions of parameters, several cost as much as a gradient
            amsgrad=False,
            beta1=_MEAN,
            beta2=_SQUARE,
            lr=rate,
            weight_decay=0.0,
            eps=_LEAST,
            maximize=False,
        )
        self.steps += 1


def cosine(rate: float, step: int, steps: int) -> float:
    """Return the rate of a step, which falls from `rate` to nothing along a cosine."""
    return float(rate * 0.5 * (1 + torch.cos(torch.tensor(torch.pi * step / steps)).item()))
