"""Fronts and models of a federation, for each kind of target: what is asked of clients, and in how many rounds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from comity.collaborators import Search
from comity.decide import Decision
from comity.federation import Federation
from comity.figures import KINDS
from comity.fronts.convex import ConvexFront, Wanted, quadratic_fronts
from comity.fronts.quadratic import QuadraticFront
from comity.questions import FitAlone, FitAloneAnswer, Split
from comity.schema import Schema
from comity.simplex import Floats

OWN_PENALTIES = np.logspace(-6, 1, 8)  # among these a client's own model of classes has its penalty
_ROUNDS_TO_POOL = 8
_ROUNDS_TO_EXPAND = 5
_ROUNDS_TO_FIT = 10
_MOST_TO_EXPAND = 2e6  # numbers in the expansions at every client's point: beyond that one point does for all

Tell = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Fitting(ABC):
    """How fronts and models come from a federation that has agreed on a schema; `say` hears how far it is."""

    federation: Federation
    schema: Schema
    split: Split
    per_client: bool
    penalties: Floats
    say: Tell

    @abstractmethod
    def fronts(self) -> tuple[QuadraticFront, ...]:
        """Return the front of every view."""

    @abstractmethod
    def models(self, fronts: tuple[QuadraticFront, ...], decisions: list[Decision]) -> tuple[Floats, Floats]:
        """Return models (4, V, N, d) and their penalties (4, V, N), of all `KINDS`."""


@dataclass(frozen=True)
class Regression(Fitting):
    """For a number: exact, from one round of moments."""

    def fronts(self) -> tuple[QuadraticFront, ...]:
        """Return the front of every view."""
        self.say("asking for moments", 0, 1)
        nowhere = np.empty((0, len(self.schema.features) + 1))
        return quadratic_fronts(
            self.federation, self.schema.to_json(), self.split, nowhere, outputs=1, per_client=self.per_client
        )

    def models(self, fronts: tuple[QuadraticFront, ...], decisions: list[Decision]) -> tuple[Floats, Floats]:
        """Return models (4, V, N, d) and their penalties (4, V, N)."""
        points = [list(decision.points.values()) for decision in decisions]
        models = [
            [front.models(np.arange(len(at.weights)), at.weights, at.log_penalty) for at in each]
            for front, each in zip(fronts, points, strict=True)
        ]
        penalties = [[np.exp(at.log_penalty) for at in each] for each in points]
        return np.array(models).swapaxes(0, 1), np.array(penalties).swapaxes(0, 1)


@dataclass(frozen=True)
class Classes(Fitting):
    """For classes: searched on expansions, trained exactly."""

    @property
    def _front(self) -> ConvexFront:
        classes = len(self.schema.target.classes)
        outputs = 1 if classes == 2 else classes
        size = (len(self.schema.features) + 1) * outputs
        return ConvexFront(self.federation, self.schema.to_json(), self.split.to_json(), size, outputs, self.per_client)

    @cached_property
    def _own(self) -> dict[str, FitAloneAnswer]:
        """Each client's own models, asked for once."""
        self.say("training alone", 0, 1)
        return self.federation.ask(FitAlone(self.schema.to_json(), self.split.to_json(), self.penalties))

    def fronts(self) -> tuple[QuadraticFront, ...]:
        """Return the front of every view."""
        own = list(self._own.values())
        points = self._front.pooled(_ROUNDS_TO_POOL, partial(self.say, "training on all rows"))
        self.say("asking for curvatures", 0, 1)
        fronts = self._told(self._front.expand(points))
        clients = len(own)
        if clients**2 * points.shape[1] ** 2 > _MOST_TO_EXPAND:
            return fronts
        # Where each client's search leads, its losses are expanded again: that is where the choice will be.
        search = Search(strengths=(0.0,), penalty=float(self.penalties[0]) if len(self.penalties) == 1 else None)
        everybody, face = np.arange(clients), np.ones((clients, clients), np.bool_)
        trained = []
        for view, front in enumerate(fronts[: len(points)]):
            with threadpool_limits(1):
                at = search.best(front.trials(everybody), face)
            start = front.models(everybody, at.weights, at.log_penalty)
            trained.append(Wanted(at.weights, np.exp(at.log_penalty), np.full(clients, view), start))
        found = self._front.newton(_together(trained), _ROUNDS_TO_EXPAND, partial(self.say, "training for each"))
        self.say("asking for curvatures", 0, 1)
        return self._told(self._front.expand_at(found.reshape(len(points), clients, -1)))

    def _told(self, fronts: tuple[QuadraticFront, ...]) -> tuple[QuadraticFront, ...]:
        """Return fronts with what is known exactly of every client alone.

        An expansion does not see that nearly separable rows want extreme parameters. What shrinks parameters is the
        penalty times the rows: so much as the client's own rows ask for is kept when those of others are added.
        """
        own = list(self._own.values())
        told = []
        for view, front in enumerate(fronts):
            rows = front.rows.sum(axis=1)
            penalties = np.array([answer.penalties[view] for answer in own])
            told.append(
                replace(
                    front,
                    alone_losses=np.array([answer.losses[view] for answer in own]),
                    least_penalty=np.maximum(penalties * rows / rows.sum(), self.penalties.min()),
                )
            )
        return tuple(told)

    def models(self, fronts: tuple[QuadraticFront, ...], decisions: list[Decision]) -> tuple[Floats, Floats]:
        """Return models (4, V, N, d) and their penalties (4, V, N)."""
        views = len(fronts)
        alone = np.stack([answer.parameters[:views] for answer in self._own.values()], axis=1)
        own_penalties = np.stack([answer.penalties[:views] for answer in self._own.values()], axis=1)
        models = np.stack([alone] * len(KINDS))
        penalties = np.stack([own_penalties] * len(KINDS))
        places: list[tuple[int, int, Any]] = []
        wanted = []
        for view, (front, decision) in enumerate(zip(fronts, decisions, strict=True)):
            for kind, name in enumerate(KINDS):
                at = decision.points[name]
                starts = front.models(np.arange(len(at.weights)), at.weights, at.log_penalty)
                for client in _sharing(name, at.weights):
                    one = slice(client, client + 1)
                    penalty = np.exp(at.log_penalty[one])
                    if name != "together":
                        least = self._least(front, own_penalties[view, client], at.weights[client], client)
                        penalty = np.maximum(penalty, least)
                    places.append((kind, view, client if name != "together" else slice(None)))
                    wanted.append(Wanted(at.weights[one], penalty, np.array([view]), starts[one]))
        found = self._front.newton(_together(wanted), _ROUNDS_TO_FIT, partial(self.say, "training together"))
        for place, model, each in zip(places, found, wanted, strict=True):
            models[place], penalties[place] = model, each.penalties[0]
        return models, penalties

    def _least(self, front: QuadraticFront, own: float, weights: Floats, client: int) -> float:
        """Return the least penalty for a model of several clients, from what the client's own needs: see `_told`."""
        if len(self.penalties) == 1:
            return float(self.penalties[0])
        rows = front.rows.sum(axis=1) / front.repeats
        gathered = weights @ front.total_rows / max((weights * front.unit).max(), 1e-300)
        return float(max(own * min(rows[client] / gathered, 1.0), self.penalties.min()))


def _sharing(kind: str, weights: Floats) -> list[int]:
    """Return whose models (N, N) of a kind are to be trained: of one that is the same for all, the first."""
    if kind == "together":
        return [0]
    return np.flatnonzero(weights.sum(axis=1) > np.diag(weights)).tolist()


def _together(wanted: list[Wanted]) -> Wanted:
    names = ("weights", "penalties", "views", "start")
    return Wanted(*(np.concatenate([getattr(each, name) for each in wanted]) for name in names))
