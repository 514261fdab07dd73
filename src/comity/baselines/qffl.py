"""q-FFL: fairness by weighing those more who lose more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from comity.baselines.method import Method
from comity.baselines.session import Session
from comity.errors import InputError
from comity.neural.rules import Descent
from comity.questions import Tensors
from comity.simplex import Floats

_LEAST = 1e-10  # a loss of nothing has no power


@final
@dataclass(frozen=True)
class QFFL(Method):
    """q-fair federated learning (Li et al. 2020, q-FedAvg, Algorithm 2): min over w of Σ p_i f_i(w)^(q+1) / (q+1).

    With Δ_i = L (w - w_i) for where client i went, w ← w - Σ p_i f_i^q Δ_i / Σ p_i h_i, where h_i = q f_i^(q-1) |Δ_i|²
    + L f_i^q, and f_i is the loss on the rows of the first step. 1 / L is the rate times how many gradients long the
    way of a round is, so that Δ_i is about as long as a gradient: the rate of a single step, the same for one step, is
    slow with several. p_i is a client's share of all rows, or the same for all if they count `alike`. With q = 0 it is
    FedAvg.
    """

    one_for_all: ClassVar[bool] = True
    q: float = 1.0
    alike: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.q < np.inf:
            raise InputError(f"q is {self.q}; it must be 0 or more")

    def begin(self, session: Session) -> Tensors:
        """Return the model (D,)."""
        return session.base

    def go_on(self, session: Session, state: Tensors, number: int) -> Tensors:
        """Return it after a round."""
        budget = session.budget
        rule = Descent(budget.steps, budget.rate_in(number))
        trained, losses = session.train(self.models(session, state), rule, number)
        lipschitz = 1 / (budget.rate * rule.gradients_long)
        changes = lipschitz * (state - trained).astype(np.float64)
        lost = np.maximum(losses, _LEAST)
        bounds = self.q * lost ** (self.q - 1) * (changes**2).sum(axis=1) + lipschitz * lost**self.q
        shares = self._shares(session)
        step = np.tensordot(shares * lost**self.q, changes, axes=1) / (shares @ bounds)
        return np.asarray(state - step, state.dtype)

    def overall(self, session: Session, lost: Floats) -> float:
        """Return the fair objective."""
        return float(self._shares(session) @ lost ** (self.q + 1))

    def models(self, session: Session, state: Tensors) -> Tensors:
        """Return the same for every client (N, D)."""
        return np.tile(state, (len(session.clients), 1))

    def _shares(self, session: Session) -> Floats:
        clients = len(session.clients)
        return np.full(clients, 1 / clients) if self.alike else session.shares
