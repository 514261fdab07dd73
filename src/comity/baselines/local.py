"""Local: everybody alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from comity.baselines.method import Method
from comity.baselines.session import Session
from comity.neural.rules import Descent
from comity.questions import Tensors


@final
@dataclass(frozen=True)
class Local(Method):
    """Every client trains on its own rows: θ_i ← θ_i - η ∇f_i(θ_i), with momentum."""

    def begin(self, session: Session) -> Tensors:
        """Return the clients' models (N, D)."""
        return np.tile(session.base, (len(session.clients), 1))

    def go_on(self, session: Session, state: Tensors, number: int) -> Tensors:
        """Return them after every client's own steps."""
        rule = Descent(session.budget.steps, session.budget.rate_in(number))
        return session.train(state, rule, number)[0]

    def models(self, session: Session, state: Tensors) -> Tensors:
        """Return the clients' models (N, D)."""
        return state
