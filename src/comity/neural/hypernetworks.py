"""Hypernetworks: from shares of the clients to all parameters of a model.

A hypernetwork is a function of its own parameters, kept as one vector, so that it is sent, saved and trained as one
array, and several of them (one for each fold) go through it at once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import prod, sqrt
from typing import Literal, get_args

import torch
from torch import Tensor
from torch.nn import functional

from comity.errors import InputError

Parametrisation = Literal["residual", "mlp", "linear", "lowrank"]
PARAMETRISATIONS: tuple[Parametrisation, ...] = get_args(Parametrisation)
_SPREAD = 1.5  # of what goes into hidden units: shares are small numbers


@dataclass(frozen=True, slots=True)
class Hypernetwork:
    """A map from shares of `clients` on the simplex to `size` parameters.

    - ``residual``: a base, itself trained, plus what a perceptron adds, which begins as nothing (the default);
    - ``mlp``: a perceptron alone, as in the paper;
    - ``linear``: a base plus a matrix times the shares, as in the paper's released code;
    - ``lowrank``: a base plus a perceptron's `rank` numbers times as many directions, for large models: its size does
      not grow with the clients.

    >>> network = Hypernetwork(clients=3, size=10, width=8, depth=1)
    >>> parameters = network.initial(torch.arange(10.0), seed=0)
    >>> network(parameters[None], torch.eye(3)[None])[0, 1]  # it begins as its base
    tensor([0., 1., 2., 3., 4., 5., 6., 7., 8., 9.])
    """

    clients: int
    size: int
    kind: Parametrisation = "residual"
    width: int = 64
    depth: int = 2
    rank: int = 16

    def __post_init__(self) -> None:
        if self.kind not in PARAMETRISATIONS:
            raise InputError(f"there is no hypernetwork {self.kind!r}; there are {', '.join(PARAMETRISATIONS)}")
        for name in ("width", "depth", "rank"):
            if getattr(self, name) < 1:
                raise InputError(f"the {name} of a hypernetwork is {getattr(self, name)}; it must be 1 or more")

    @property
    def parameters(self) -> int:
        """How many parameters the hypernetwork has itself, P."""
        return sum(prod(shape) for shape, _ in self._shapes())

    def initial(self, base: Tensor, seed: int) -> Tensor:
        """Return parameters (P,) to begin with; `base` (size,) is the model that most of them begin as."""
        generator = torch.Generator().manual_seed(seed)
        parts = []
        for shape, spread in self._shapes():
            drawn = (
                torch.randn(shape, generator=generator, dtype=torch.float64) * spread if spread else torch.zeros(shape)
            )
            parts.append(drawn.reshape(-1).to(base.dtype))
        if self.kind == "mlp":
            # The paper's has no base, but one that begins as a zero model would have dead layers.
            parts[-1] = parts[-1] + base
        else:
            parts[0] = base.clone()
        return torch.cat(parts)

    def __call__(self, parameters: Tensor, shares: Tensor) -> Tensor:
        """Return models (K, R, size) of K hypernetworks (K, P) for shares (K, R, N), or the same for all (R, N)."""
        return self.of_parts(self.parts(parameters), shares)

    def of_parts(self, parts: Sequence[Tensor], shares: Tensor) -> Tensor:
        """Return the models as above, from the parts (K, …) that the parameters consist of."""
        if shares.dim() == 2:
            shares = shares.expand(len(parts[0]), *shares.shape)
        return self._models(iter(parts), shares)

    def parts(self, parameters: Tensor) -> list[Tensor]:
        """Return the parts (K, …) that parameters (K, P) consist of, such as layers' weights, in their order."""
        shapes = [shape for shape, _ in self._shapes()]
        parts = torch.split(parameters, [prod(shape) for shape in shapes], dim=1)
        return [part.reshape(len(parameters), *shape) for shape, part in zip(shapes, parts, strict=True)]

    def to_json(self) -> str:
        """Return the hypernetwork, without its parameters, as JSON."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Hypernetwork:
        """Return the hypernetwork that was written as JSON."""
        return cls(**json.loads(text))

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
        """Return the shapes of the parts, each with the spread that it is drawn with at first."""
        if self.kind == "linear":
            return [((self.size,), 0.0), ((self.clients, self.size), 0.0)]
        outputs = self.rank if self.kind == "lowrank" else self.size
        hidden: list[tuple[tuple[int, ...], float]] = []
        inputs = self.clients
        for _ in range(self.depth):
            hidden += [((inputs, self.width), _SPREAD / sqrt(inputs)), ((self.width,), 0.0)]
            inputs = self.width
        last = 1 / sqrt(inputs * self.size) if self.kind == "mlp" else 0.0
        hidden += [((inputs, outputs), last), ((outputs,), 0.0)]
        if self.kind == "mlp":
            return hidden
        before: list[tuple[tuple[int, ...], float]] = [((self.size,), 0.0)]
        if self.kind == "lowrank":
            before.append(((self.rank, self.size), 1 / sqrt(self.rank)))
        return before + hidden
