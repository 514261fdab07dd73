"""A torch module as a function of one vector of parameters, of which a part may be personal to each client."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from comity.errors import InputError

_KEEPS_STATISTICS = nn.modules.batchnorm._NormBase
_MAX_NAMES_SHOWN = 6


@dataclass(frozen=True, eq=False)
class Functional:
    """A module as a function of its parameters: `generated` ones come from a front, `personal` ones from the client.

    Frozen parameters (``requires_grad`` is False) stay as they are in the module.

    >>> linear = Functional.of(nn.Linear(3, 2))
    >>> linear.size, linear.generated
    (8, ('weight', 'bias'))
    >>> linear(torch.zeros(8), torch.zeros(0), torch.ones(5, 3)).shape
    torch.Size([5, 2])
    """

    module: nn.Module
    generated: tuple[str, ...]
    personal: tuple[str, ...]

    @classmethod
    def of(cls, module: nn.Module, personal: str | None = None) -> Functional:
        """Return a module as a function; parameters whose name matches the pattern `personal` stay with the clients."""
        check_module(module)
        names = [name for name, parameter in module.named_parameters() if parameter.requires_grad]
        own = [name for name in names if personal is not None and re.search(personal, name)]
        if personal is not None and not own:
            listed = ", ".join(names[:_MAX_NAMES_SHOWN]) + (" …" if len(names) > _MAX_NAMES_SHOWN else "")
            raise InputError(
                f"no parameter of the model matches the pattern {personal!r} for personal ones; it has {listed}"
            )
        if len(own) == len(names):
            raise InputError(
                f"all parameters of the model match the pattern {personal!r} for personal ones; then there is nothing "
                "to share"
            )
        return cls(module, tuple(name for name in names if name not in own), tuple(own))

    @property
    def size(self) -> int:
        """The number of generated parameters, D."""
        return sum(self._shapes[name].numel() for name in self.generated)

    @cached_property
    def recurrent(self) -> bool:
        """Whether the module has recurrent layers, which cannot be vectorised over models or rows."""
        return any(isinstance(part, nn.RNNBase) for part in self.module.modules())

    def __call__(self, flat: Tensor, own: Tensor, inputs: Tensor) -> Tensor:
        """Return the outputs of the model for inputs (n, …), with generated (D,) and personal parameters (Dp,)."""
        parameters = self.named(self.generated, flat) | self.named(self.personal, own)
        # Like `torch.func.functional_call`, which looks up the places each time; that takes as long as a small model.
        before = [(held, place, held[place]) for held, place, _ in self._places]
        try:
            for held, place, name in self._places:
                held[place] = parameters[name]
            outputs: Tensor = self.module(inputs)
        finally:
            for held, place, parameter in before:
                held[place] = parameter
        return outputs

    def initial(self) -> tuple[Tensor, Tensor]:
        """Return the parameters of the module, generated and personal, as vectors."""
        parameters = dict(self.module.named_parameters())

        def flattened(names: tuple[str, ...]) -> Tensor:
            parts = [parameters[name].detach().reshape(-1) for name in names]
            return torch.cat(parts) if parts else next(iter(parameters.values())).new_zeros(0)

        return flattened(self.generated), flattened(self.personal)

    def named(self, names: tuple[str, ...], flat: Tensor) -> dict[str, Tensor]:
        """Return the parts of a vector by the names of the parameters that it holds, as in state dictionaries."""
        if not names:
            return {}
        shapes = [self._shapes[name] for name in names]
        parts = torch.split_with_sizes(flat, [shape.numel() for shape in shapes])
        return {name: part.reshape(shape) for name, shape, part in zip(names, shapes, parts, strict=True)}

    @cached_property
    def _shapes(self) -> dict[str, torch.Size]:
        return {name: parameter.shape for name, parameter in self.module.named_parameters()}

    @cached_property
    def _places(self) -> tuple[tuple[dict[str, Any], str, str], ...]:
        """Where the parameters are in the module: the dictionary that holds one, its key there, and its name.

        A tied parameter is in several places, and has the name of the first.
        """
        names = {id(parameter): name for name, parameter in self.module.named_parameters()}
        trained = {*self.generated, *self.personal}
        return tuple(
            (part._parameters, place, names[id(parameter)])
            for part in self.module.modules()
            for place, parameter in part._parameters.items()
            if parameter is not None and names[id(parameter)] in trained
        )


def state_of(module: nn.Module, flat: NDArray[np.float64], personal: str | None = None) -> dict[str, Tensor]:
    """Return parameters (D,) by their names in a module, with all that was not trained and is not personal."""
    functional = Functional.of(module, personal)
    if flat.size != functional.size:
        raise InputError(
            f"the module has {functional.size:,} parameters to be shared and the model {flat.size:,}; give the module "
            "that it was trained with, and the pattern for personal ones"
        )
    model = torch.as_tensor(flat, dtype=next(module.parameters()).dtype)
    parameters = dict(module.named_parameters(remove_duplicate=False))  # a tied parameter has several names
    trained = {parameters[name]: value for name, value in functional.named(functional.generated, model).items()}
    fixed = {
        name: value
        for name, value in module.state_dict().items()
        if name not in parameters or not parameters[name].requires_grad
    }
    return fixed | {name: trained[each] for name, each in parameters.items() if each in trained}


def check_module(module: Any) -> None:
    """Raise an error if the parameters of a module cannot be trained this way."""
    if not isinstance(module, nn.Module):
        raise InputError(f"the model must be a torch.nn.Module, not {type(module).__name__}")
    parameters = dict(module.named_parameters())
    if not any(parameter.requires_grad or not parameter.is_floating_point() for parameter in parameters.values()):
        raise InputError("the model has no parameters to train")
    for name, parameter in parameters.items():
        if not parameter.is_floating_point():
            raise InputError(
                f"the parameter {name!r} of the model has the type {parameter.dtype}; only floats can be trained"
            )
    for name, part in module.named_modules():
        if isinstance(part, _KEEPS_STATISTICS) and part.track_running_stats:
            raise InputError(
                f"the part {name!r} of the model keeps running statistics of batches, which belong to no client; "
                "use GroupNorm or LayerNorm, or track_running_stats=False"
            )


def perceptron(inputs: int, outputs: int, width: int, depth: int, seed: int) -> nn.Module:
    """Return a perceptron with `depth` hidden layers of `width`, or a linear model with none; the seed determines it.

    >>> [tuple(each.shape) for each in perceptron(3, 1, width=8, depth=1, seed=0).parameters()]
    [(8, 3), (8,), (1, 8), (1,)]
    """
    with seeded(torch.default_generator, seed):
        layers: list[nn.Module] = []
        for _ in range(depth):
            layers += [nn.Linear(inputs, width), nn.SiLU()]
            inputs = width
        return nn.Sequential(*layers, nn.Linear(inputs, outputs))


@contextmanager
def seeded(generator: torch.Generator, seed: int) -> Iterator[None]:
    """Seed torch's own random numbers, such as those of initial values and of dropout, and restore them at the end.

    The generator is used directly: `torch.manual_seed` is slow, as it also seeds devices that are not there.
    """
    before = generator.get_state()
    generator.manual_seed(seed)
    try:
        yield
    finally:
        generator.set_state(before)
