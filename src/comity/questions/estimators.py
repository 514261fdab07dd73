"""What may be asked of a client about estimators: models with `fit` and `predict` that clients train on their rows.

Letters in the annotations of arrays name their dimensions; `comity.questions.checks` checks answers by them: N clients,
K folds, d parameters of a stack (a weight for each client's model, and the intercepts), M kinds of models, B bytes. A
star stands for any dimensions.
"""

from dataclasses import dataclass
from typing import Annotated

from comity.core.arrays import Bytes, Floats
from comity.questions.schema import Schema
from comity.questions.tables import Split


@dataclass(frozen=True, slots=True)
class FitEstimator:
    """Asks for the client's own model, trained on all its rows. Answer: `FitEstimatorAnswer`.

    `estimator` is what to train (`comity.families.estimator.files`).
    """

    schema: Schema
    split: Split
    estimator: Annotated[Bytes, "*"]


@dataclass(frozen=True, slots=True)
class FitEstimatorAnswer:
    """The client's own model as a file; no bytes if it has no rows."""

    model: Annotated[Bytes, "B"]


@dataclass(frozen=True, slots=True)
class AboutStacks:
    """What all questions about stacks say: the models of all clients, one file after the other, and the client's place.

    `sizes` (N,) are the bytes of each file. The model of the client itself, number `own`, is replaced by one that did
    not know the rows it is judged on.
    """

    schema: Schema
    split: Split
    estimator: Annotated[Bytes, "*"]
    models: Annotated[Bytes, "*"]
    sizes: Annotated[Floats, "N"]
    own: int


@dataclass(frozen=True, slots=True)
class StackMoments(AboutStacks):
    """Asks for the moments of the models' predictions over each part of the rows. Answer: `MomentsAnswer`.

    For classes, `points` (V, d) is the stack at which the loss is expanded; for a number it is empty.
    """

    points: Annotated[Floats, "*d"]


@dataclass(frozen=True, slots=True)
class StackLosses(AboutStacks):
    """Asks for the log losses of stacks (M, K, d) on the parts that they do not know. Answer: `PartLossesAnswer`."""

    parameters: Annotated[Floats, "MKd"]


@dataclass(frozen=True, slots=True)
class EvaluateStacks(AboutStacks):
    """Asks how well stacks do by a metric, as `Evaluate` does. Answer: `Evaluation`."""

    metric: str
    parameters: Annotated[Floats, "MJd"]
    counted: Floats


@dataclass(frozen=True, slots=True)
class TestStacks(AboutStacks):
    """Asks how well stacks do on the client's test rows by a metric, as `EvaluateLinear` does. Answer: `Evaluation`."""

    metric: str
    parameters: Annotated[Floats, "Md"]
