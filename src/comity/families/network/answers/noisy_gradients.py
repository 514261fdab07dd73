"""Gradients of networks with rows clipped and noise added.

For each model a row contributes a vector, its loss and its gradient, which is scaled down to the length of the clip if
it is longer. The training rows of each network are counted as well, each as a number as large as the clip, and noise is
added to all sums. The answer holds these sums divided by the noisy count.
"""

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import grad_and_value, vmap

from comity.errors import RefusedError
from comity.families.network.answers.learner import Learner
from comity.rows.noise import Noise

_MAX_NUMBERS_AT_ONCE = 2e7  # in the gradients of rows


def noisy_slopes(learner: Learner, parameters: Tensor, networks: Tensor, noise: Noise) -> tuple[Tensor, Tensor, Tensor]:
    """Return noisy mean losses (M,) and gradients (M, D) of models (M, D) on all training rows; none are personal."""
    _check(learner)
    rows = learner.eligible
    trains = learner.trains[:, rows].double().cpu().numpy()  # (K, n)
    places = networks.cpu().numpy()
    sums = np.stack(
        [_sums(learner, model, trains[place], noise) for model, place in zip(parameters, places.tolist(), strict=True)]
    )
    models = np.bincount(places, minlength=len(trains))
    unit = noise.clip if noise.noisy and noise.clip is not None else 1.0
    asked = models > 0
    counted = unit * trains.sum(axis=1) * asked
    sums, counted = noise.add_to(most_squares(learner, models), sums, counted)
    means = sums / np.maximum(counted[places] / unit, 1.0)[:, None]
    slopes = torch.as_tensor(means[:, 1:], dtype=parameters.dtype, device=parameters.device)
    losses = torch.as_tensor(means[:, 0], dtype=parameters.dtype, device=parameters.device)
    return losses, slopes, parameters.new_zeros(len(parameters), 0)


def most_squares(learner: Learner, models: np.ndarray) -> float:
    """Return the largest number of sums to which a row contributes, for the number of models (K,) of each network.

    A row contributes to each model of a network that it trains, and to that network's count. With folds, every row is
    held out by one of the networks but the last.
    """
    counts = np.where(models > 0, models + 1, 0)
    left = counts[: learner.recipe.folds].min() if learner.recipe.folds > 1 else 0
    return float(counts.sum() - left)


def _sums(learner: Learner, model: Tensor, trains: np.ndarray, noise: Noise) -> np.ndarray:
    """Return the sums (1 + D,) of clipped losses and gradients of a model (D,) over the rows that train (n,)."""
    here = learner.eligible[trains > 0]
    size = max(1, int(_MAX_NUMBERS_AT_ONCE // (model.numel() + 1)))
    total = np.zeros(model.numel() + 1)
    for start in range(0, here.size, size):
        added = _added(learner, model, here[start : start + size])
        with np.errstate(over="ignore"):  # a row of infinite length has the weight zero
            lengths = np.linalg.norm(added, axis=1)
        weight = noise.weights(lengths)
        total += weight @ np.where(weight[:, None] > 0, added, 0.0)
    return total


def _added(learner: Learner, model: Tensor, rows: np.ndarray) -> np.ndarray:
    """Return the loss and the gradient (n, 1 + D) of each of some rows."""
    own = learner.personal.parameters[0]
    inputs, targets = learner.inputs[rows], learner.targets[rows]

    def lost(flat: Tensor, one: Tensor, target: Tensor) -> Tensor:
        return learner.loss(learner.functional(flat, own, one[None]), target[None])[0]

    learner.functional.module.train()
    at = model.detach()
    try:
        if learner.functional.recurrent:
            at.requires_grad_()
            each = []
            for pair in zip(inputs, targets, strict=True):
                loss = lost(at, *pair)
                each.append((torch.autograd.grad(loss, at)[0], loss.detach()))
            gradients, losses = (torch.stack(part) for part in zip(*each, strict=True))
        else:
            every = vmap(grad_and_value(lost), in_dims=(None, 0, 0), randomness="error")
            gradients, losses = every(at, inputs, targets)
    except (RuntimeError, ValueError) as error:
        raise RefusedError(
            f"client {learner.owner!r} cannot give noisy gradients: the model cannot take rows one by one "
            f"({str(error).splitlines()[0]}); take one without layers that need a batch or draw at random"
        ) from None
    added: np.ndarray = torch.cat([losses[:, None], gradients], dim=1).detach().double().cpu().numpy()
    return added


def _check(learner: Learner) -> None:
    """Raise an error if noise cannot cover the gradients of this learner."""
    if learner.functional.personal:
        raise RefusedError(
            f"client {learner.owner!r} cannot give noisy gradients of a model with personal parameters, which are "
            "trained without noise and would show in them; share all parameters"
        )
    if learner.recipe.batch:
        raise RefusedError(
            f"client {learner.owner!r} cannot give noisy gradients of {learner.recipe.batch} rows a step: which rows "
            "these are depends on how many there are; take all rows a step (batch 0)"
        )
    for part in learner.functional.module.modules():
        if isinstance(part, nn.RNNBase) and part.dropout > 0:
            raise RefusedError(
                f"client {learner.owner!r} cannot give noisy gradients of a recurrent layer with dropout; take it out"
            )
