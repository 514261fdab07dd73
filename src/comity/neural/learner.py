"""A client's side of a training: its examples, how they are split, its model, and what is personal to it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import vmap

from comity.apart import Keys, drawn_parts, row_keys
from comity.errors import InputError
from comity.neural.described import Described
from comity.neural.losses import RowLoss, check_fit
from comity.neural.modules import Functional
from comity.neural.personal import Personal
from comity.neural.recipe import Recipe
from comity.noise import Noise
from comity.splits import assign_folds, generator_for

Places = NDArray[np.intp]
_FOR_BATCHES = 2_000_001  # purposes of random numbers, as in `comity.splits`
_JUDGE, _HELD = 0, 1
# A client that has a graphics processor computes on it; what it is sent and answers is in ordinary memory.
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
_OF_MATRICES = 2
_OF_IMAGES = 4  # dimensions: images, channels, rows, columns
_CHUNK = 64  # models that go through at once


@dataclass(eq=False)
class Learner:
    """Examples (n of each) and a model at a client, for one recipe; `strata` (n,) are spread evenly over all parts.

    The last `apart` of the examples are for judging, and none of the others are then. With `noise`, gradients that
    leave are clipped and noisy, and every row is split by itself (`comity.apart`).
    """

    owner: str
    recipe: Recipe
    functional: Functional
    loss: RowLoss
    inputs: Tensor
    targets: Tensor
    strata: NDArray[np.float64]
    described: Described
    apart: int = 0
    noise: Noise | None = None
    personal: Personal = field(init=False)
    lost_alone: tuple[Tensor, ...] | None = field(init=False, default=None)
    """What the model that was trained alone loses on the rows each network holds out; none before it is."""

    def __post_init__(self) -> None:
        self.functional.module.to(DEVICE, self.dtype)
        self.inputs, self.targets = (
            each.to(DEVICE, self.dtype if each.is_floating_point() else each.dtype)
            for each in (self.inputs, self.targets)
        )
        if self.inputs.dim() == _OF_IMAGES:  # convolutions take half the time so
            self.inputs = self.inputs.contiguous(memory_format=torch.channels_last)
        needed = self.recipe.parts + max(self.recipe.folds, 2)
        if self.pool < needed:
            raise InputError(
                f"client {self.owner!r} has {self.pool} rows, too few to hold some out to choose by and some "
                f"to judge (it takes {needed}); leave it out, or take fewer folds"
            )
        self.personal = Personal.begin(self.functional.initial()[1], self.recipe.networks)
        check_fit(self._outputs_of_first(), self.targets, self.loss, self.recipe.loss)

    @property
    def dtype(self) -> torch.dtype:
        """The type of all numbers."""
        return torch.float64 if self.recipe.double else torch.float32

    @property
    def pool(self) -> int:
        """How many rows there are to train with and to choose by, and to judge, unless others were given for that."""
        return len(self.targets) - self.apart

    @cached_property
    def judging(self) -> Places:
        """Which rows judge, and do nothing else."""
        if self.apart:
            return np.arange(self.pool, len(self.targets))
        return np.flatnonzero(self._parts == _JUDGE) if self.recipe.judged else np.empty(0, np.intp)

    @cached_property
    def held(self) -> tuple[Places, ...]:
        """Which rows each network holds out to choose by; the last of several, trained on all, holds out none."""
        if not self.recipe.held:
            return (np.empty(0, np.intp),)
        if self.recipe.folds == 1:
            return (np.flatnonzero(self._parts == _HELD),)
        rest = np.setdiff1d(np.arange(self.pool), self.judging)
        if self._apart_keys is None:
            folds = assign_folds(self.strata[rest], self.recipe.folds, self.recipe.seed, self.owner, 1)
        else:
            folds = drawn_parts(self._apart_keys[rest], self.recipe.folds, 1)
        return (*(rest[folds == fold] for fold in range(self.recipe.folds)), rest[:0])

    @cached_property
    def trains(self) -> Tensor:
        """Which rows train which network (K, n), as ones and zeros."""
        mask = torch.ones(len(self.held), len(self.targets), dtype=self.dtype, device=DEVICE)
        mask[:, self.judging] = 0.0
        for network, rows in enumerate(self.held):
            mask[network, rows] = 0.0
        return mask

    @property
    def training(self) -> Places:
        """Which rows train the first network."""
        return np.flatnonzero(self.trains[0].cpu().numpy())

    @property
    def fingerprints(self) -> dict[str, str]:
        """A SHA-256 of which rows train, are held out and judge (of the first network), and of what is in them.

        Trainings that were to have the same rows had them if these are equal.
        """
        parts = {"train": self.training, "held": self.held[0], "judged": self.judging}
        return {part: self._fingerprint(rows) for part, rows in parts.items()}

    def slopes(
        self, parameters: Tensor, networks: Tensor, step: int, mine: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return mean losses (M,) of models (M, D) on a step's rows, and slopes by model (M, D) and by what is own."""
        rows, seed = self._drawn(step)
        places, shares = self._every_share if rows is self._eligible else self._shares(rows)
        inputs, targets, weights = self.inputs[places], self.targets[places], shares[networks]
        models = parameters.detach().requires_grad_()
        own = (self.personal.parameters if mine is None else mine)[networks].detach().requires_grad_()

        def mean_loss(flat: Tensor, personal: Tensor, weight: Tensor) -> Tensor:
            return self.loss(self.functional(flat, personal, inputs), targets) @ weight

        self.functional.module.train()
        with _seeded(seed):
            losses = self._of_each(mean_loss, models, own, weights)
        by_model, by_own = torch.autograd.grad(losses.sum(), (models, own), materialize_grads=True)
        return losses.detach(), by_model, by_own

    def rows_lost(self, parameters: Tensor, network: int, rows: Places, mine: Tensor | None = None) -> Tensor:
        """Return what models (M, D) of a network lose on each of some rows (M, n)."""
        inputs, targets = self.inputs[rows], self.targets[rows]
        own = (self.personal.parameters if mine is None else mine)[network]
        self.functional.module.eval()

        def lost(flat: Tensor) -> Tensor:
            return self.loss(self.functional(flat, own, inputs), targets)

        return self._of_each(lost, parameters)

    def outputs(self, kind: str, parameters: Tensor, rows: Places) -> Tensor:
        """Return what a model (D,) of a kind says of some rows; of several networks the last has seen most of them."""
        self.functional.module.eval()
        with torch.no_grad():
            return self.functional(parameters, self.personal.of(kind)[-1], self.inputs[rows])

    def batch(self, step: int) -> Places:
        """Return the rows of a step; the seed, the owner and the step determine them."""
        return self._drawn(step)[0]

    @property
    def eligible(self) -> Places:
        """Which rows train any network."""
        return self._eligible

    def _fingerprint(self, rows: Places) -> str:
        content = hashlib.sha256(rows.astype(np.int64).tobytes())
        for each in (self.inputs[rows], self.targets[rows]):
            content.update(each.cpu().contiguous().numpy().tobytes())
        return content.hexdigest()

    def _drawn(self, step: int) -> tuple[Places, int]:
        """Return the rows of a step, and the seed of torch's own random numbers in it."""
        size = self.recipe.batch
        generator = generator_for(self.recipe.seed, self.owner, _FOR_BATCHES + step)
        seed = int(generator.integers(2**31))
        if not size or size >= self._eligible.size:
            return self._eligible, seed
        return np.sort(generator.choice(self._eligible, size, replace=False)), seed

    @cached_property
    def _every_share(self) -> tuple[Tensor, Tensor]:
        """The shares of all rows that train, which are those of each step without batches."""
        return self._shares(self._eligible)

    def _shares(self, rows: Places) -> tuple[Tensor, Tensor]:
        """Return some rows as torch has them, and the share of each in the mean loss of a network (K, n)."""
        places = torch.as_tensor(rows, device=DEVICE)
        weights = self.trains[:, places]
        return places, weights / weights.sum(dim=1, keepdim=True).clamp(min=1.0)

    def _of_each(self, function: Callable[..., Tensor], *arrays: Tensor) -> Tensor:
        """Return what a function says of each of M models, all at once or one by one, whichever is faster.

        Convolutions with weights of several models take two to three times as long at once as one by one, and recurrent
        layers cannot be had at once.
        """
        if len(arrays[0]) == 1:
            return function(*(each.squeeze(0) for each in arrays)).unsqueeze(0)
        if self._one_by_one:
            return torch.stack([function(*each) for each in zip(*arrays, strict=True)])
        values: Tensor = vmap(function, randomness="different", chunk_size=_chunk(arrays[0]))(*arrays)
        return values

    @cached_property
    def _one_by_one(self) -> bool:
        module = self.functional.module
        recurs = any(isinstance(part, nn.RNNBase) for part in module.modules())
        return recurs or any(parameter.dim() > _OF_MATRICES for parameter in module.parameters())

    @cached_property
    def _eligible(self) -> Places:
        return np.flatnonzero(self.trains.any(dim=0).cpu().numpy())

    @cached_property
    def _parts(self) -> Places:
        if self._apart_keys is not None:
            return drawn_parts(self._apart_keys, self.recipe.parts, 0)
        return assign_folds(self.strata[: self.pool], self.recipe.parts, self.recipe.seed, self.owner)

    @cached_property
    def _apart_keys(self) -> Keys | None:
        """What the rows that are not apart are split by, where each is by itself."""
        if self.noise is None or not self.noise.noisy:
            return None
        columns = [each[: self.pool].cpu().numpy() for each in (self.inputs, self.targets)]
        return row_keys(columns, self.recipe.seed, self.owner)

    def _outputs_of_first(self) -> Tensor:
        flat, own = self.functional.initial()
        self.functional.module.eval()
        try:
            with torch.no_grad():
                return self.functional(flat, own, self.inputs[:2])
        except (RuntimeError, TypeError, ValueError, IndexError) as error:
            raise InputError(
                f"the model cannot take examples of shape {tuple(self.inputs.shape[1:])} ({str(error).splitlines()[0]})"
            ) from None


def _chunk(models: Tensor) -> int | None:
    """Return how many models go through at once: all, unless they are many."""
    return _CHUNK if len(models) > _CHUNK else None


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed torch's own random numbers, such as those of dropout, for one step, and put them back after it.

    The generator is spoken to directly: `torch.manual_seed` is slow, as it also sees to devices that are not there.
    """
    generator = torch.cuda.default_generators[0] if DEVICE.type == "cuda" else torch.default_generator
    before = generator.get_state()
    generator.manual_seed(seed)
    try:
        yield
    finally:
        generator.set_state(before)
