"""Local: every client trains alone."""

from dataclasses import dataclass
from typing import final

from comity.core.arrays import Tensors
from comity.research.baselines.method import Method
from comity.research.baselines.session import Session


@final
@dataclass(frozen=True)
class Local(Method):
    """Every client trains on its own rows: θ_i ← θ_i - η ∇f_i(θ_i), with momentum."""

    def begin(self, session: Session) -> Tensors:
        """Return the clients' initial models (N, D)."""
        return session.repeat(session.base)

    def step(self, session: Session, state: Tensors, number: int) -> Tensors:
        """Return the models after every client's steps on its own rows."""
        return session.train(state, session.budget.descent(number), number)[0]

    def models(self, session: Session, state: Tensors) -> Tensors:
        """Return the clients' models (N, D)."""
        return state
