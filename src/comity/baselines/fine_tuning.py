"""FedAvg, then every client by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from comity.baselines.fedavg import FedAvg
from comity.baselines.local import Local
from comity.baselines.method import Method
from comity.baselines.session import Session
from comity.errors import InputError
from comity.questions import Tensors


@final
@dataclass(frozen=True)
class FedAvgFineTuned(Method):
    """Averaging, and in the last `share` of the rounds steps of every client on its own rows, from the average."""

    share: float = 0.2

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise InputError(f"the share of rounds to tune in is {self.share}; it must be between 0 and 1")

    def begin(self, session: Session) -> Tensors:
        """Return the clients' models (N, D)."""
        return np.tile(session.base, (len(session.clients), 1))

    def go_on(self, session: Session, state: Tensors, number: int) -> Tensors:
        """Return them after a round of averaging, or of training alone."""
        if number >= (1 - self.share) * session.budget.rounds:
            return Local().go_on(session, state, number)
        together = FedAvg()
        return together.models(session, together.go_on(session, state[0], number))

    def models(self, session: Session, state: Tensors) -> Tensors:
        """Return the clients' models (N, D)."""
        return state
