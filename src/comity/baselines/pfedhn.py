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
from comity.neural.rules import Descent
from comity.questions import Tensors

_CLIENTS_A_NUMBER = 4  # in an embedding, as in the paper
_LEAST = 1e-30  # no way to go


@dataclass(frozen=True, eq=False)
class _State:
    """The hypernetwork h, its parameters φ (1, P), and the embeddings v of the clients (1, N, E)."""

    network: Hypernetwork
    parameters: Tensor
    embeddings: Tensor


@dataclass(frozen=True)
class _Hypernetworks(Method):
    width: int = 100
    depth: int = 3
    reach: float = 1.0

    def __post_init__(self) -> None:
        check_positive("reach", self.reach)

    def begin(self, session: Session) -> _State:
        """Return the hypernetwork, which begins with the same model for all."""
        base, clients = torch.as_tensor(session.base), len(session.clients)
        numbers = 1 + clients // _CLIENTS_A_NUMBER
        network = Hypernetwork(numbers, session.base.size, "residual", self.width, self.depth)
        parameters = network.initial(base, session.recipe.seed)[None]
        generator = torch.Generator().manual_seed(session.recipe.seed + 1)
        embeddings = torch.randn(1, clients, numbers, generator=generator, dtype=torch.float64).to(base.dtype)
        return _State(network, parameters, embeddings)

    def go_on(self, session: Session, state: _State, number: int) -> _State:
        """Return the hypernetwork a step nearer to where clients took their models."""
        budget = session.budget
        at = state.parameters.detach().requires_grad_(), state.embeddings.detach().requires_grad_()
        models = state.network(*at)[0]
        sent: Tensors = models.detach().numpy()
        trained, _ = session.train(sent, Descent(budget.steps, budget.rate_in(number)), number)
        apart = torch.as_tensor(sent - trained).requires_grad_()
        slopes = torch.autograd.grad(models, at, apart, create_graph=True)
        # Slopes are linear in what they are of, so their own slope along themselves is how models move with them.
        (moved,) = torch.autograd.grad(slopes, apart, [slope.detach() for slope in slopes])
        length = self.reach * float((apart.detach() * moved).sum() / (moved**2).sum().clamp(min=_LEAST))
        parameters, embeddings = (
            each.detach() - length * slope.detach() for each, slope in zip(at, slopes, strict=True)
        )
        return _State(state.network, parameters, embeddings)

    def models(self, session: Session, state: _State) -> Tensors:
        """Return the model that the hypernetwork has for each client (N, D)."""
        with torch.no_grad():
            return np.array(state.network(state.parameters, state.embeddings)[0].numpy())


@final
@dataclass(frozen=True)
class PFedHN(_Hypernetworks):
    """Personalised hypernetworks (Shamsian et al. 2021, Algorithm 1): φ ← φ - α (∂h(v_i; φ)/∂φ)ᵀ (θ_i - θ̃_i).

    θ_i = h(v_i; φ) is the model of client i, and θ̃_i where its steps lead; the embeddings v_i, of 1 + N / 4 numbers,
    move likewise. All clients take part in a round, and h is added to a base that is trained too, so that all begin as
    the module. α is `reach` times the length that, to first order, brings all θ_i nearest to their θ̃_i: it suits
    modules of all sizes, and learns in tens of rounds.
    """


@final
@dataclass(frozen=True)
class PFedHNPersonal(_Hypernetworks):
    """pFedHN with personal classifiers (Shamsian et al. 2021, pFedHN-PC): the head never leaves its client."""

    personal: ClassVar[Part] = "head"
