"""The steps of a study, the same for every family of models: fit, decide, prove, evaluate."""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from threading import Event
from typing import Any

from threadpoolctl import threadpool_limits

from comity.core.progress import Progress
from comity.core.wording import mention
from comity.deciding.borrow import Borrowed, borrow
from comity.deciding.decision import Decision, decide
from comity.deciding.exhaustive import check_exhaustive
from comity.deciding.proof import prove
from comity.deciding.searcher import Searcher
from comity.errors import InputError
from comity.families.family import Evaluated, Fit, Request
from comity.families.glm.priors import Priors
from comity.families.problem import Problem, state_problem
from comity.families.registry import FAMILIES
from comity.federation import Federation
from comity.game.certificate import Certificate
from comity.game.game import Game
from comity.questions import AskPrivacy, PrivacyAnswer, Split, to_plain

_MIN_CLIENTS_FOR_THREADS = 50  # with fewer, arrays are so small that threads would only wait for each other


@dataclass(frozen=True, eq=False)
class Findings:
    """What a study found.

    Attributes:
        problem: What is to be learned.
        fit: The models of the family for this federation.
        decision: Who collaborates with whom, on all rows.
        game: The utilities that were measured.
        certificate: The proof that the decision is stable, or what refutes it.
        evaluated: The models, and how well they do.
        resampled: The decisions on resampled rows.
        privacy: The rules and the spent budgets that clients with clipped or noisy answers report.
        disclosure: What clients with a limit to it have disclosed so far, and the limit.
    """

    problem: Problem
    fit: Fit
    decision: Decision | Borrowed
    game: Game
    certificate: Certificate
    evaluated: Evaluated
    resampled: tuple[Decision, ...] = ()
    privacy: Mapping[str, Any] = field(default_factory=dict)
    disclosure: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What users should know."""
        return (*self.problem.warnings, *self.evaluated.warnings)

    def priors(self) -> Mapping[str, Priors]:
        """Return what each client fits its personal models with, at its own side; empty if clients fit none."""
        return self.fit.priors(self.decision) if isinstance(self.decision, Borrowed) else {}


def learn(request: Request) -> Findings:
    """Learn from tables who should train with whom, and with what models."""
    request.study.search_settings().check(len(request.federation.clients))
    request.progress("asking for the columns", 0, 1)
    problem = state_problem(request.federation, request.study)
    if request.study.search != "borrow" and (without := [name for name, rows in problem.rows.items() if not rows]):
        raise InputError(
            f"client {without[0]!r} has no rows, or too few for its policy; leave it out "
            f"({mention('without', without)}), or take {mention('search', 'borrow')}"
        )
    return find(request, problem, FAMILIES[request.study.model].fit(request, problem))


def find(request: Request, problem: Problem, fit: Fit) -> Findings:
    """Decide with the models of a fit who should train with whom, prove it, and evaluate the models."""
    federation, progress, split = request.federation, request.progress, fit.split
    request.study.search_settings().check(len(federation.clients))  # not after hours of training
    if request.study.search == "exhaustive":
        check_exhaustive(request.study.search_settings(), len(federation.clients))
    if request.study.search == "borrow":
        return _borrow(request, problem, fit)
    searchers = fit.searchers()
    decide_on = partial(decide, clients=federation.clients, exhaustive=request.study.search == "exhaustive")
    with threadpool_limits(1):
        decisions = _decide_all(decide_on, searchers, split, progress)
        progress("measuring for the proof", 0, 1)
        game, certificate = prove(searchers[0], decisions[0])
    return Findings(
        problem=problem,
        fit=fit,
        decision=decisions[0],
        game=game,
        certificate=certificate,
        evaluated=fit.evaluate(decisions),
        resampled=tuple(decisions[1 + split.judges :]),
        privacy=ask_privacy(federation, problem.private)[0],
    )


def _borrow(request: Request, problem: Problem, fit: Fit) -> Findings:
    """Decide with borrowed strength."""
    federation = request.federation
    with threadpool_limits(1 if len(federation.clients) < _MIN_CLIENTS_FOR_THREADS else None):
        lender = fit.lender()
        request.progress("finding collaborators", 1, 2)
        decision = borrow(lender, federation.clients, request.study.worth)
    evaluated = fit.evaluate_borrowed(decision)
    privacy, disclosure = ask_privacy(federation, problem.private, problem.limited)
    return Findings(
        problem=problem,
        fit=fit,
        decision=decision,
        game=decision.game,
        certificate=decision.certificate,
        evaluated=evaluated,
        privacy=privacy,
        disclosure=disclosure,
    )


def ask_privacy(
    federation: Federation, private: Sequence[str], limited: Sequence[str] = ()
) -> tuple[dict[str, Any], dict[str, dict[str, float]]]:
    """Ask clients by what rules they answer; if there are none, it costs no round.

    Returns:
        What clients with clipped or noisy answers have spent, and what clients with a limit to it have disclosed.
    """
    asked = tuple(dict.fromkeys((*private, *limited)))
    if not asked:
        return {}, {}
    answers: dict[str, PrivacyAnswer] = federation.ask(AskPrivacy(), asked)
    spent = {client: to_plain(answers[client].statement) for client in private}
    return spent, {
        client: {"disclosed": each.disclosed, "limit": each.disclosure}
        for client in limited
        if (each := answers[client].statement).disclosure is not None
    }


def _decide_all(
    decide_on: Callable[..., Decision], searchers: Sequence[Searcher], split: Split, progress: Progress
) -> list[Decision]:
    """Decide in every view; with many clients, in as many views at the same time as there are processors.

    Views are independent, and numpy releases the interpreter's lock while it computes with large arrays.
    """

    def stage(view: int) -> str:
        if view == 0:
            return "finding collaborators"
        return "deciding without held-out rows" if view <= split.judges else "resampling"

    decisions = []
    if searchers[0].clients < _MIN_CLIENTS_FOR_THREADS or len(searchers) == 1:
        for view, searcher in enumerate(searchers):
            progress(stage(view), view, len(searchers))
            decisions.append(decide_on(searcher))
        return decisions
    stop = Event()

    def check_stop(done: int, total: int) -> None:
        if stop.is_set():
            raise _StoppedError

    with ThreadPoolExecutor(min(os.cpu_count() or 1, len(searchers))) as pool:
        try:
            running = [pool.submit(decide_on, searcher, progress=check_stop) for searcher in searchers]
            for view, future in enumerate(running):
                progress(stage(view), view, len(searchers))
                decisions.append(future.result())
        except BaseException:  # such as an interrupt: threads end at their next batch
            stop.set()
            for future in running:
                future.cancel()
            raise
    return decisions


class _StoppedError(Exception):
    """Ends a thread whose result is no longer needed."""
