"""What a baseline is, and the loop that all of them run in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from comity.baselines.session import Part, Session
from comity.questions import Tensors
from comity.simplex import Floats

Tell = Callable[[int, int, float], None]


@dataclass(frozen=True)
class Method(ABC):
    """A way to train models for N clients, in rounds. Its fields are its settings; what it learns is in the state."""

    personal: ClassVar[Part] = ""
    """Which part of the module never leaves its client."""
    one_for_all: ClassVar[bool] = False
    """Whether all clients have the same model."""

    @abstractmethod
    def begin(self, session: Session) -> Any:
        """Return the state before the first round."""

    @abstractmethod
    def go_on(self, session: Session, state: Any, number: int) -> Any:
        """Return the state after one more round, before which there were `number`."""

    def overall(self, session: Session, lost: Floats) -> float:
        """Return what a method with one model for all wants least of, from what clients lose (N,): the mean a row."""
        return float(session.shares @ lost)

    @abstractmethod
    def models(self, session: Session, state: Any) -> Tensors:
        """Return the clients' models (N, D)."""


@dataclass(frozen=True, eq=False)
class Trained:
    """Models (N, D) that were trained in a `session`, what each loses (N,) on rows held out, and after which round.

    What is personal to clients stays there: models are judged before the next training by the same recipe, which
    begins it anew.
    """

    session: Session
    models: Tensors
    held: Floats
    rounds: tuple[int, ...]


def train(method: Method, session: Session, tell: Tell | None = None) -> Trained:
    """Train by a method, and keep the models that were best on rows held out: of every client, or of all together."""
    session = session.keeping(method.personal)
    session.begin()
    state = method.begin(session)
    clients = len(session.clients)
    held, rounds, best = np.full(clients, np.inf), np.zeros(clients, int), np.inf
    found = np.tile(session.base, (clients, 1))
    for number in range(1, session.budget.rounds + 1):
        state = method.go_on(session, state, number - 1)
        if session.budget.is_check(number):
            models = method.models(session, state)
            lost = session.held(models, number)
            better = lost < held
            if method.one_for_all:
                overall = method.overall(session, lost)
                better, best = np.full(clients, overall < best), min(overall, best)
            found[better], held[better], rounds[better] = models[better], lost[better], number
            if tell is not None:
                tell(number, session.budget.rounds, float(lost.mean()))
    if method.personal:
        session.go_back(found, rounds.tolist())
    return Trained(session, found, held, tuple(rounds.tolist()))


def refit(method: Method, trained: Trained, tell: Tell | None = None) -> Trained:
    """Train once more, with the rows that were held out too, to the same rounds; what was lost on these stays told."""
    recipe = replace(trained.session.recipe, held=False, personal=None)
    session = replace(trained.session, recipe=recipe).keeping(method.personal)
    session.begin()
    state = method.begin(session)
    found = np.array(trained.models)
    rounds = np.array(trained.rounds)
    for number in range(1, rounds.max() + 1):
        state = method.go_on(session, state, number - 1)
        here = rounds == number
        if here.any():
            models = method.models(session, state)
            session.held(models, number)
            found[here] = models[here]
        if tell is not None:
            tell(number, int(rounds.max()), float("nan"))
    if method.personal:
        session.go_back(found, rounds.tolist())
    return replace(trained, session=session, models=found)
