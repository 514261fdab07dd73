"""The whole way through a federation: schema, fronts, decisions in every view, models, and how well they do.

Everything that is learned about rows is asked of the federation, in few rounds: three for a number, some twenty for
classes, however many clients there are.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from comity.certificate import Certificate
from comity.collaborators import Search
from comity.core import Game
from comity.decide import Decision, decide
from comity.errors import InputError
from comity.federation import Federation
from comity.fitting import OWN_PENALTIES, Classes, Regression, Tell
from comity.fronts.quadratic import QuadraticFront
from comity.metrics import DEFAULT, METRICS
from comity.prove import prove
from comity.questions import Describe, Description, Evaluate, Evaluation, PrivacyTold, Split, TellPrivacy
from comity.schema import Agreement, ColumnSummary, Schema, agree
from comity.searching import OnFront
from comity.simplex import Booleans, Floats
from comity.study import Study

_HARDLY = 0.5  # of the parts judge, and it is worth a warning
_MANY = 50  # clients: with fewer, arrays are so small that threads would only wait for each other


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learned: the decision, each client's four models, how well they do, and on what it all rests.

    `models` (4, N, d) are those of all `KINDS`; `evaluations` say how well each client's do;
    `game` has the utilities that were measured, by which `certificate` proves the decision; `resampled` the decisions
    on resampled rows; `training` how networks were trained; `privacy` what clients with clipped or noisy answers say of
    their rules, and of what they have spent.
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
    training: dict[str, Any] = field(default_factory=dict)
    privacy: dict[str, Any] = field(default_factory=dict)


def learn(federation: Federation, study: Study, tell: Tell | None = None) -> Learned:
    """Learn who should train with whom, and with what models."""
    say = tell or (lambda stage, done, of: None)
    clients, search = federation.clients, study.search()
    search.check(len(clients))
    say("asking for the columns", 0, 1)
    described = describe_all(federation, study)
    rows, agreement, metric = agree_by(described, study)
    schema, split = agreement.schema, study.split(len(clients))
    _check_rows(rows, split)
    fitting = Regression if schema.target.task == "regression" else Classes
    penalties = OWN_PENALTIES if study.penalty is None else np.array([study.penalty])
    fit = fitting(federation, schema, split, study.weights == "client", penalties, say)
    fronts = fit.fronts()
    with threadpool_limits(1):
        decisions = _decide_all(fronts, clients, search, split, say)
    say("measuring for the proof", 0, 1)
    with threadpool_limits(1):
        game, certificate = prove(OnFront(fronts[0], search), decisions[0])
    models, penalties = fit.models(fronts[: 1 + split.judges], decisions[: 1 + split.judges])
    say("evaluating", 0, 1)
    joined, counted = _share_models(decisions[: 1 + split.judges], models, penalties)
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
    evaluations = federation.ask(questions)
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
        evaluations=evaluations,
        resampled=tuple(decisions[1 + split.judges :]),
        left_out=agreement.left_out,
        warnings=(*agreement.warnings, *_hardly_judged(clients, rows, joined[1], counted[:, 1])),
        privacy=ask_privacy(federation, private_of(described)),
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
            decisions.append(decide(OnFront(front, search), clients))
        return decisions
    stop = Event()

    def go_on(done: int, of: int) -> None:
        if stop.is_set():
            raise _StoppedError

    with ThreadPoolExecutor(min(os.cpu_count() or 1, len(fronts))) as pool:
        try:
            going = [pool.submit(decide, OnFront(front, search), clients, progress=go_on) for front in fronts]
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


def _share_models(decisions: list[Decision], models: Floats, penalties: Floats) -> tuple[Booleans, Booleans]:
    """Give a client one model where it has one, in `models` (4, V, N, d) and `penalties` (4, V, N) of V views.

    Return who shares a model in the end (4, N), and which views judge which kind of model (V - 1, 4, N). A client that
    stays alone in the end is alone in every view: that is what it gets. What one gains that does not is judged where it
    joined without the rows that judge; where it stayed alone there is nothing to judge, and if that is everywhere,
    nothing can be said. Who has in its coalition all that it wanted has one model, and one figure.
    """
    joined = np.stack([_sharing(decision) for decision in decisions])
    for kind in (1, 2):
        lonely = ~joined[0, kind]
        models[kind][:, lonely], penalties[kind][:, lonely] = models[0][:, lonely], penalties[0][:, lonely]
    counted = joined[1:] | ~joined[0]
    same = (decisions[0].sets == decisions[0].wishes).all(axis=1) & joined[0, 1]
    models[2][:, same], penalties[2][:, same] = models[1][:, same], penalties[1][:, same]
    counted[:, 2, same] = counted[:, 1, same]
    return joined[0], counted


def _sharing(decision: Decision) -> Booleans:
    """Return for each kind of model which clients share one (4, N)."""
    together = [len(decision.equilibrium.coalition_of(client)) > 1 for client in decision.clients]
    wanting = decision.wishes.sum(axis=1) > 1
    return np.stack([np.zeros_like(wanting), np.array(together), wanting, np.ones_like(wanting)])


def _hardly_judged(
    clients: tuple[str, ...], rows: dict[str, int], joined: Booleans, counted: Booleans
) -> Iterator[str]:
    """Say who joined (N,) but would not have without most of the parts (J, N) that should judge what it gains."""
    for client, joins, share in zip(clients, joined, counted.mean(axis=0), strict=True):
        if joins and 0 < share < _HARDLY:  # nothing at all shows in its figures
            yield (
                f"client {client!r} would stay alone without some of its rows: what it gains is judged on "
                f"{share * rows[client]:.0f} of {rows[client]}, and may be nothing"
            )


class _StoppedError(Exception):
    """What ends a thread whose result nobody waits for any more."""


def agree_on(federation: Federation, study: Study) -> tuple[dict[str, int], Agreement, str]:
    """Ask for the columns, and return rows, schema and metric."""
    return agree_by(describe_all(federation, study), study)


def describe_all(federation: Federation, study: Study) -> dict[str, Description]:
    """Ask all clients for their columns."""
    if len(federation.clients) < 2:
        raise InputError("there is one client only; there is nobody to train with")
    return federation.ask(Describe(study.target, classes=study.task == "classes"))


def private_of(described: dict[str, Description]) -> tuple[str, ...]:
    """Return the clients that say that some of their answers are clipped or noisy."""
    return tuple(client for client, answer in described.items() if answer.private)


def ask_privacy(federation: Federation, clients: tuple[str, ...]) -> dict[str, Any]:
    """Ask clients by what rules they answer and what they have spent; where there are none, it costs no round."""
    if not clients:
        return {}
    answers: dict[str, PrivacyTold] = federation.ask(TellPrivacy(), clients)
    return {client: json.loads(answer.stated) for client, answer in answers.items()}


def agree_by(answers: dict[str, Description], study: Study) -> tuple[dict[str, int], Agreement, str]:
    """Return rows, schema and metric by what clients said of their columns."""
    told = {
        client: tuple(ColumnSummary(**column) for column in json.loads(answer.columns))
        for client, answer in answers.items()
    }
    task = study.task or (METRICS[study.metric].task if study.metric else None)
    agreement = agree(told, study.target, task=task, exclude=study.exclude, keep=study.keep)
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
