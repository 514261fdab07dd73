"""Our own models among the methods: those that clients train alone, those of the coalitions, and each one's best."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from comity.experiments.running import Outcome
from comity.learn import Learned
from comity.questions import Evaluation

OURS = {"alone": 0, "ce": 1, "spo": 2}  # which of the models alone, in the coalition and at best


@dataclass(frozen=True, eq=False)
class Ours:
    """What was learned once, how well its models do on test rows, and how long that took; both methods have it."""

    learned: Learned
    values: dict[str, Evaluation]
    seconds: float

    @classmethod
    def timed(cls, learn: Callable[[], tuple[Learned, dict[str, Evaluation]]]) -> Ours:
        """Return what a function learns, with the time that it takes."""
        began = time.perf_counter()
        return cls(*learn(), seconds=time.perf_counter() - began)


def outcome_of(ours: Ours, kind: int, tuned: int = 0) -> Outcome:
    """Return what one kind of our models attains, with the story that goes with it; `tuned` steps were taken last."""
    learned, values = ours.learned, ours.values
    decision, training = learned.decision, learned.training
    settings = {}
    if training:  # a client's gradients, at most: those of the front, of the model alone, and of tuning
        front = training["steps"] * training["per_step"]
        alone = training["steps_alone"] or training["steps"]
        settings = {"gradients": front + alone + tuned, "of the front": front, "alone": alone, "tuned": tuned}
    return Outcome(
        {client: float(each.values[kind]) for client, each in values.items()},
        alone={client: float(each.values[0]) for client, each in values.items()},
        settings=settings,
        seconds=ours.seconds,
        story={
            "coalitions": [sorted(each) for each in decision.equilibrium.coalitions],
            "edges": [list(edge) for edge in decision.graph.edges()],
            "equilibrium": decision.equilibrium.to_dict(),
            "verdict": learned.certificate.verdict.value,
            "errors": {client: float(each.errors[kind]) for client, each in values.items()},
            "gain_errors": {client: float(each.gain_errors[kind]) for client, each in values.items()},
        },
    )
