"""A client's side of a training: its examples, their split, its model, and its personal parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.func import vmap

from comity.errors import InputError
from comity.families.network.answers.personal import Personal
from comity.families.network.losses import RowLoss, check_fit
from comity.families.network.modules import Functional
from comity.families.network.prediction import TargetScale
from comity.questions import Recipe
from comity.rows.independent_splits import Keys, assign_parts, row_keys
from comity.rows.noise import Noise
from comity.rows.splits import assign_folds, generator_for

Places = NDArray[np.intp]
_FOR_BATCHES = 2_000_001  # a purpose of random numbers, as in `comity.rows.splits`
_JUDGE, _HELD = 0, 1  # numbers of parts
# A client with a graphics processor computes on it; questions and answers are in ordinary memory.
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
_MATRIX_DIMENSIONS = 2
_IMAGE_DIMENSIONS = 4  # images, channels, rows, columns
_MAX_MODELS_AT_ONCE = 64


@dataclass(eq=False)
class Learner:
    """The n examples and the model of a client, for one recipe; all parts are stratified by `strata` (n,).

    If the last `test_rows` examples are test rows, models are evaluated on these alone. With `noise`, the gradients
    that leave the client are clipped and noisy, and rows are split independently (`comity.rows.independent_splits`).
    """

    owner: str
    recipe: Recipe
    functional: Functional
    loss: RowLoss
    inputs: Tensor
    targets: Tensor
    strata: NDArray[np.float64]
    target_scale: TargetScale
    test_rows: int = 0
    noise: Noise | None = None
    personal: Personal = field(init=False)
    lost_alone: tuple[Tensor, ...] | None = field(init=False, default=None)
    """The losses of the client's own model on the rows that each network holds out; None before it is trained."""

    def __post_init__(self) -> None:
        self.functional.module.to(DEVICE, self.dtype)
        self.inputs, self.targets = (
            each.to(DEVICE, self.dtype if each.is_floating_point() else each.dtype)
            for each in (self.inputs, self.targets)
        )
        if self.inputs.dim() == _IMAGE_DIMENSIONS:  # halves the time of convolutions
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
        """The number of rows that are not test rows."""
        return len(self.targets) - self.test_rows

    @cached_property
    def judging(self) -> Places:
        """The rows on which models are evaluated, and which have no other use."""
        if self.test_rows:
            return np.arange(self.pool, len(self.targets))
        return np.flatnonzero(self._parts == _JUDGE) if self.recipe.judged else np.empty(0, np.intp)

    @cached_property
    def held(self) -> tuple[Places, ...]:
        """The rows that each network holds out to choose by; the last of several trains on all, and holds out none."""
        if not self.recipe.held:
            return (np.empty(0, np.intp),)
        if self.recipe.folds == 1:
            return (np.flatnonzero(self._parts == _HELD),)
        rest = np.setdiff1d(np.arange(self.pool), self.judging)
        if self._row_keys is None:
            folds = assign_folds(self.strata[rest], self.recipe.folds, self.recipe.seed, self.owner, 1)
        else:
            folds = assign_parts(self._row_keys[rest], self.recipe.folds, 1)
        return (*(rest[folds == fold] for fold in range(self.recipe.folds)), rest[:0])

    @cached_property
    def trains(self) -> Tensor:
        """Which rows train each network (K, n), as ones and zeros."""
        mask = torch.ones(len(self.held), len(self.targets), dtype=self.dtype, device=DEVICE)
        mask[:, self.judging] = 0.0
        for network, rows in enumerate(self.held):
            mask[network, rows] = 0.0
        return mask

    @property
    def training(self) -> Places:
        """The rows that train the first network."""
        return np.flatnonzero(self.trains[0].cpu().numpy())

    def slopes(
        self, parameters: Tensor, networks: Tensor, step: int, mine: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return mean losses (M,) of models (M, D) on a step's rows, and gradients by shared and personal parameters.

        The personal parameters (K, Dp) of the networks are `mine`, or those of the front.
        """
        rows, seed = self.batch(step)
        places, shares = self._every_share if rows is self.eligible else self._shares(rows)
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
        """Return the losses (M, n) of models (M, D) of a network on each of some rows."""
        inputs, targets = self.inputs[rows], self.targets[rows]
        own = (self.personal.parameters if mine is None else mine)[network]
        self.functional.module.eval()

        def lost(flat: Tensor) -> Tensor:
            return self.loss(self.functional(flat, own, inputs), targets)

        return self._of_each(lost, parameters)

    def outputs(self, kind: str, parameters: Tensor, rows: Places) -> Tensor:
        """Return the outputs of a model (D,) of a kind on some rows, with the last network's personal parameters."""
        self.functional.module.eval()
        with torch.no_grad():
            return self.functional(parameters, self.personal.of(kind)[-1], self.inputs[rows])

    def batch(self, step: int) -> tuple[Places, int]:
        """Return the rows of a step, and the seed of torch's random numbers in it."""
        size = self.recipe.batch
        generator = generator_for(self.recipe.seed, self.owner, _FOR_BATCHES + step)
        seed = int(generator.integers(2**31))
        if not size or size >= self.eligible.size:
            return self.eligible, seed
        return np.sort(generator.choice(self.eligible, size, replace=False)), seed

    @cached_property
    def eligible(self) -> Places:
        """The rows that train at least one network."""
        return np.flatnonzero(self.trains.any(dim=0).cpu().numpy())

    @cached_property
    def _every_share(self) -> tuple[Tensor, Tensor]:
        """The shares of all training rows: those of every step without batches."""
        return self._shares(self.eligible)

    def _shares(self, rows: Places) -> tuple[Tensor, Tensor]:
        """Return the indices of some rows as a tensor, and the share of each in the mean loss of a network (K, n)."""
        places = torch.as_tensor(rows, device=DEVICE)
        weights = self.trains[:, places]
        return places, weights / weights.sum(dim=1, keepdim=True).clamp(min=1.0)

    def _of_each(self, function: Callable[..., Tensor], *arrays: Tensor) -> Tensor:
        """Return a function's values for each of M models, all at once or one by one, whichever is faster.

        Convolutions with the weights of several models take two to three times as long at once as one by one, and
        recurrent layers cannot be vectorised.
        """
        if len(arrays[0]) == 1:
            return function(*(each.squeeze(0) for each in arrays)).unsqueeze(0)
        if self._one_by_one:
            return torch.stack([function(*each) for each in zip(*arrays, strict=True)])
        chunk = _MAX_MODELS_AT_ONCE if len(arrays[0]) > _MAX_MODELS_AT_ONCE else None
        values: Tensor = vmap(function, randomness="different", chunk_size=chunk)(*arrays)
        return values

    @cached_property
    def _one_by_one(self) -> bool:
        parameters = self.functional.module.parameters()
        return self.functional.recurrent or any(each.dim() > _MATRIX_DIMENSIONS for each in parameters)

    @cached_property
    def _parts(self) -> Places:
        if self._row_keys is not None:
            return assign_parts(self._row_keys, self.recipe.parts, 0)
        return assign_folds(self.strata[: self.pool], self.recipe.parts, self.recipe.seed, self.owner)

    @cached_property
    def _row_keys(self) -> Keys | None:
        """The keys by which rows are split independently, or None if they are stratified."""
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


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed torch's random numbers, such as those of dropout, for one step, and restore them after it.

    The generator is used directly: `torch.manual_seed` is slow, as it also seeds devices that are not there.
    """
    generator = torch.cuda.default_generators[0] if DEVICE.type == "cuda" else torch.default_generator
    before = generator.get_state()
    generator.manual_seed(seed)
    try:
        yield
    finally:
        generator.set_state(before)
