"""comity's own models among the methods: alone, in the coalition, and with all clients willing."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from comity.core.kinds import ModelKind
from comity.questions import Evaluation
from comity.research.experiments.task import Outcome
from comity.solving.findings import Findings

COMITY_METHODS = {"alone": ModelKind.ALONE, "ce": ModelKind.COALITION, "spo": ModelKind.BEST}
"""The kind of model that each of comity's methods evaluates."""


@dataclass(frozen=True, eq=False)
class ComityRun:
    """One search, which gives the models of all of comity's methods, their evaluation on test rows, and its time."""

    learned: Findings
    evaluations: Mapping[str, Evaluation]
    seconds: float

    @classmethod
    def timed(cls, learn: Callable[[], tuple[Findings, Mapping[str, Evaluation]]]) -> ComityRun:
        """Return the run of a function that learns and evaluates, with its time."""
        began = time.perf_counter()
        return cls(*learn(), seconds=time.perf_counter() - began)

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
