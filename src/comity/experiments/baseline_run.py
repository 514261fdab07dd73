"""A baseline on a task: the rate chosen on rows held out, the models trained, and tried on the rows to test with."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from comity.baselines import METHODS, Method, Session, Trained, refit, train
from comity.errors import InputError, TrainingError
from comity.experiments.running import Outcome, Tell
from comity.questions import Evaluation


@dataclass(frozen=True, slots=True)
class BaselineRun:
    """How baselines are run: with which `rates`, and whether models are trained `again` with the rows held out too.

    `settings` are those of single methods, by name; among them may be `rates` of its own, and `steps`: how many a
    client takes in a round, of which there are as many more or fewer then. The rate whose models lose least on rows
    held out is taken, with the first seed; other seeds have the same. Where there are several, each is tried with a
    part of the rounds, if `trial` is less than 1, and only the best is trained whole; if that fails, the next best.
    """

    rates: tuple[float, ...]
    again: bool = True
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    trial: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.trial <= 1:
            raise InputError(f"a trial takes {self.trial:g} of the rounds; it must be more than 0, and 1 at most")

    def run(self, name: str, session: Session, metric: str, before: dict[str, Any], tell: Tell) -> Outcome:
        """Run a method on a session, and return what clients have on their test rows; nothing, if it does not train."""
        own = dict(self.settings.get(name, {}))
        rates = own.pop("rates", self.rates)
        if "rate" in before:
            rates = (before["rate"],)
        if "steps" in own:
            session = replace(session, budget=session.budget.in_steps_of(own.pop("steps")))
        method = replace(METHODS[name], **own)
        try:
            tried = self._tried(name, method, session, rates, tell)
            rate, judged = self._best(name, method, session, metric, tried or rates, tell)
        except TrainingError as error:
            nothing = dict.fromkeys(session.clients, math.nan)
            return Outcome(nothing, story={"failed": str(error)})
        settings = {**asdict(method), "rate": rate, "gradients": session.budget.rounds * session.budget.steps}
        if tried:
            settings["trials"] = {f"{each:g}": lost for each, lost in tried.items()}
        return Outcome(
            {client: float(each.values[0]) for client, each in judged.items()},
            settings=settings,
            story={"errors": {client: float(each.errors[0]) for client, each in judged.items()}},
        )

    def _tried(
        self, name: str, method: Method, session: Session, rates: Sequence[float], tell: Tell
    ) -> dict[float, float]:
        """Return what is lost on rows held out at each rate after a trial, the best first; nothing, if none is made."""
        if self.trial == 1 or len(rates) < 2:
            return {}
        rounds = max(1, round(self.trial * session.budget.rounds))
        short = replace(session, budget=replace(session.budget, rounds=rounds))
        lost, failed = {}, None
        for rate in rates:
            try:
                trained = _trained(f"{name}, a trial", method, short, rate, tell)
            except TrainingError as error:
                failed = error
                continue
            lost[rate] = _overall(method, short, trained)
        if failed is not None and not lost:
            raise failed
        return dict(sorted(lost.items(), key=lambda each: each[1]))

    def _best(
        self, name: str, method: Method, session: Session, metric: str, rates: Iterable[float], tell: Tell
    ) -> tuple[float, dict[str, Evaluation]]:
        """Return the rate that is best on rows held out, and how well its models do; where none trains, it fails.

        After trials, it is the first that trains.
        """
        found: tuple[float, float, Trained, dict[str, Evaluation]] | None = None
        failed: TrainingError | None = None
        for rate in rates:
            try:
                trained = _trained(name, method, session, rate, tell)
            except TrainingError as error:
                failed = error
                continue
            lost = _overall(method, session, trained)
            if found is None or lost < found[0]:
                # Judged at once: what is personal to clients is that of the last training.
                found = lost, rate, trained, trained.session.judge(trained.models, metric)
            if self.trial < 1:
                break
        if found is None:
            assert failed is not None
            raise failed
        _, rate, trained, judged = found
        if self.again:
            trained = refit(method, trained)
            judged = trained.session.judge(trained.models, metric)
        return rate, judged


def _trained(name: str, method: Method, session: Session, rate: float, tell: Tell) -> Trained:
    """Return what a method trains at a rate."""

    def hear(done: int, of: int, loss: float) -> None:
        tell(f"{name} at the rate {rate:g} (loss {loss:.3g})", done, of)

    return train(method, replace(session, budget=replace(session.budget, rate=rate)), hear)


def _overall(method: Method, session: Session, trained: Trained) -> float:
    """Return what models lose on rows held out: as the method has it for one model, or the mean over clients."""
    return method.overall(session, trained.held) if method.one_for_all else float(trained.held.mean())
