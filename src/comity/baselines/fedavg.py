"""FedAvg: one model for all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from comity.baselines.averaging import Averaging


@final
@dataclass(frozen=True)
class FedAvg(Averaging):
    """Federated averaging: one model for all (McMahan et al. 2017, Algorithm 1), w ← Σ (n_i / n) w_i.

    All clients take part in every round. With one step of all rows it is gradient descent on the mean loss a row.
    """

    one_for_all: ClassVar[bool] = True
