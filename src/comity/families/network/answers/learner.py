"""A client's side of a training: its examples, their split, its model, and its personal parameters."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.func import vmap

from comity.errors import InputError
from comity.families.network.answers.personal import Personal
from comity.families.network.losses import LOSSES, RowLoss, check_fit
from comity.families.network.modules import Functional, perceptron, seeded
from comity.families.network.prediction import TargetScale
from comity.questions import Recipe
from comity.rows.noise import Noise
from comity.rows.rows import Rows
from comity.rows.splits import Keys, assign_folds, assign_parts, generator_for, group_keys, row_keys

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
    that leave the client are clipped and noisy, and rows are split independently (`comity.rows.splits`). Rows with the
    same entry in `groups` are in the same part.
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
    groups: Keys | None = None
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
        found = self.pool if self.groups is None else np.unique(self.groups).size
        if found < needed:
            noun = "rows" if self.groups is None else "groups of rows"
            raise InputError(
                f"client {self.owner!r} has {found} {noun}, too few to hold some out to choose by and some "
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
        folds = self._assign(rest, self.recipe.folds, 1)
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
        self, parameters: Tensor, networks: Tensor, step: int, own: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return mean losses (M,) of models (M, D) on a step's rows, and gradients by shared and personal parameters.

        The personal parameters (K, Dp) of the networks are `own`, or those of the front.
        """
        rows, seed = self.batch(step)
        places, shares = self._every_share if rows is self.eligible else self._shares(rows)
        inputs, targets, weights = self.inputs[places], self.targets[places], shares[networks]
        models = parameters.detach().requires_grad_()
        own = (self.personal.parameters if own is None else own)[networks].detach().requires_grad_()

        def mean_loss(flat: Tensor, personal: Tensor, weight: Tensor) -> Tensor:
            return self.loss(self.functional(flat, personal, inputs), targets) @ weight

        self.functional.module.train()
        generator = torch.cuda.default_generators[0] if DEVICE.type == "cuda" else torch.default_generator
        with seeded(generator, seed):
            losses = self._of_each(mean_loss, models, own, weights)
        by_model, by_own = torch.autograd.grad(losses.sum(), (models, own), materialize_grads=True)
        return losses.detach(), by_model, by_own

    def rows_lost(self, parameters: Tensor, network: int, rows: Places, own: Tensor | None = None) -> Tensor:
        """Return the losses (M, n) of models (M, D) of a network on each of some rows."""
        inputs, targets = self.inputs[rows], self.targets[rows]
        own = (self.personal.parameters if own is None else own)[network]
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
        return self._assign(np.arange(self.pool), self.recipe.parts, 0)

    def _assign(self, rows: Places, parts: int, purpose: int) -> Places:
        """Return the part of each of some rows: stratified, or with noise independently of all other rows."""
        seed, owner = self.recipe.seed, self.owner
        if self.noise is None or not self.noise.noisy:
            groups = None if self.groups is None else self.groups[rows]
            return assign_folds(self.strata[rows], parts, seed, owner, purpose, groups)
        if self.groups is not None:
            return assign_parts(group_keys(self.groups, seed, owner)[rows], parts, purpose)
        columns = [each[: self.pool].cpu().numpy() for each in (self.inputs, self.targets)]
        return assign_parts(row_keys(columns, seed, owner)[rows], parts, purpose)

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


def learner_of(rows: Rows, recipe: Recipe) -> Learner:
    """Return the learner that trains perceptrons on a table; it is made once, and keeps the personal parameters."""
    if recipe not in rows.learners:
        if recipe.schema is None:
            raise InputError(f"client {rows.owner!r} has a table; it needs a recipe with a schema")
        encoded, tests = rows.encoded(recipe.schema), rows.encoded_tests(recipe.schema)
        classes, features, values = encoded.classes, encoded.features, encoded.target
        if tests is not None:
            features, values = np.concatenate([features, tests.features]), np.concatenate([values, tests.target])
        module = perceptron(features.shape[1] - 1, classes or 1, recipe.width, recipe.depth, recipe.seed)
        targets = torch.as_tensor(values)
        rows.learners[recipe] = Learner(
            owner=rows.owner,
            recipe=recipe,
            functional=Functional.of(module, recipe.personal),
            loss=LOSSES[recipe.loss],
            inputs=torch.as_tensor(features[:, :-1]),
            targets=targets.long() if classes else targets,
            strata=values if classes else values * 0,
            target_scale=TargetScale(classes, encoded.spec.mean, encoded.spec.scale),
            test_rows=0 if tests is None else len(tests.target),
            noise=rows.noise,
            groups=rows.groups,
        )
    learner: Learner = rows.learners[recipe]
    return learner
