"""FedAvg: one model for all clients."""

from dataclasses import dataclass
from typing import ClassVar, final

from comity.core.arrays import Tensors
from comity.research.baselines.method import Method
from comity.research.baselines.session import Session


@dataclass(frozen=True)
class Averaging(Method):
    """What FedAvg and its variants share: clients take steps from the same w; then w ← Σ (n_i / n) w_i.

    Client i has n_i of n rows. A variant keeps a part of the module `personal`, and w is the rest.
    """

    def step(self, session: Session, state: Tensors, number: int) -> Tensors:
        """Return the average of the shared parameters after every client's steps."""
        return session.train_together(state, session.budget.descent(number), number)


@final
@dataclass(frozen=True)
class FedAvg(Averaging):
    """Federated averaging (McMahan et al. 2017, Algorithm 1): one model for all clients, w ← Σ (n_i / n) w_i.

    All clients take part in every round. With one step on all rows, a round is a step of gradient descent on the mean
    loss per row.
    """

    single_model: ClassVar[bool] = True
