"""FedAvg, then every client by itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from comity.baselines.fedavg import FedAvg
from comity.baselines.method import Method
from comity.baselines.session import Budget, Session, check_positive
from comity.errors import InputError
from comity.neural.rules import Descent
from comity.questions import Tensors


@final
@dataclass(frozen=True)
class FedAvgFineTuned(Method):
    """FedAvg (McMahan et al. 2017), and then θ_i ← θ_i - η ∇f_i(θ_i) by every client on its own rows, from the average.

    The last `share` of the rounds are for that. The rate falls along a cosine twice: while models are averaged, and
    from the beginning again, or from `slower` times it, while they are tuned.
    """

    share: float = 0.2
    slower: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise InputError(f"the share of rounds to tune in is {self.share}; it must be between 0 and 1")
        check_positive("part of the rate to tune at", self.slower)

    def begin(self, session: Session) -> Tensors:
        """Return the clients' models (N, D)."""
        return np.tile(session.base, (len(session.clients), 1))

    def go_on(self, session: Session, state: Tensors, number: int) -> Tensors:
        """Return them after a round of averaging, or of training alone."""
        together, alone = self.phases(session.budget)
        if number >= together.rounds:
            rule = Descent(alone.steps, alone.rate_in(number - together.rounds))
            return session.train(state, rule, number)[0]
        averaged = FedAvg()
        return averaged.models(session, averaged.go_on(replace(session, budget=together), state[0], number))

    def models(self, session: Session, state: Tensors) -> Tensors:
        """Return the clients' models (N, D)."""
        return state

    def phases(self, budget: Budget) -> tuple[Budget, Budget]:
        """Return the budgets of averaging and of tuning."""
        alone = max(1, round(self.share * budget.rounds))
        together = max(1, budget.rounds - alone)
        return replace(budget, rounds=together), replace(budget, rounds=alone, rate=self.slower * budget.rate)
