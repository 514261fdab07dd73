"""FedAvg, and its kin that average a part of the model only: FedPer and LG-FedAvg."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from comity.baselines.method import Method
from comity.baselines.session import Part, Session
from comity.neural.rules import Descent
from comity.questions import Tensors


@dataclass(frozen=True)
class _Averaging(Method):
    """Clients go some steps from the same parameters w; then w ← Σ (n_i / n) w_i."""

    def begin(self, session: Session) -> Tensors:
        """Return the parameters that are shared (D,)."""
        return session.base

    def go_on(self, session: Session, state: Tensors, number: int) -> Tensors:
        """Return their average after every client's steps."""
        rule = Descent(session.budget.steps, session.budget.rate_in(number))
        trained, _ = session.train(self.models(session, state), rule, number)
        return average(trained, session)

    def models(self, session: Session, state: Tensors) -> Tensors:
        """Return the same for every client (N, D)."""
        return np.tile(state, (len(session.clients), 1))


@final
@dataclass(frozen=True)
class FedAvg(_Averaging):
    """Federated averaging: one model for all (McMahan et al. 2017, Algorithm 1), w ← Σ (n_i / n) w_i."""

    one_for_all: ClassVar[bool] = True


@final
@dataclass(frozen=True)
class FedPer(_Averaging):
    """Personalisation layers (Arivazhagan et al. 2019): the body is averaged, the head never leaves its client."""

    personal: ClassVar[Part] = "head"


@final
@dataclass(frozen=True)
class LGFedAvg(_Averaging):
    """Local representations (Liang et al. 2020): the head is averaged, the body never leaves its client."""

    personal: ClassVar[Part] = "body"


def average(models: Tensors, session: Session) -> Tensors:
    """Return the mean of clients' models (N, D), each weighing as many rows as it has."""
    mean: Tensors = np.tensordot(session.shares, models, axes=1).astype(models.dtype)
    return mean
