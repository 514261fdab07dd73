"""Adam as a plain record of arrays, so that a training can be saved and continued."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.optim.adam import adam

_MEAN_DECAY, _SQUARE_DECAY = 0.9, 0.999
_EPSILON = 1e-8


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
        """Return the parameters after a step of descent along a gradient."""
        moved = parameters.clone()
        # The fused kernel misreads a gradient with another memory layout.
        self._descend([moved], [gradient.contiguous()], [self.mean], [self.square], rate)
        return moved

    def move(self, parameters: Tensor, gradients: Sequence[Tensor], rate: float) -> None:
        """Take a step of descent on parameters (K, P) in place; the gradients (K, …) are those of consecutive parts.

        With millions of parameters, copying them, or concatenating the gradients, costs as much as the step.
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
            [torch.tensor(float(self.steps), device=each.device) for each in parameters],  # incremented by adam
            fused=True,  # a single pass: with millions of parameters, several cost as much as a gradient
            amsgrad=False,
            beta1=_MEAN_DECAY,
            beta2=_SQUARE_DECAY,
            lr=rate,
            weight_decay=0.0,
            eps=_EPSILON,
            maximize=False,
        )
        self.steps += 1


def cosine(rate: float, step: int, steps: int) -> float:
    """Return the learning rate of a step, which falls from `rate` to zero along a cosine."""
    return float(rate * 0.5 * (1 + torch.cos(torch.tensor(torch.pi * step / steps)).item()))
