"""From a made-up federation to its front, and from a model to its true loss."""

from dataclasses import dataclass, replace

import numpy as np

from comity.core.arrays import Floats
from comity.core.likelihood import predict_linear
from comity.families.family import silent
from comity.families.glm.convex_front import ConvexFront
from comity.families.glm.estimation import OWN_PENALTIES, Classes, Regression
from comity.families.glm.quadratic_front import QuadraticFront
from comity.federation import InProcess
from comity.questions import Describe
from comity.questions.schema import Schema, agree
from comity.research.datasets.synthetic import TARGET, Synthetic
from comity.rows.encoding import encode
from comity.study import Study

# As a study of few clients has it, but without judges: there is one view, that of all rows.
SPLIT = replace(Study(TARGET, search="spo").split(6), judges=0)


@dataclass(frozen=True)
class Asked:
    """A federation that has agreed on a schema."""

    synthetic: Synthetic
    federation: InProcess
    schema: Schema

    @classmethod
    def of(cls, synthetic: Synthetic) -> "Asked":
        federation = InProcess(synthetic.clients())
        summaries = {client: answer.columns for client, answer in federation.ask(Describe(TARGET)).items()}
        return cls(synthetic, federation, agree(summaries, TARGET).schema)

    @property
    def convex(self) -> ConvexFront:
        return ConvexFront(self.federation, self.schema, SPLIT)

    def front(self) -> QuadraticFront:
        """The front of all rows, as `learn` has it: exact, or expanded where each client's search leads."""
        if self.synthetic.task == "classes":
            return Classes(self.convex, OWN_PENALTIES, silent).fronts()[0]
        return Regression(self.convex, silent).fronts()[0]


def true_losses(synthetic: Synthetic, schema: Schema, models: Floats) -> Floats:
    """Return the expected loss of each client's model (N, d), on fresh rows."""
    rows = synthetic.test_rows()
    features = encode(rows, schema)
    return np.array(
        [
            synthetic.true_loss(
                client,
                rows,
                predict_linear(features, model, len(schema.target.classes), schema.target.mean, schema.target.scale),
            )
            for client, model in enumerate(models)
        ]
    )
