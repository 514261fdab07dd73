"""One baseline on a task: its rate is chosen on held-out rows, and its models are evaluated on test rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from comity.core.progress import Progress
from comity.errors import TrainingError
from comity.questions import Evaluation
from comity.research.baselines import METHODS, Method, Session, Trained, refit, train
from comity.research.experiments.task import Outcome


@dataclass(frozen=True, slots=True)
class BaselineRun:
    """How baselines are run: at which `rates`, and whether models are refitted with the held-out rows.

    `settings` are those of single methods, by name. They may include `rates`, and `steps`: the steps of a round, whose
    number changes so that the gradients in all stay the same. The rate with the lowest held-out loss is taken. If the
    refit fails at that rate, the models of the first training are evaluated.
    """

    rates: tuple[float, ...]
    refit: bool = True
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def run(self, name: str, session: Session, metric: str, progress: Progress) -> Outcome:
        """Run a method on a session and return the clients' values; these are NaN if it does not train."""
        own = dict(self.settings.get(name, {}))
        rates = own.pop("rates", self.rates)
        if "steps" in own:
            session = replace(session, budget=session.budget.with_steps(own.pop("steps")))
        method = replace(METHODS[name], **own)
        try:
            rate, evaluations, details = self._best(name, method, session, metric, rates, progress)
        except TrainingError as error:
            return Outcome(dict.fromkeys(session.clients, math.nan), details={"failed": str(error)})
        gradients = session.budget.rounds * session.budget.steps
        errors = {client: float(evaluation.errors[0]) for client, evaluation in evaluations.items()}
        return Outcome(
            {client: float(evaluation.values[0]) for client, evaluation in evaluations.items()},
            settings={**asdict(method), "rate": rate, "gradients": gradients},
            details={"errors": errors, **details},
        )

    def _best(
        self, name: str, method: Method, session: Session, metric: str, rates: Sequence[float], progress: Progress
    ) -> tuple[float, dict[str, Evaluation], dict[str, str]]:
        """Return the rate with the lowest held-out loss, the evaluation of its models, and further details.

        Raises the last error if the method trains at no rate.
        """
        best: tuple[float, float, Trained, dict[str, Evaluation]] | None = None
        failure: TrainingError | None = None
        for rate in rates:
            budget = replace(session.budget, rate=rate)

            def advance(done: int, total: int, loss: float, rate: float = rate) -> None:
                progress(f"{name} at the rate {rate:g} (loss {loss:.3g})", done, total)

            try:
                trained = train(method, replace(session, budget=budget), advance)
            except TrainingError as error:
                failure = error
                continue
            losses = trained.held_out_losses
            loss = method.overall_loss(session, losses) if method.single_model else float(losses.mean())
            if best is None or loss < best[0]:
                # Evaluated at once: clients keep the personal parameters of the last training only.
                best = loss, rate, trained, trained.session.judge(trained.models, metric)
        if best is None:
            assert failure is not None
            raise failure
        _, rate, trained, evaluations = best
        if not self.refit:
            return rate, evaluations, {}
        try:
            trained = refit(method, trained)
        except TrainingError as error:
            return rate, evaluations, {"refit failed": str(error)}
        return rate, trained.session.judge(trained.models, metric), {}
