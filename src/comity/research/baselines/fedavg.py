"""FedAvg: one model for all clients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from comity.research.baselines.averaging import Averaging


@final
@dataclass(frozen=True)
class FedAvg(Averaging):
    """Federated averaging (McMahan et al. 2017, Algorithm 1): one model for all clients, w ← Σ (n_i / n) w_i.

    All clients take part in every round. With one step on all rows, a round is a step of gradient descent on the mean
    loss per row.
    """

    single_model: ClassVar[bool] = True
