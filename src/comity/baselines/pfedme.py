"""pFedMe: personal models near a common one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from comity.baselines.method import Method
from comity.baselines.session import Session, check_positive
from comity.errors import InputError
from comity.neural.rules import Descent, Moreau
from comity.questions import Tensors


@final
@dataclass(frozen=True)
class PFedMe(Method):
    """Moreau envelopes (Dinh et al. 2020, Algorithm 1): clients descend min over θ of f_i(θ) + λ/2 · |θ - w|².

    Their steps are w_i ← w_i - η λ (w_i - θ_i(w_i)), where λ is `pull`, θ_i is found by `inner` steps of descent, and
    η λ is `reach`: how far a step goes towards θ_i; 1 is all the way, and the step of gradient descent, as the minimum
    is λ-smooth in w. Then w ← (1 - β) w + β Σ (n_i / n) w_i with β = `mixing`. A client's model is θ_i(w), found by as
    many steps as a round has.
    """

    pull: float = 1.0
    inner: int = 5
    reach: float = 1.0
    mixing: float = 1.0

    def __post_init__(self) -> None:
        for name in ("pull", "reach", "mixing"):
            check_positive(name, getattr(self, name))
        if self.inner < 2:
            raise InputError(f"there are {self.inner} inner steps; it takes 2 or more, as the first is not pulled")

    def begin(self, session: Session) -> Tensors:
        """Return the common model (D,)."""
        return session.base

    def go_on(self, session: Session, state: Tensors, number: int) -> Tensors:
        """Return it after a round; a step takes several gradients, so there are fewer."""
        budget = session.budget
        steps = budget.steps_of(self.inner, number)
        if not steps:
            return state
        rule = Moreau(steps, self.reach / self.pull, self.pull, self.inner, budget.rate_in(number))
        mixed: Tensors = (1 - self.mixing) * state + self.mixing * session.train_together(state, rule, number)
        return mixed.astype(state.dtype)

    def models(self, session: Session, state: Tensors) -> Tensors:
        """Return every client's θ (N, D)."""
        nearby = Descent(session.budget.steps, session.budget.rate, pull=self.pull)
        return session.train(np.tile(state, (len(session.clients), 1)), nearby, session.budget.rounds)[0]
