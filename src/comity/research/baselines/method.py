"""The interface of a baseline, and the training loop that all of them share."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from comity.core.arrays import Floats, Tensors
from comity.core.progress import TrainingProgress
from comity.core.settings import check_settings
from comity.research.baselines.session import Part, Session


@dataclass(frozen=True)
class Method(ABC):
    """A way to train models for N clients in rounds. Its fields are its settings; what it learns is in the state.

    Unless a method says otherwise, the state is one model (D,), the same for all clients.
    """

    personal: ClassVar[Part] = ""
    """The part of the module that never leaves its client."""
    single_model: ClassVar[bool] = False
    """Whether all clients have the same model."""

    def __post_init__(self) -> None:
        check_settings(self)

    def begin(self, session: Session) -> Any:
        """Return the state before the first round."""
        return session.base

    @abstractmethod
    def step(self, session: Session, state: Any, number: int) -> Any:
        """Run round `number`, counted from 0, and return the new state."""

    def overall_loss(self, session: Session, losses: Floats) -> float:
        """Return what a method with a single model minimises, from the clients' losses (N,): the mean per row."""
        return float(session.shares @ losses)

    def models(self, session: Session, state: Any) -> Tensors:
        """Return the clients' models (N, D)."""
        return session.repeat(state)


@dataclass(frozen=True, eq=False)
class Trained:
    """Models (N, D) that were trained in a `session`.

    `held_out_losses` (N,) are theirs on held-out rows, and `rounds` the rounds after which they were taken. Personal
    parameters stay at the clients, and the next training with the same recipe resets them: judge models before that.
    """

    session: Session
    models: Tensors
    held_out_losses: Floats
    rounds: tuple[int, ...]


def train(method: Method, session: Session, progress: TrainingProgress | None = None) -> Trained:
    """Train by a method, and keep the models with the lowest held-out loss.

    These are chosen for each client separately, or for all together if the method has a single model.
    """
    session = session.with_personal(method.personal)
    session.reset_personal()
    state = method.begin(session)
    clients = len(session.clients)
    least, rounds, least_overall = np.full(clients, np.inf), np.zeros(clients, int), np.inf
    found = session.repeat(session.base)
    for number in range(1, session.budget.rounds + 1):
        state = method.step(session, state, number - 1)
        if session.budget.is_check(number):
            models = method.models(session, state)
            losses = session.held_out_losses(models, number)
            better = losses < least
            if method.single_model:
                overall = method.overall_loss(session, losses)
                better, least_overall = np.full(clients, overall < least_overall), min(overall, least_overall)
            found[better], least[better], rounds[better] = models[better], losses[better], number
            if progress is not None:
                progress(number, session.budget.rounds, float(losses.mean()))
    if method.personal:
        session.restore_personal(found, rounds.tolist())
    return Trained(session, found, least, tuple(rounds.tolist()))


def refit(method: Method, trained: Trained, progress: TrainingProgress | None = None) -> Trained:
    """Train once more for the same number of rounds, with the held-out rows too; the held-out losses stay."""
    recipe = replace(trained.session.recipe, held=False, personal=None)
    session = replace(trained.session, recipe=recipe).with_personal(method.personal)
    session.reset_personal()
    state = method.begin(session)
    found = np.array(trained.models)
    rounds = np.array(trained.rounds)
    for number in range(1, rounds.max() + 1):
        state = method.step(session, state, number - 1)
        here = rounds == number
        if here.any():
            models = method.models(session, state)
            session.held_out_losses(models, number)  # so that clients keep their personal parameters of this round
            found[here] = models[here]
        if progress is not None:
            progress(number, int(rounds.max()), float("nan"))
    if method.personal:
        session.restore_personal(found, rounds.tolist())
    return replace(trained, session=session, models=found)
