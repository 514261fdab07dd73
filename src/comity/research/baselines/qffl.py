"""q-FFL: a fairer single model, in which clients with a higher loss count more."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, final

import numpy as np

from comity.core.arrays import Floats, Tensors
from comity.core.settings import real
from comity.research.baselines.method import Method
from comity.research.baselines.session import Session

_MIN_LOSS = 1e-10  # zero has no negative power


@final
@dataclass(frozen=True)
class QFFL(Method):
    """q-fair federated learning (Li et al. 2020, q-FedAvg, Algorithm 2): min over w of Σ p_i f_i(w)^(q+1) / (q+1).

    With Δ_i = L (w - w_i), where w_i is client i's model after its steps, w ← w - Σ p_i f_i^q Δ_i / Σ p_i h_i, where
    h_i = q f_i^(q-1) |Δ_i|² + L f_i^q and f_i is the loss on the rows of the first step. 1 / L is the rate times the
    length of a round's path in gradients, so that Δ_i is about as long as a gradient. With one step per round this is
    the paper's L; with several, the paper's L would make rounds too short. p_i is the client's share of all rows, or
    the same for all clients with `equal_weights`. With q = 0 the method is FedAvg.
    """

    single_model: ClassVar[bool] = True
    q: Annotated[float, real(0)] = 1.0
    equal_weights: bool = False

    def step(self, session: Session, state: Tensors, number: int) -> Tensors:
        """Return the model after a round."""
        rule = session.budget.descent(number)
        trained, initial_losses = session.train(self.models(session, state), rule, number)
        lipschitz = 1 / (session.budget.rate * rule.path_length)
        changes = lipschitz * (state - trained).astype(np.float64)
        losses = np.maximum(initial_losses, _MIN_LOSS)
        bounds = self.q * losses ** (self.q - 1) * (changes**2).sum(axis=1) + lipschitz * losses**self.q
        shares = self._shares(session)
        step = np.tensordot(shares * losses**self.q, changes, axes=1) / (shares @ bounds)
        return np.asarray(state - step, state.dtype)

    def overall_loss(self, session: Session, losses: Floats) -> float:
        """Return the fair objective, up to a constant factor."""
        return float(self._shares(session) @ losses ** (self.q + 1))

    def _shares(self, session: Session) -> Floats:
        clients = len(session.clients)
        return np.full(clients, 1 / clients) if self.equal_weights else session.shares
