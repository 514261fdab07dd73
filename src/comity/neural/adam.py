"""Adam, as a plain record of arrays, so that a training can be kept, sent and gone on with."""

from __future__ import annotations

from collections.abc import Sequence
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
        # The fused one takes a gradient in another order for one in this.
        self._descend([moved], [gradient.contiguous()], [self.mean], [self.square], rate)
        return moved

    def move(self, parameters: Tensor, gradients: Sequence[Tensor], rate: float) -> None:
        """Move parameters (K, P) a step down, where they are; each gradient (K, …) is of the next of their parts.

        With millions of parameters, a copy of them, or of their gradients side by side, costs as much as the step.
        """
        sizes = [gradient[0].numel() for gradient in gradients]

        def pieces(whole: Tensor) -> list[Tensor]:
            return [piece for row in whole for piece in row.split(sizes)]

        slopes = [gradient[row].reshape(-1) for row in range(len(parameters)) for gradient in gradients]
        self._descend(pieces(parameters), slopes, pieces(self.mean), pieces(self.square), rate)

    def _descend(
        self, parameters: list[Tensor], gradients: list[Tensor], means: list[Tensor], squares: list[Tensor], rate: float
    ) -> None:
        adam(
            parameters,
            gradients,
            means,
            squares,
            [],
            [torch.tensor(float(self.steps), device=each.device) for each in parameters],  # each is counted up
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
