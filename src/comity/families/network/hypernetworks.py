"""Hypernetworks: maps from shares of the clients to all parameters of a model (paper, Section 4.2.1).

The parameters of a hypernetwork are one vector, so that they are sent, saved and trained as one array, and several
hypernetworks (one for each fold) are evaluated at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from math import prod, sqrt

import torch
from torch import Tensor
from torch.nn import functional

from comity.questions import HypernetworkSpec

_INPUT_SPREAD = 1.5  # the standard deviation of the first weights is larger than usual, as shares are small numbers


@dataclass(frozen=True, slots=True)
class Hypernetwork(HypernetworkSpec):
    """A map from shares of `clients` on the simplex to `size` parameters of a model.

    - ``residual``: a trained base plus the output of a perceptron, which is zero at the start (the default);
    - ``mlp``: a perceptron alone, as in the paper;
    - ``linear``: a base plus a matrix times the shares, as in the paper's released code;
    - ``lowrank``: a base plus `rank` outputs of a perceptron times as many directions, for large models: its size does
      not grow with the number of clients.

    >>> network = Hypernetwork(clients=3, size=10, width=8, depth=1)
    >>> parameters = network.initial(torch.arange(10.0), seed=0)
    >>> network(parameters[None], torch.eye(3)[None])[0, 1]  # at the start it is its base
    tensor([0., 1., 2., 3., 4., 5., 6., 7., 8., 9.])
    """

    @classmethod
    def of(cls, spec: HypernetworkSpec) -> Hypernetwork:
        """Return the hypernetwork of a specification."""
        return cls(*(getattr(spec, each.name) for each in fields(spec)))

    @property
    def parameters(self) -> int:
        """The number of parameters of the hypernetwork itself, P."""
        return sum(prod(shape) for shape, _ in self._shapes())

    def initial(self, base: Tensor, seed: int) -> Tensor:
        """Return initial parameters (P,), whose model is `base` (size,) for all shares, but for the kind ``mlp``."""
        generator = torch.Generator().manual_seed(seed)
        parts = []
        for shape, spread in self._shapes():
            drawn = (
                torch.randn(shape, generator=generator, dtype=torch.float64) * spread if spread else torch.zeros(shape)
            )
            parts.append(drawn.reshape(-1).to(base.dtype))
        if self.kind == "mlp":
            # The paper's has no base, but layers of a model that starts at zero would stay dead.
            parts[-1] = parts[-1] + base
        else:
            parts[0] = base.clone()
        return torch.cat(parts)

    def __call__(self, parameters: Tensor, shares: Tensor) -> Tensor:
        """Return models (K, R, size) of K hypernetworks (K, P) for shares (K, R, N), or the same for all (R, N)."""
        return self.of_parts(self.parts(parameters), shares)

    def of_parts(self, parts: Sequence[Tensor], shares: Tensor) -> Tensor:
        """Return the models as above, from the parts (K, …) of the parameters."""
        if shares.dim() == 2:
            shares = shares.expand(len(parts[0]), *shares.shape)
        return self._models(iter(parts), shares)

    def parts(self, parameters: Tensor) -> list[Tensor]:
        """Return the parts (K, …) of parameters (K, P), such as the weights of a layer, in their order."""
        shapes = [shape for shape, _ in self._shapes()]
        parts = torch.split(parameters, [prod(shape) for shape in shapes], dim=1)
        return [part.reshape(len(parameters), *shape) for shape, part in zip(shapes, parts, strict=True)]

    def _models(self, parts: Iterator[Tensor], shares: Tensor) -> Tensor:
        if self.kind == "mlp":
            return self._perceptron(parts, shares)
        base = next(parts)
        if self.kind == "linear":
            return base[:, None] + shares @ next(parts)
        if self.kind == "lowrank":
            directions = next(parts)
            return base[:, None] + self._perceptron(parts, shares) @ directions
        return base[:, None] + self._perceptron(parts, shares)

    def _perceptron(self, parts: Iterator[Tensor], shares: Tensor) -> Tensor:
        inside = shares
        for _ in range(self.depth):
            inside = functional.silu(inside @ next(parts) + next(parts)[:, None])
        return inside @ next(parts) + next(parts)[:, None]

    def _shapes(self) -> list[tuple[tuple[int, ...], float]]:
        """Return the shape of each part, and the standard deviation of its initial values."""
        if self.kind == "linear":
            return [((self.size,), 0.0), ((self.clients, self.size), 0.0)]
        outputs = self.rank if self.kind == "lowrank" else self.size
        hidden: list[tuple[tuple[int, ...], float]] = []
        inputs = self.clients
        for _ in range(self.depth):
            hidden += [((inputs, self.width), _INPUT_SPREAD / sqrt(inputs)), ((self.width,), 0.0)]
            inputs = self.width
        last = 1 / sqrt(inputs * self.size) if self.kind == "mlp" else 0.0
        hidden += [((inputs, outputs), last), ((outputs,), 0.0)]
        if self.kind == "mlp":
            return hidden
        before: list[tuple[tuple[int, ...], float]] = [((self.size,), 0.0)]
        if self.kind == "lowrank":
            before.append(((self.rank, self.size), 1 / sqrt(self.rank)))
        return before + hidden
