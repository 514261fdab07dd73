"""AFL: the model whose worst mixture of clients is best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from comity.baselines.method import Method
from comity.baselines.session import Session, check_positive
from comity.errors import InputError
from comity.neural.adam import cosine
from comity.questions import Tensors
from comity.simplex import Floats, project


@dataclass(frozen=True, eq=False)
class _State:
    model: Tensors
    speed: Tensors
    weights: Floats


@final
@dataclass(frozen=True)
class AFL(Method):
    """Agnostic federated learning (Mohri et al. 2019): min over w of max over λ on the simplex of Σ λ_i f_i(w).

    Descent in w and ascent in λ at once: w ← w - η Σ λ_i ∇f_i(w), and λ ← the projection of λ + γ · (f_1(w), …, f_N(w))
    on the simplex, with γ = `ascent`; a round has as many of these as a client may compute gradients. Both η and γ fall
    along a cosine, and there is less momentum than elsewhere: else w and λ go round each other without end.
    """

    one_for_all: ClassVar[bool] = True
    ascent: float = 0.05
    momentum: float = 0.5

    def __post_init__(self) -> None:
        check_positive("ascent", self.ascent)
        if not 0 <= self.momentum < 1:
            raise InputError(f"the momentum is {self.momentum}; it must be at least 0 and below 1")

    def begin(self, session: Session) -> _State:
        """Return the first model, with weights by rows."""
        return _State(session.base, np.zeros_like(session.base), session.shares)

    def go_on(self, session: Session, state: _State, number: int) -> _State:
        """Return the state after a round's steps."""
        rate, ascent = session.budget.rate_in(number), cosine(self.ascent, number, session.budget.rounds)
        for step in range(session.budget.steps):
            losses, slopes = session.gradients(state.model, number * session.budget.steps + step)
            slope = np.tensordot(state.weights, slopes, axes=1).astype(state.model.dtype)
            speed = self.momentum * state.speed + slope
            weights = project((state.weights + ascent * losses)[None])[0]
            state = _State(state.model - np.asarray(rate * speed, state.model.dtype), speed, weights)
        return state

    def overall(self, session: Session, lost: Floats) -> float:
        """Return what the worst mixture of clients loses, which is the worst client."""
        return float(lost.max())

    def models(self, session: Session, state: _State) -> Tensors:
        """Return the same for every client (N, D)."""
        return np.tile(state.model, (len(session.clients), 1))
