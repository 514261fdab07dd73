"""What is personal to a client: parameters that it trains itself and that never leave it."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

from comity.neural.adam import Adam


@dataclass(eq=False)
class Personal:
    """Parameters for each of K networks (K, Dp), as they began, and those of models trained further, by kind."""

    parameters: Tensor
    began: Tensor
    adam: Adam
    kept: dict[str, Tensor] = field(default_factory=dict)

    @classmethod
    def begin(cls, own: Tensor, networks: int) -> Personal:
        """Return what a module begins with (Dp,), once for each network."""
        start = own.expand(networks, -1).clone()
        return cls(start, start, Adam.begin(start))

    def step(self, gradient: Tensor, rate: float) -> None:
        """Take a step down a gradient (K, Dp)."""
        self.parameters = self.adam.step(self.parameters, gradient, rate)

    def of(self, kind: str) -> Tensor:
        """Return what goes with a kind of model (K, Dp): its own if it was trained further, else that of the front."""
        return self.kept.get(kind, self.parameters)
