"""Base class of FedAvg and its variants: clients train, and the parameters that they share are averaged."""

from __future__ import annotations

from dataclasses import dataclass

from comity.core.arrays import Tensors
from comity.families.network.rules import Descent
from comity.research.baselines.method import Method
from comity.research.baselines.session import Session


@dataclass(frozen=True)
class Averaging(Method):
    """Clients take some steps from the same parameters w; then w ← Σ (n_i / n) w_i, if client i has n_i of n rows."""

    def begin(self, session: Session) -> Tensors:
        """Return the initial shared parameters (D,)."""
        return session.base

    def step(self, session: Session, state: Tensors, number: int) -> Tensors:
        """Return the average of the shared parameters after every client's steps."""
        rule = Descent(session.budget.steps, session.budget.rate_in(number))
        return session.train_together(state, rule, number)

    def models(self, session: Session, state: Tensors) -> Tensors:
        """Return the same shared parameters for every client (N, D)."""
        return session.repeat(state)
