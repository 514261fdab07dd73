"""pFedMe: personal models near a common one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from comity.baselines.fedavg import average
from comity.baselines.method import Method
from comity.baselines.session import Session
from comity.errors import InputError
from comity.neural.rules import Descent, Moreau
from comity.questions import Tensors


@final
@dataclass(frozen=True)
class PFedMe(Method):
    """Moreau envelopes (Dinh et al. 2020, Algorithm 1): clients descend min over θ of f_i(θ) + λ/2 · |θ - w|².

    λ is `pull`, the θ of a step is found by `inner` steps of descent, and w ← (1 - β) w + β Σ (n_i / n) w_i with β =
    `mixing`. A client's model is its θ for the common w.
    """

    pull: float = 1.0
    inner: int = 5
    mixing: float = 1.0

    def __post_init__(self) -> None:
        if not self.pull > 0 or self.inner < 1:
            raise InputError(f"the pull is {self.pull} and the inner steps are {self.inner}; both must be positive")

    def begin(self, session: Session) -> Tensors:
        """Return the common model (D,)."""
        return session.base

    def go_on(self, session: Session, state: Tensors, number: int) -> Tensors:
        """Return it after a round."""
        budget = session.budget
        inner = min(self.inner, budget.steps)
        rate = budget.rate_in(number)
        # A step of 1 / λ in w would go all the way to θ.
        rule = Moreau(budget.steps // inner, min(rate * budget.steps, 1.0) / self.pull, self.pull, inner, rate)
        trained, _ = session.train(np.tile(state, (len(session.clients), 1)), rule, number)
        mixed: Tensors = (1 - self.mixing) * state + self.mixing * average(trained, session)
        return mixed.astype(state.dtype)

    def models(self, session: Session, state: Tensors) -> Tensors:
        """Return every client's θ (N, D)."""
        nearby = Descent(session.budget.steps, session.budget.rate, momentum=0.0, pull=self.pull)
        return session.train(np.tile(state, (len(session.clients), 1)), nearby, session.budget.rounds)[0]
