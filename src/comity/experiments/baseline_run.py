"""A baseline on a task: the rate chosen on rows held out, the models trained, and tried on the rows to test with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from comity.baselines import METHODS, Method, Session, Trained, refit, train
from comity.errors import TrainingError
from comity.experiments.running import Outcome, Tell
from comity.questions import Evaluation


@dataclass(frozen=True, slots=True)
class BaselineRun:
    """How baselines are run: with which `rates`, and whether models are trained `again` with the rows held out too.

    `settings` are those of single methods, by name; among them may be `rates` of its own, and `steps`: how many a
    client takes in a round, of which there are as many more or fewer then. The rate whose models lose least on rows
    held out is taken. If they do not train again at that rate, they are told as they were trained first.
    """

    rates: tuple[float, ...]
    again: bool = True
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def run(self, name: str, session: Session, metric: str, tell: Tell) -> Outcome:
        """Run a method on a session, and return what clients have on their test rows; nothing, if it does not train."""
        own = dict(self.settings.get(name, {}))
        rates = own.pop("rates", self.rates)
        if "steps" in own:
            session = replace(session, budget=session.budget.in_steps_of(own.pop("steps")))
        method = replace(METHODS[name], **own)
        try:
            rate, judged, told = self._best(name, method, session, metric, rates, tell)
        except TrainingError as error:
            nothing = dict.fromkeys(session.clients, math.nan)
            return Outcome(nothing, story={"failed": str(error)})
        gradients = session.budget.rounds * session.budget.steps
        return Outcome(
            {client: float(each.values[0]) for client, each in judged.items()},
            settings={**asdict(method), "rate": rate, "gradients": gradients},
            story={"errors": {client: float(each.errors[0]) for client, each in judged.items()}, **told},
        )

    def _best(
        self, name: str, method: Method, session: Session, metric: str, rates: Sequence[float], tell: Tell
    ) -> tuple[float, dict[str, Evaluation], dict[str, str]]:
        """Return the rate that is best on rows held out, how well its models do, and what else is to be told.

        Where no rate trains, it fails.
        """
        found: tuple[float, float, Trained, dict[str, Evaluation]] | None = None
        failed: TrainingError | None = None
        for rate in rates:
            budget = replace(session.budget, rate=rate)

            def hear(done: int, of: int, loss: float, rate: float = rate) -> None:
                tell(f"{name} at the rate {rate:g} (loss {loss:.3g})", done, of)

            try:
                trained = train(method, replace(session, budget=budget), hear)
            except TrainingError as error:
                failed = error
                continue
            lost = method.overall(session, trained.held) if method.one_for_all else float(trained.held.mean())
            if found is None or lost < found[0]:
                # Judged at once: what is personal to clients is that of the last training.
                found = lost, rate, trained, trained.session.judge(trained.models, metric)
        if found is None:
            assert failed is not None
            raise failed
        _, rate, trained, judged = found
        if not self.again:
            return rate, judged, {}
        try:
            trained = refit(method, trained)
        except TrainingError as error:
            return rate, judged, {"not trained again": str(error)}
        return rate, trained.session.judge(trained.models, metric), {}
