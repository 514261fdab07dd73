"""From a made-up federation to its front, and from a model to its true loss."""

import json
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from comity.datasets.synthetic import TARGET, Synthetic
from comity.encoding import encode, predict
from comity.federation import InProcess
from comity.fitting import OWN_PENALTIES, Classes
from comity.fronts.convex import ConvexFront, quadratic_fronts
from comity.fronts.quadratic import QuadraticFront
from comity.questions import Describe
from comity.schema import ColumnSummary, Schema, agree
from comity.study import Study

Floats = NDArray[np.float64]
# As a study of few clients has it, but without judges: there is one view, that of all rows.
SPLIT = replace(Study(TARGET).split(6), judges=0)


@dataclass(frozen=True)
class Asked:
    """A federation that has agreed on a schema."""

    synthetic: Synthetic
    federation: InProcess
    schema: Schema

    @classmethod
    def of(cls, synthetic: Synthetic) -> "Asked":
        federation = InProcess(synthetic.clients())
        told = {
            client: tuple(ColumnSummary(**column) for column in json.loads(answer.columns))
            for client, answer in federation.ask(Describe(TARGET)).items()
        }
        return cls(synthetic, federation, agree(told, TARGET).schema)

    @property
    def convex(self) -> ConvexFront:
        size = len(self.schema.features) + 1
        return ConvexFront(self.federation, self.schema.to_json(), SPLIT.to_json(), size, 1)

    def front(self) -> QuadraticFront:
        """The front of all rows, as `learn` has it: exact, or expanded where each client's search leads."""
        if self.synthetic.task == "classes":
            fit = Classes(self.federation, self.schema, SPLIT, False, OWN_PENALTIES, lambda stage, done, of: None)
            return fit.fronts()[0]
        nowhere = np.empty((0, len(self.schema.features) + 1))
        return quadratic_fronts(self.federation, self.schema.to_json(), SPLIT, nowhere, outputs=1, per_client=False)[0]


def true_losses(synthetic: Synthetic, schema: Schema, models: Floats) -> Floats:
    """Return the expected loss of each client's model (N, d), on fresh rows."""
    rows = synthetic.test_rows()
    features = encode(rows, schema)
    return np.array(
        [
            synthetic.true_loss(client, rows, predict(features, schema.target, model))
            for client, model in enumerate(models)
        ]
    )
