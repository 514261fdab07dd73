"""Per-FedAvg: a common model from which one step of one's own leads far."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from comity.baselines.method import Method
from comity.baselines.session import Session, check_positive
from comity.neural.rules import Descent, Meta
from comity.questions import Tensors


@final
@dataclass(frozen=True)
class PerFedAvg(Method):
    """Meta-learning of a start (Fallah et al. 2020, Algorithm 1): clients descend F_i(w) = f_i(w - α ∇f_i(w)).

    Then w ← Σ (n_i / n) w_i. `curvature` tells the two variants of the paper's Section 5 apart: first-order (FO)
    without, Hessian-free (HF) with. α is `adapt` times the rate. A client's model is w - α ∇f_i(w), a step of its own.
    """

    curvature: bool = False
    adapt: float = 1.0

    def __post_init__(self) -> None:
        check_positive("length of a step of one's own", self.adapt)

    def begin(self, session: Session) -> Tensors:
        """Return the common start (D,)."""
        return session.base

    def go_on(self, session: Session, state: Tensors, number: int) -> Tensors:
        """Return the average of where clients went; a step takes several gradients, so there are fewer."""
        budget = session.budget
        one = Meta(1, budget.rate_in(number), self.adapt * budget.rate, self.curvature)
        rule = replace(one, steps=budget.steps_of(one.gradients, number))
        if not rule.steps:
            return state
        return session.train_together(state, rule, number)

    def models(self, session: Session, state: Tensors) -> Tensors:
        """Return the start after one step of each client (N, D)."""
        step = Descent(1, self.adapt * session.budget.rate, momentum=0.0)
        return session.train(np.tile(state, (len(session.clients), 1)), step, session.budget.rounds)[0]
