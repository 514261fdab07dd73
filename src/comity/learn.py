"""The whole way through a federation: schema, fronts, decisions in every view, models, and how well they do.

Everything that is learned about rows is asked of the federation, in few rounds: three for a number, some twenty for
classes, however many clients there are.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from threading import Event

import numpy as np

from comity.collaborators import Search
from comity.decide import Decision, Measured, decide, measure
from comity.descent import Points
from comity.errors import InputError
from comity.federation import Federation
from comity.fronts.convex import ConvexFront, Wanted, quadratic_fronts
from comity.fronts.quadratic import QuadraticFront
from comity.fronts.simplex import Floats
from comity.metrics import DEFAULT, METRICS
from comity.questions import Describe, Description, Evaluate, Evaluation, FitAlone, FitAloneAnswer, Split
from comity.schema import Agreement, ColumnSummary, Schema, agree
from comity.study import Study

KINDS = ("alone", "coalition", "best")
_ROUNDS_TO_POOL = 12
_ROUNDS_TO_FIT = 12
_LEAST_PENALTY = 1e-6
_MANY = 50  # clients: with fewer, arrays are so small that threads would only wait for each other
PENALTIES = np.logspace(-6, 1, 15)

Tell = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learned: the decision, each client's three models, how well they do, and on what it all rests.

    `models` (3, N, d) are those alone, in the coalition, and at best; `evaluations` say how well each client's do;
    `measured` are the losses that prove the decision; `resampled` the decisions on resampled rows.
    """

    schema: Schema
    metric: str
    split: Split
    rows: dict[str, int]
    decision: Decision
    measured: tuple[Measured, ...]
    models: Floats
    penalties: Floats
    evaluations: dict[str, Evaluation]
    resampled: tuple[Decision, ...] = ()
    warnings: tuple[str, ...] = field(default=())


def learn(federation: Federation, study: Study, tell: Tell | None = None) -> Learned:
    """Learn who should train with whom, and with what models."""
    say = tell or (lambda stage, done, of: None)
    say("asking for the columns", 0, 1)
    rows, agreement, metric = _agree(federation, study)
    schema, clients = agreement.schema, federation.clients
    split, search = study.split(len(clients)), study.search()
    _check_rows(rows, split)
    fitting = _Regression if schema.target.task == "regression" else _Classes
    fit = fitting(federation, schema, split, study.weights == "client", say)
    fronts = fit.fronts()
    decisions = _decide_all(fronts, clients, search, split, say)
    say("measuring for the proof", 0, 1)
    measured = measure(fronts[0], decisions[0], search)
    models, penalties = fit.models(fronts[: 1 + split.judges], decisions[: 1 + split.judges])
    # A client that stays alone in the end is alone in every view: that is what it gets.
    for place, client in enumerate(clients):
        if len(decisions[0].equilibrium.coalition_of(client)) == 1:
            models[1, :, place], penalties[1, :, place] = models[0, :, place], penalties[0, :, place]
    say("evaluating", 0, 1)
    questions = {
        client: Evaluate(schema.to_json(), split.to_json(), metric, np.ascontiguousarray(models[:, :, place]))
        for place, client in enumerate(clients)
    }
    return Learned(
        schema=schema,
        metric=metric,
        split=split,
        rows=rows,
        decision=decisions[0],
        measured=measured,
        models=models[:, 0],
        penalties=penalties[:, 0],
        evaluations=federation.ask(questions),
        resampled=tuple(decisions[1 + split.judges :]),
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


class _StoppedError(Exception):
    """What ends a thread whose result nobody waits for any more."""


def _agree(federation: Federation, study: Study) -> tuple[dict[str, int], Agreement, str]:
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
            [front.models(at.weights, at.log_penalty) for at in each]
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
    say: Tell

    @property
    def _front(self) -> ConvexFront:
        classes = len(self.schema.target.classes)
        outputs = 1 if classes == 2 else classes
        size = (len(self.schema.features) + 1) * outputs
        return ConvexFront(self.federation, self.schema.to_json(), self.split.to_json(), size, outputs, self.per_client)

    def fronts(self) -> tuple[QuadraticFront, ...]:
        points = self._front.pooled(_ROUNDS_TO_POOL, partial(self.say, "training on all rows"))
        self.say("asking for curvatures", 0, 1)
        return self._front.expand(points)

    def models(self, fronts: tuple[QuadraticFront, ...], decisions: list[Decision]) -> tuple[Floats, Floats]:
        """Return models (3, V, N, d) and their penalties (3, V, N)."""
        self.say("training alone", 0, 1)
        split, schema = self.split.to_json(), self.schema.to_json()
        own: dict[str, FitAloneAnswer] = self.federation.ask(FitAlone(schema, split, PENALTIES))
        alone = np.stack([own[client].parameters for client in self.federation.clients], axis=1)
        own_penalties = np.stack([own[client].penalties for client in self.federation.clients], axis=1)
        models = np.stack([alone, alone, alone])
        penalties = np.stack([own_penalties, own_penalties, own_penalties])
        places, wanted = [], []
        for view, (front, decision) in enumerate(zip(fronts, decisions, strict=True)):
            _, *others = _points(decision)
            for kind, at in enumerate(others, start=1):
                starts = front.models(at.weights, at.log_penalty)
                same = kind == 2 and np.array_equal(at.weights, others[0].weights)
                for client in np.flatnonzero((at.weights > 0).sum(axis=1) > 1).tolist():
                    penalty = max(float(np.exp(at.log_penalty[client])), _LEAST_PENALTY)
                    places.append((kind, view, client))
                    wanted.append((at.weights[client], penalty, view, starts[client], same))
        if wanted:
            weights, values, views, starts, _ = zip(*wanted, strict=True)
            asked = Wanted(np.stack(weights), np.array(values), np.array(views), np.stack(starts))
            found = self._front.newton(asked, _ROUNDS_TO_FIT, partial(self.say, "training together"))
            for place, model, penalty in zip(places, found, values, strict=True):
                models[place], penalties[place] = model, penalty
        return models, penalties


def _points(decision: Decision) -> tuple[Points, Points, Points]:
    return decision.alone, decision.coalition, decision.best
