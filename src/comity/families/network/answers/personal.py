"""Personal parameters, which a client trains itself and which never leave it."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

from comity.families.network.adam import Adam


@dataclass(eq=False)
class Personal:
    """Personal parameters for each of K networks (K, Dp), with the state of their optimiser.

    `began` are the initial ones, `kept` those of fine-tuned models, by kind, and `at` those of earlier checks, by step:
    the front that is used in the end is that of one of these checks.
    """

    parameters: Tensor
    began: Tensor
    adam: Adam
    kept: dict[str, Tensor] = field(default_factory=dict)
    at: dict[int, Tensor] = field(default_factory=dict)

    @classmethod
    def begin(cls, own: Tensor, networks: int) -> Personal:
        """Return initial parameters (Dp,), once for each network."""
        start = own.expand(networks, -1).clone()
        return cls(start, start, Adam.begin(start))

    def step(self, gradient: Tensor, rate: float) -> None:
        """Take a step of gradient descent (K, Dp)."""
        self.parameters = self.adam.step(self.parameters, gradient, rate)

    def check(self, step: int, back_to: int) -> None:
        """Restore those of the step `back_to` (0: initial ones; -1: no change), and save them as those of this step."""
        if back_to == 0:
            self.parameters, self.adam = self.began, Adam.begin(self.began)
            self.kept.clear()
            self.at.clear()
        elif back_to > 0:
            self.parameters = self.at[back_to]
        self.at[step] = self.parameters

    def of(self, kind: str) -> Tensor:
        """Return the parameters (K, Dp) of a kind of model: its own if it was fine-tuned, else those of the front."""
        return self.kept.get(kind, self.parameters)
