"""The Pareto front of neural networks: a trained hypernetwork (paper, Section 4.2.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from comity.core.arrays import Floats, Tensors
from comity.families.network.hypernetworks import Hypernetwork


@dataclass(frozen=True, eq=False)
class HypernetworkFront:
    """A trained front: K hypernetworks of the same shape, one for each fold and one for all rows.

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
            models: Tensors = self.network(parameters, torch.as_tensor(shares, dtype=parameters.dtype)).numpy()
        return models
