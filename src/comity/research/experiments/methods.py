"""The methods to compare, and how each is run: the baselines, and comity's own models."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from comity.core.kinds import ModelKind
from comity.core.progress import Progress
from comity.errors import TrainingError
from comity.questions import Evaluation
from comity.research.baselines import METHODS, Method, Session, Trained, refit, train
from comity.research.experiments.cells import Outcome
from comity.solving.findings import Findings

COMITY_METHODS = {"alone": ModelKind.ALONE, "ce": ModelKind.COALITION, "spo": ModelKind.BEST}
"""The kind of model that each of comity's methods evaluates."""
ALL_METHODS = (*METHODS, *COMITY_METHODS)


def default_settings() -> dict[str, Any]:
    """Return the default settings of the baselines: cells that were made with other defaults are not reused."""
    return {name: asdict(method) for name, method in METHODS.items()}


@dataclass(frozen=True, eq=False)
class ComityRun:
    """One search, which gives the models of all of comity's methods, their evaluation on test rows, and its time."""

    learned: Findings
    evaluations: Mapping[str, Evaluation]
    seconds: float

    def outcome(self, method: str, fine_tune: int = 0) -> Outcome:
        """Return the outcome of one of comity's methods; `fine_tune` is how many steps of fine-tuning were taken."""
        kind, alone = (list(ModelKind).index(each) for each in (COMITY_METHODS[method], ModelKind.ALONE))
        decision, training = self.learned.decision, self.learned.fit.training
        settings = {}
        if training:  # gradients of a client at most: of the front, of the model alone, and of fine-tuning
            front = training["steps"] * training["per_step"]
            own = training["steps_alone"] or training["steps"]
            settings = {
                "gradients": front + own + fine_tune,
                "front gradients": front,
                "alone gradients": own,
                "fine-tuning gradients": fine_tune,
            }
        evaluations = self.evaluations.items()
        return Outcome(
            {client: float(evaluation.values[kind]) for client, evaluation in evaluations},
            alone={client: float(evaluation.values[alone]) for client, evaluation in evaluations},
            settings=settings,
            seconds=self.seconds,
            details={
                "coalitions": [sorted(coalition) for coalition in decision.equilibrium.coalitions],
                "edges": [list(edge) for edge in decision.graph.edges()],
                "equilibrium": decision.equilibrium.to_dict(),
                "verdict": self.learned.certificate.verdict.value,
                "errors": {client: float(evaluation.errors[kind]) for client, evaluation in evaluations},
                "gain_errors": {client: float(evaluation.gain_errors[kind]) for client, evaluation in evaluations},
            },
        )


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
