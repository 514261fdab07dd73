"""AFL: one model that minimises the loss of the worst mixture of clients."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, final

import numpy as np

from comity.core.arrays import Floats, Tensors
from comity.core.settings import real
from comity.errors import InputError
from comity.families.network.adam import cosine
from comity.research.baselines.method import Method
from comity.research.baselines.session import Session
from comity.search.simplex import project


@dataclass(frozen=True, eq=False)
class _State:
    """The model w (D,), its momentum buffer (D,), and the weights λ (N,) of the clients."""

    model: Tensors
    velocity: Tensors
    weights: Floats


@final
@dataclass(frozen=True)
class AFL(Method):
    """Agnostic federated learning (Mohri et al. 2019): min over w of max over λ on the simplex of Σ λ_i f_i(w).

    Every step descends in w and ascends in λ: w ← w - η Σ λ_i ∇f_i(w), and λ ← the projection onto the simplex of
    λ + γ · (f_1(w), …, f_N(w)), where γ is `ascent`. A round has as many steps as a client may compute gradients. Both
    η and γ follow a cosine schedule, and the momentum is lower than in other methods: otherwise w and λ oscillate.
    """

    single_model: ClassVar[bool] = True
    ascent: Annotated[float, real(0, closed=False)] = 0.05
    momentum: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.momentum < 1:
            raise InputError(f"the momentum is {self.momentum}; it must be at least 0 and below 1")

    def begin(self, session: Session) -> _State:
        """Return the initial model; the weights are the clients' shares of the rows."""
        return _State(session.base, np.zeros_like(session.base), session.shares)

    def step(self, session: Session, state: _State, number: int) -> _State:
        """Run the steps of one round and return the new state."""
        rate, ascent = session.budget.rate_in(number), cosine(self.ascent, number, session.budget.rounds)
        for step in range(session.budget.steps):
            losses, gradients = session.gradients(state.model, number * session.budget.steps + step)
            gradient = np.tensordot(state.weights, gradients, axes=1).astype(state.model.dtype)
            velocity = self.momentum * state.velocity + gradient
            weights = project((state.weights + ascent * losses)[None])[0]
            state = _State(state.model - np.asarray(rate * velocity, state.model.dtype), velocity, weights)
        return state

    def overall_loss(self, session: Session, losses: Floats) -> float:
        """Return the loss of the worst mixture of clients, which is that of the worst client."""
        return float(losses.max())

    def models(self, session: Session, state: _State) -> Tensors:
        """Return the same model for every client (N, D)."""
        return session.repeat(state.model)
