"""pFedHN: a hypernetwork at the server has a model for every client, and learns from where clients take it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
import torch
from torch import Tensor

from comity.baselines.method import Method
from comity.baselines.session import Part, Session
from comity.neural.adam import Adam, cosine
from comity.neural.hypernetworks import Hypernetwork
from comity.neural.rules import Descent
from comity.questions import Tensors


@dataclass(eq=False)
class _State:
    network: Hypernetwork
    parameters: Tensor
    adam: Adam


@dataclass(frozen=True)
class _Hypernetworks(Method):
    width: int = 100
    depth: int = 3
    server_rate: float = 1e-3

    def begin(self, session: Session) -> _State:
        """Return the hypernetwork, which begins with the same model for all."""
        network = Hypernetwork(len(session.clients), session.base.size, "residual", self.width, self.depth)
        parameters = network.initial(torch.as_tensor(session.base), session.recipe.seed)[None]
        return _State(network, parameters, Adam.begin(parameters))

    def go_on(self, session: Session, state: _State, number: int) -> _State:
        """Return the hypernetwork a step nearer to where clients took their models."""
        budget = session.budget
        at = state.parameters.detach().requires_grad_()
        models = state.network(at, _everybody(session, at))[0]
        sent: Tensors = models.detach().numpy()
        trained, _ = session.train(sent, Descent(budget.steps, budget.rate_in(number)), number)
        pull = torch.as_tensor(sent - trained) / len(session.clients)
        (gradient,) = torch.autograd.grad(models, at, pull)
        state.parameters = state.adam.step(
            state.parameters, gradient, cosine(self.server_rate, number, session.budget.rounds)
        )
        return state

    def models(self, session: Session, state: _State) -> Tensors:
        """Return the model that the hypernetwork has for each client (N, D)."""
        with torch.no_grad():
            models: Tensors = state.network(state.parameters, _everybody(session, state.parameters))[0].numpy()
        return np.array(models)


@final
@dataclass(frozen=True)
class PFedHN(_Hypernetworks):
    """Personalised hypernetworks (Shamsian et al. 2021, Algorithm 1): φ ← φ - α (∂h(v_i; φ)/∂φ)ᵀ (θ_i - θ̃_i).

    θ_i = h(v_i; φ) is the model of client i, θ̃_i where its steps lead. The embedding v_i is the row of the first layer
    that belongs to the client. All clients take part in a round, h is added to a base that is trained too, and the step
    is Adam's.
    """


@final
@dataclass(frozen=True)
class PFedHNPersonal(_Hypernetworks):
    """pFedHN with personal classifiers (Shamsian et al. 2021, pFedHN-PC): the head never leaves its client."""

    personal: ClassVar[Part] = "head"


def _everybody(session: Session, like: Tensor) -> Tensor:
    return torch.eye(len(session.clients), dtype=like.dtype)
