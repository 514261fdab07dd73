"""What is personal to a client: parameters that it trains itself and that never leave it."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from comity.neural.adam import Adam


@dataclass(eq=False)
class Personal:
    """Personal parameters for each of K networks (K, Dp), and those of the model that was trained alone (K, Dp)."""

    parameters: Tensor
    adam: Adam
    alone: Tensor

    @classmethod
    def begin(cls, own: Tensor, networks: int) -> Personal:
        """Return what a module begins with (Dp,), once for each network."""
        start = own.expand(networks, -1).clone()
        return cls(start, Adam.begin(start), start)

    def step(self, gradient: Tensor, rate: float) -> None:
        """Take a step down a gradient (K, Dp)."""
        self.parameters = self.adam.step(self.parameters, gradient, rate)
