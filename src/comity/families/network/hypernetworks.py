"""Hypernetworks: maps from shares of the clients to all parameters of a model (paper, Section 4.2.1).

The parameters of a hypernetwork are one vector, so that they are sent, saved and trained as one array, and several
hypernetworks (one for each fold) are evaluated at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import prod, sqrt

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from comity.core.arrays import Floats, Tensors
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
            part = torch.zeros(shape)
            if spread:
                part = torch.randn(shape, generator=generator, dtype=torch.float64) * spread
            parts.append(part.reshape(-1).to(base.dtype))
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
        if self.kind == "mlp":
            return self._perceptron(parts, shares)
        base = parts[0][:, None]
        if self.kind == "linear":
            return base + shares @ parts[1]
        if self.kind == "lowrank":
            return base + self._perceptron(parts[2:], shares) @ parts[1]
        return base + self._perceptron(parts[1:], shares)

    def parts(self, parameters: Tensor) -> list[Tensor]:
        """Return the parts (K, …) of parameters (K, P), such as the weights of a layer, in their order."""
        shapes = [shape for shape, _ in self._shapes()]
        parts = torch.split(parameters, [prod(shape) for shape in shapes], dim=1)
        return [part.reshape(len(parameters), *shape) for shape, part in zip(shapes, parts, strict=True)]

    def _perceptron(self, parts: Sequence[Tensor], shares: Tensor) -> Tensor:
        """Return the outputs of a perceptron whose weights and biases alternate in `parts`."""
        inside = shares
        for layer in range(0, 2 * self.depth, 2):
            inside = functional.silu(inside @ parts[layer] + parts[layer + 1][:, None])
        return inside @ parts[-2] + parts[-1][:, None]

    def _shapes(self) -> list[tuple[tuple[int, ...], float]]:
        """Return the shape of each part, and the standard deviation of its initial values."""
        if self.kind == "linear":
            return [((self.size,), 0.0), ((self.clients, self.size), 0.0)]
        shapes: list[tuple[tuple[int, ...], float]] = [] if self.kind == "mlp" else [((self.size,), 0.0)]
        if self.kind == "lowrank":
            shapes.append(((self.rank, self.size), 1 / sqrt(self.rank)))
        inputs, outputs = self.clients, self.rank if self.kind == "lowrank" else self.size
        for _ in range(self.depth):
            shapes += [((inputs, self.width), _INPUT_SPREAD / sqrt(inputs)), ((self.width,), 0.0)]
            inputs = self.width
        last = 1 / sqrt(inputs * self.size) if self.kind == "mlp" else 0.0
        return [*shapes, ((inputs, outputs), last), ((outputs,), 0.0)]


@dataclass(frozen=True, eq=False)
class HypernetworkFront:
    """The Pareto front of neural networks: K trained hypernetworks, one for each fold and one for all rows.

    `parameters` (K, P) are theirs after `step` steps; `checks` are the steps and losses of all checks.
    """

    network: Hypernetwork
    parameters: Tensors
    step: int
    checks: tuple[tuple[int, float], ...]

    def models(self, shares: Floats) -> Tensors:
        """Return the models (R, D) for shares of the clients (R, N), by the last network, trained on the most rows."""
        return np.asarray(self.models_of_all(shares)[-1])

    def models_of_all(self, shares: Floats) -> Tensors:
        """Return the models (K, R, D) of all networks for shares of the clients (R, N)."""
        parameters = torch.as_tensor(self.parameters)
        with torch.no_grad():
            return np.asarray(self.network(parameters, torch.as_tensor(shares, dtype=parameters.dtype)).numpy())


def pull_back(outputs: Tensor, inputs: Sequence[Tensor], along: Tensor, *, again: bool = False) -> tuple[Tensor, ...]:
    """Return the gradients of Σ along · outputs by some inputs; with `again`, these can be differentiated too.

    `torch.autograd.grad` with `grad_outputs` does the same, but imports a package of symbolic mathematics to compare
    shapes: half a second in every process that trains.

    >>> at = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> pull_back(at**2, [at], torch.tensor([1.0, 10.0]))
    (tensor([ 2., 40.]),)
    """
    return torch.autograd.grad(torch.dot(outputs.reshape(-1), along.reshape(-1)), inputs, create_graph=again)
