"""pFedHN: a hypernetwork at the server generates every client's model, and learns from the clients' updates."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, final

import numpy as np
import torch
from torch import Tensor

from comity.core.arrays import Tensors
from comity.core.settings import real
from comity.families.network.hypernetworks import Hypernetwork, pull_back
from comity.research.baselines.method import Method
from comity.research.baselines.session import Part, Session

_MIN_SQUARED_LENGTH = 1e-30  # of the models' movement: avoids a division by zero


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
    """What both variants share: `depth` hidden layers of `width` units, and the relative step length `reach`."""

    width: int = 100
    depth: int = 3
    reach: Annotated[float, real(0, closed=False)] = 1.0

    def begin(self, session: Session) -> _State:
        """Return the hypernetwork, which generates the same model for all clients at first."""
        network = Hypernetwork(len(session.clients), session.base.size, "residual", self.width, self.depth)
        return _State(network, network.initial(torch.as_tensor(session.base), session.recipe.seed)[None])

    def step(self, session: Session, state: _State, number: int) -> _State:
        """Return the hypernetwork after a step towards the models that the clients have trained."""
        parameters = state.parameters.detach().requires_grad_()
        models = state.models(parameters)
        sent: Tensors = models.detach().numpy()
        trained, _ = session.train(sent, session.budget.descent(number), number)
        differences = torch.as_tensor(sent - trained).requires_grad_()
        (gradient,) = pull_back(models, [parameters], differences, again=True)
        direction = gradient.detach()
        # The gradient Jᵀ·differences is linear in the differences, so its derivative along itself is J·direction: how
        # the models move, to first order, when the parameters move in this direction.
        (movement,) = pull_back(gradient, [differences], direction)
        squared_length = (movement**2).sum().clamp(min=_MIN_SQUARED_LENGTH)
        length = self.reach * float((differences.detach() * movement).sum() / squared_length)
        return _State(state.network, parameters.detach() - length * direction)

    def models(self, session: Session, state: _State) -> Tensors:
        """Return the models that the hypernetwork generates for the clients (N, D)."""
        return np.array(state.models(state.parameters).numpy())


@final
@dataclass(frozen=True)
class PFedHN(_Hypernetworks):
    """Personalised hypernetworks (Shamsian et al. 2021, Algorithm 1): φ ← φ - α (∂h(v_i; φ)/∂φ)ᵀ (θ_i - θ̃_i).

    θ_i = h(v_i; φ) is the model of client i, and θ̃_i the model after the client's steps. The embedding v_i is trained
    in the same way; it is the client's row of the first layer and has `width` numbers, which with few clients learns
    faster than the paper's 1 + N / 4. All clients take part in every round. h is added to a base that is trained too,
    so that all models start as the module. α is `reach` times the length that, to first order, brings all θ_i nearest
    to their θ̃_i: this suits modules of all sizes, and learns in tens of rounds.
    """


@final
@dataclass(frozen=True)
class PFedHNPersonal(_Hypernetworks):
    """pFedHN with personal classifiers (Shamsian et al. 2021, pFedHN-PC): the head never leaves its client."""

    personal: ClassVar[Part] = "head"
