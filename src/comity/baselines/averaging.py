"""What FedAvg and its kin have in common: clients train, and what they share is averaged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from comity.baselines.method import Method
from comity.baselines.session import Session
from comity.neural.rules import Descent
from comity.questions import Tensors


@dataclass(frozen=True)
class Averaging(Method):
    """Clients go some steps from the same parameters w; then w ← Σ (n_i / n) w_i, where client i has n_i of n rows."""

    def begin(self, session: Session) -> Tensors:
        """Return the parameters that are shared (D,)."""
        return session.base

    def go_on(self, session: Session, state: Tensors, number: int) -> Tensors:
        """Return their average after every client's steps."""
        rule = Descent(session.budget.steps, session.budget.rate_in(number))
        return session.train_together(state, rule, number)

    def models(self, session: Session, state: Tensors) -> Tensors:
        """Return the same for every client (N, D)."""
        return np.tile(state, (len(session.clients), 1))
