"""What is personal to a client: parameters that it trains itself and that never leave it."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

from comity.neural.adam import Adam


@dataclass(eq=False)
class Personal:
    """Personal parameters for each of K networks (K, Dp), with the state of their own Adam.

    `began` is what they began as, `kept` those of models that were trained further, by kind, and `at` those of earlier
    checks, by step: the front that is taken in the end is of one of these.
    """

    parameters: Tensor
    began: Tensor
    adam: Adam
    kept: dict[str, Tensor] = field(default_factory=dict)
    at: dict[int, Tensor] = field(default_factory=dict)

    @classmethod
    def begin(cls, own: Tensor, networks: int) -> Personal:
        """Return what a module begins with (Dp,), once for each network."""
        start = own.expand(networks, -1).clone()
        return cls(start, start, Adam.begin(start))

    def step(self, gradient: Tensor, rate: float) -> None:
        """Take a step down a gradient (K, Dp)."""
        self.parameters = self.adam.step(self.parameters, gradient, rate)

    def check(self, step: int, back_to: int) -> None:
        """Go back to an earlier check, or to the beginning of all (0), and keep what there is as that of this step."""
        if back_to == 0:
            self.parameters, self.adam = self.began, Adam.begin(self.began)
            self.kept.clear()
            self.at.clear()
        elif back_to > 0:
            self.parameters = self.at[back_to]
        self.at[step] = self.parameters

    def of(self, kind: str) -> Tensor:
        """Return what goes with a kind of model (K, Dp): its own if it was trained further, else that of the front."""
        return self.kept.get(kind, self.parameters)
