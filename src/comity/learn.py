"""The whole way through a federation: schema, fronts, decisions in every view, models, and how well they do.

Everything that is learned about rows is asked of the federation, in few rounds: three for a number, some twenty for
classes, however many clients there are.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from threading import Event

import numpy as np
from threadpoolctl import threadpool_limits

from comity.certificate import Certificate
from comity.collaborators import Search
from comity.core import Game
from comity.decide import Decision, decide
from comity.descent import Points
from comity.errors import InputError
from comity.federation import Federation
from comity.fronts.convex import ConvexFront, Wanted, quadratic_fronts
from comity.fronts.quadratic import QuadraticFront
from comity.fronts.simplex import Booleans, Floats
from comity.metrics import DEFAULT, METRICS
from comity.prove import prove
from comity.questions import Describe, Description, Evaluate, Evaluation, FitAlone, FitAloneAnswer, Split
from comity.schema import Agreement, ColumnSummary, Schema, agree
from comity.study import Study

_ROUNDS_TO_POOL = 8
_ROUNDS_TO_EXPAND = 5
_ROUNDS_TO_FIT = 10
_MOST_TO_EXPAND = 2e6  # numbers in the expansions at every client's point: beyond that one point does for all
_MANY = 50  # clients: with fewer, arrays are so small that threads would only wait for each other
PENALTIES = np.logspace(-6, 1, 8)

Tell = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learned: the decision, each client's three models, how well they do, and on what it all rests.

    `models` (3, N, d) are those alone, in the coalition, and at best; `evaluations` say how well each client's do;
    `game` has the utilities that were measured, by which
    `certificate` proves the decision; `resampled` the decisions on resampled rows.
    """

    schema: Schema
    metric: str
    split: Split
    rows: dict[str, int]
    decision: Decision
    game: Game
    certificate: Certificate
    models: Floats
    penalties: Floats
    evaluations: dict[str, Evaluation]
    resampled: tuple[Decision, ...] = ()
    left_out: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def learn(federation: Federation, study: Study, tell: Tell | None = None) -> Learned:
    """Learn who should train with whom, and with what models."""
    say = tell or (lambda stage, done, of: None)
    say("asking for the columns", 0, 1)
    rows, agreement, metric = agree_on(federation, study)
    schema, clients = agreement.schema, federation.clients
    split, search = study.split(len(clients)), study.search()
    _check_rows(rows, split)
    fitting = _Regression if schema.target.task == "regression" else _Classes
    penalties = PENALTIES if study.penalty is None else np.array([study.penalty])
    fit = fitting(federation, schema, split, study.weights == "client", penalties, say)
    fronts = fit.fronts()
    with threadpool_limits(1):
        decisions = _decide_all(fronts, clients, search, split, say)
    say("measuring for the proof", 0, 1)
    with threadpool_limits(1):
        game, certificate = prove(fronts[0], decisions[0], search)
    models, penalties = fit.models(fronts[: 1 + split.judges], decisions[: 1 + split.judges])
    say("evaluating", 0, 1)
    joined = np.stack([_joined(decision) for decision in decisions[: 1 + split.judges]])
    # A client that stays alone in the end is alone in every view: that is what it gets. What one gains that does not is
    # judged where it did so without the rows that judge; where it stayed alone there is nothing to judge, and if that
    # is everywhere, nothing can be said.
    for kind in (1, 2):
        lonely = ~joined[0, kind]
        models[kind][:, lonely], penalties[kind][:, lonely] = models[0][:, lonely], penalties[0][:, lonely]
    counted = joined[1:] | ~joined[0]
    # Who has in its coalition all that it wanted has one model, and one figure.
    same = (decisions[0].sets == decisions[0].wishes).all(axis=1) & joined[0, 1]
    models[2][:, same], penalties[2][:, same], counted[:, 2, same] = (
        models[1][:, same],
        penalties[1][:, same],
        (counted[:, 1, same]),
    )
    questions = {
        client: Evaluate(
            schema.to_json(),
            split.to_json(),
            metric,
            np.ascontiguousarray(models[:, :, place]),
            np.ascontiguousarray(counted[:, :, place].T.astype(np.float64)),
        )
        for place, client in enumerate(clients)
    }
    return Learned(
        schema=schema,
        metric=metric,
        split=split,
        rows=rows,
        decision=decisions[0],
        game=game,
        certificate=certificate,
        models=models[:, 0],
        penalties=penalties[:, 0],
        evaluations=federation.ask(questions),
        resampled=tuple(decisions[1 + split.judges :]),
        left_out=agreement.left_out,
        warnings=agreement.warnings,
    )


def _decide_all(
    fronts: tuple[QuadraticFront, ...], clients: tuple[str, ...], search: Search, split: Split, say: Tell
) -> list[Decision]:
    """Decide in every view; with many clients, in as many views at the same time as there are processors.

    Views know nothing of each other, and with large arrays numpy leaves the interpreter to others while it computes.
    """

    def stage(view: int) -> str:
        if view == 0:
            return "finding collaborators"
        return "judging honestly" if view <= split.judges else "resampling"

    if len(clients) < _MANY:
        decisions = []
        for view, front in enumerate(fronts):
            say(stage(view), view, len(fronts))
            decisions.append(decide(front, clients, search))
        return decisions
    stop = Event()

    def go_on(done: int, of: int) -> None:
        if stop.is_set():
            raise _StoppedError

    with ThreadPoolExecutor(min(os.cpu_count() or 1, len(fronts))) as pool:
        try:
            going = [pool.submit(decide, front, clients, search, progress=go_on) for front in fronts]
            decisions = []
            for view, each in enumerate(going):
                say(stage(view), view, len(fronts))
                decisions.append(each.result())
        except BaseException:  # such as an interrupt: threads end at their next batch
            stop.set()
            for each in going:
                each.cancel()
            raise
    return decisions


def _joined(decision: Decision) -> Booleans:
    """Return for each kind of model which clients share one (3, N)."""
    together = [len(decision.equilibrium.coalition_of(client)) > 1 for client in decision.clients]
    wanting = decision.wishes.sum(axis=1) > 1
    return np.stack([np.zeros_like(wanting), np.array(together), wanting])


class _StoppedError(Exception):
    """What ends a thread whose result nobody waits for any more."""


def agree_on(federation: Federation, study: Study) -> tuple[dict[str, int], Agreement, str]:
    """Ask for the columns, and return rows, schema and metric."""
    if len(federation.clients) < 2:
        raise InputError("there is one client only; there is nobody to train with")
    answers: dict[str, Description] = federation.ask(Describe(study.target, classes=study.task == "classes"))
    told = {
        client: tuple(ColumnSummary(**column) for column in json.loads(answer.columns))
        for client, answer in answers.items()
    }
    task = study.task or (METRICS[study.metric].task if study.metric else None)
    agreement = agree(told, study.target, task=task, exclude=study.exclude)
    metric = study.metric or DEFAULT[agreement.schema.target.task]
    return {client: answer.rows for client, answer in answers.items()}, agreement, metric


def _check_rows(rows: dict[str, int], split: Split) -> None:
    needed = max(2 * split.folds, split.judges)
    for client, count in rows.items():
        if count < needed:
            raise InputError(
                f"client {client!r} has {count} rows, too few for {split.folds} folds and {split.judges} judges "
                f"(it takes {needed}); leave it out, or take fewer folds and judges"
            )


@dataclass(frozen=True)
class _Regression:
    """Fronts and models for a number: exact, from one round of moments."""

    federation: Federation
    schema: Schema
    split: Split
    per_client: bool
    penalties: Floats
    say: Tell

    def fronts(self) -> tuple[QuadraticFront, ...]:
        self.say("asking for moments", 0, 1)
        nowhere = np.empty((0, len(self.schema.features) + 1))
        return quadratic_fronts(
            self.federation, self.schema.to_json(), self.split, nowhere, outputs=1, per_client=self.per_client
        )

    def models(self, fronts: tuple[QuadraticFront, ...], decisions: list[Decision]) -> tuple[Floats, Floats]:
        """Return models (3, V, N, d) and their penalties (3, V, N)."""
        points = [_points(decision) for decision in decisions]
        models = [
            [front.models(np.arange(len(at.weights)), at.weights, at.log_penalty) for at in each]
            for front, each in zip(fronts, points, strict=True)
        ]
        penalties = [[np.exp(at.log_penalty) for at in each] for each in points]
        return np.array(models).swapaxes(0, 1), np.array(penalties).swapaxes(0, 1)


@dataclass(frozen=True)
class _Classes:
    """Fronts and models for classes: searched on expansions, trained exactly."""

    federation: Federation
    schema: Schema
    split: Split
    per_client: bool
    penalties: Floats
    say: Tell

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
        """Return models (3, V, N, d) and their penalties (3, V, N)."""
        views = len(fronts)
        alone = np.stack([answer.parameters[:views] for answer in self._own.values()], axis=1)
        own_penalties = np.stack([answer.penalties[:views] for answer in self._own.values()], axis=1)
        models = np.stack([alone, alone, alone])
        penalties = np.stack([own_penalties, own_penalties, own_penalties])
        places, wanted = [], []
        for view, (front, decision) in enumerate(zip(fronts, decisions, strict=True)):
            _, *others = _points(decision)
            for kind, at in enumerate(others, start=1):
                starts = front.models(np.arange(len(at.weights)), at.weights, at.log_penalty)
                for client in np.flatnonzero(at.weights.sum(axis=1) > np.diag(at.weights)).tolist():
                    one = slice(client, client + 1)
                    least = self._least(front, own_penalties[view, client], at.weights[client], client)
                    penalty = np.maximum(np.exp(at.log_penalty[one]), least)
                    places.append((kind, view, client))
                    wanted.append(Wanted(at.weights[one], penalty, np.array([view]), starts[one]))
        if wanted:
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


def _points(decision: Decision) -> tuple[Points, Points, Points]:
    return decision.alone, decision.coalition, decision.best


def _together(wanted: list[Wanted]) -> Wanted:
    names = ("weights", "penalties", "views", "start")
    return Wanted(*(np.concatenate([getattr(each, name) for each in wanted]) for name in names))
