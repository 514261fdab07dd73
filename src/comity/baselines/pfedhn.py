"""pFedHN: a hypernetwork at the server has a model for every client, and learns from where clients take it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
import torch
from torch import Tensor

from comity.baselines.method import Method
from comity.baselines.session import Part, Session, check_positive
from comity.neural.hypernetworks import Hypernetwork
from comity.neural.pulling import pull_back
from comity.neural.rules import Descent
from comity.questions import Tensors

_LEAST = 1e-30  # no way to go


@dataclass(frozen=True, eq=False)
class _State:
    """The hypernetwork h, and its parameters φ (1, P)."""

    network: Hypernetwork
    parameters: Tensor

    def models(self, parameters: Tensor) -> Tensor:
        """Return the models (N, D) of the clients."""
        return self.network(parameters, torch.eye(self.network.clients, dtype=parameters.dtype))[0]


@dataclass(frozen=True)
class _Hypernetworks(Method):
    width: int = 100
    depth: int = 3
    reach: float = 1.0

    def __post_init__(self) -> None:
        check_positive("reach", self.reach)

    def begin(self, session: Session) -> _State:
        """Return the hypernetwork, which begins with the same model for all."""
        network = Hypernetwork(len(session.clients), session.base.size, "residual", self.width, self.depth)
        return _State(network, network.initial(torch.as_tensor(session.base), session.recipe.seed)[None])

    def go_on(self, session: Session, state: _State, number: int) -> _State:
        """Return the hypernetwork a step nearer to where clients took their models."""
        budget = session.budget
        at = state.parameters.detach().requires_grad_()
        models = state.models(at)
        sent: Tensors = models.detach().numpy()
        trained, _ = session.train(sent, Descent(budget.steps, budget.rate_in(number)), number)
        apart = torch.as_tensor(sent - trained).requires_grad_()
        (slope,) = pull_back(models, [at], apart, again=True)
        along = slope.detach()
        # The slope is linear in what it is of, so its own slope along itself is how models move with it.
        (moved,) = pull_back(slope, [apart], along)
        length = self.reach * float((apart.detach() * moved).sum() / (moved**2).sum().clamp(min=_LEAST))
        return _State(state.network, at.detach() - length * along)

    def models(self, session: Session, state: _State) -> Tensors:
        """Return the model that the hypernetwork has for each client (N, D)."""
        return np.array(state.models(state.parameters).numpy())


@final
@dataclass(frozen=True)
class PFedHN(_Hypernetworks):
    """Personalised hypernetworks (Shamsian et al. 2021, Algorithm 1): φ ← φ - α (∂h(v_i; φ)/∂φ)ᵀ (θ_i - θ̃_i).

    θ_i = h(v_i; φ) is the model of client i, and θ̃_i where its steps lead. The embedding v_i, which moves likewise, is
    the row of the first layer that belongs to the client: `width` numbers, which with few clients learns faster than
    the paper's 1 + N / 4. All clients take part in a round, and h is added to a base that is trained too, so that all
    begin as the module. α is `reach` times the length that, to first order, brings all θ_i nearest to their θ̃_i: it
    suits modules of all sizes, and learns in tens of rounds.
    """


@final
@dataclass(frozen=True)
class PFedHNPersonal(_Hypernetworks):
    """pFedHN with personal classifiers (Shamsian et al. 2021, pFedHN-PC): the head never leaves its client."""

    personal: ClassVar[Part] = "head"
