"""Our own models among the methods: those of the coalitions, and each client's best."""

from __future__ import annotations

from comity.experiments.running import Outcome
from comity.learn import Learned
from comity.questions import Evaluation

OURS = {"ce": 1, "spo": 2}  # which of the models alone, in the coalition and at best


def outcome_of(learned: Learned, values: dict[str, Evaluation], kind: int) -> Outcome:
    """Return what one kind of our models attains, with the story that goes with it."""
    decision = learned.decision
    return Outcome(
        {client: float(each.values[kind]) for client, each in values.items()},
        alone={client: float(each.values[0]) for client, each in values.items()},
        story={
            "coalitions": [sorted(each) for each in decision.equilibrium.coalitions],
            "edges": [list(edge) for edge in decision.graph.edges()],
            "equilibrium": decision.equilibrium.to_dict(),
            "verdict": learned.certificate.verdict.value,
            "errors": {client: float(each.errors[kind]) for client, each in values.items()},
            "gain_errors": {client: float(each.gain_errors[kind]) for client, each in values.items()},
        },
    )
