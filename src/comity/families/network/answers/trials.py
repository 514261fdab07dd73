"""The search on a hypernetwork's front, by the losses on the rows of one client."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from comity.core.arrays import Floats, Integers
from comity.families.network.answers.learner import Learner
from comity.families.network.hypernetworks import Hypernetwork
from comity.search.trials import Bounds

_MAX_TRIALS_AT_ONCE = 64
_WHOLE_WEIGHT = 1 - 1e-6  # leaves the others none


@dataclass(frozen=True, eq=False)
class NeuralTrials:
    """Trials of one client on the front of a hypernetwork with parameters (K, P): see `comity.search.trials.Trials`.

    Weights over the clients become shares of the objective by `counts` (N,). `rows` are those that each network holds
    out; there is no penalty. `alone` is the loss of the client's own model, `lost_alone` that on each of these rows. If
    it is known, it replaces the loss of the front's model for the client alone, which shares parameters with the
    models of all others.
    """

    learner: Learner
    network: Hypernetwork
    parameters: Tensor
    counts: Tensor
    target: Integers
    alone: float
    rows: tuple[NDArray[np.intp], ...]
    lost_alone: tuple[Tensor, ...] | None = None

    @property
    def bounds(self) -> Bounds:
        """The bounds of the log penalty: zero, as there is no penalty."""
        return 0.0, 0.0

    @property
    def alone_losses(self) -> Floats | None:
        """The losses of the client's own model (P,), if they are known."""
        return None if np.isnan(self.alone) else np.full(len(self), self.alone)

    def __len__(self) -> int:
        return self.target.size

    def some(self, chosen: Integers) -> NeuralTrials:
        """Return some of the trials."""
        return replace(self, target=self.target[chosen])

    def batches(self, count: int) -> Iterator[slice]:
        """Yield slices of `count` trials, as many at a time as memory allows."""
        for first in range(0, count, _MAX_TRIALS_AT_ONCE):
            yield slice(first, first + _MAX_TRIALS_AT_ONCE)

    def halves(self) -> list[tuple[NeuralTrials, NeuralTrials]]:
        """Return the same trials on every other held-out row, and on the rest, both ways round."""
        sides = [
            replace(
                self,
                rows=tuple(rows[this::2] for rows in self.rows),
                lost_alone=self.lost_alone and tuple(lost[this::2] for lost in self.lost_alone),
            )
            for this in range(2)
        ]
        return [(sides[0], sides[1]), (sides[1], sides[0])]

    def losses(self, weights: Floats, log_penalty: Floats) -> Floats:
        """Return mean losses (P,)."""
        return np.asarray(self.outcomes(weights, log_penalty).mean(axis=1))

    def losses_by_penalty(self, weights: Floats, logs: Floats) -> Floats:
        """Return losses (M, P), the same for all penalties."""
        return np.tile(self.losses(weights, logs[:, 0]), (logs.shape[1], 1))

    def derivatives(self, weights: Floats, log_penalty: Floats) -> tuple[Floats, Floats, Floats]:
        """Return losses (P,), their derivatives by the weights (P, N), and zeros for the penalty."""
        at = torch.tensor(weights, dtype=self.parameters.dtype, device=self.parameters.device, requires_grad=True)
        losses = self._lost(at).mean(dim=1)
        (slope,) = torch.autograd.grad(losses.sum(), at)
        return losses.detach().double().cpu().numpy(), slope.double().cpu().numpy(), np.zeros(len(weights))

    def outcomes(self, weights: Floats, log_penalty: Floats) -> Floats:
        """Return the losses on each held-out row (P, n)."""
        with torch.no_grad():
            lost = self._lost(torch.as_tensor(weights, dtype=self.parameters.dtype, device=self.parameters.device))
        return np.asarray(lost.double().cpu().numpy())

    def standard_error(self, one: Floats, other: Floats) -> Floats:
        """Return the standard error (P,) of the mean difference, row by row."""
        difference = one - other
        return np.asarray(difference.std(axis=1, ddof=1) / np.sqrt(difference.shape[1]))

    def _lost(self, weights: Tensor) -> Tensor:
        shares = weights
        if (self.counts != self.counts[0]).any():  # else the weights are the shares
            shares = weights * self.counts
            shares = shares / shares.sum(dim=1, keepdim=True)
        models = self.network(self.parameters, shares)
        parts = [
            self.learner.rows_lost(models[number], number, rows) for number, rows in enumerate(self.rows) if rows.size
        ]
        lost = torch.cat(parts, dim=1)
        if self.lost_alone is None:
            return lost
        alone = weights[torch.arange(len(weights)), torch.as_tensor(self.target)] >= _WHOLE_WEIGHT
        return torch.where(alone[:, None], torch.cat(self.lost_alone) + 0 * lost, lost)
