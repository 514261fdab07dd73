"""What may be asked of a client about the rows of its table.

Letters in the annotations of arrays name their dimensions; `comity.questions.checks` checks answers by them: V views, K
folds (over all repeats), d parameters, M models, N clients.
"""

from dataclasses import dataclass
from typing import Annotated

from comity.core.arrays import Floats
from comity.questions.schema import ColumnSummary, Schema


@dataclass(frozen=True, slots=True)
class Describe:
    """Asks for a summary of the client's columns, from which a common schema is agreed. Answer: `Description`.

    A summary lists the values of a column only where a model needs them as levels or classes: text columns with at most
    `most_levels` values that occur in two rows on average, so that names and identifiers stay with the client (a
    client that is read with all others, in one process, counts the rows of all); and
    `target`, the column to predict, if it has two values, or up to `most_levels` when it is text or `classes` says that
    its numbers are classes (more than 20 only with two rows each on average); and numbers in the columns `categories`,
    as if they were text.
    """

    target: str
    classes: bool = False
    most_levels: int = 100
    categories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Description:
    """The number of rows of a client, and summaries of its columns.

    `private` says that some answers are clipped or noisy, and `limited` that there is a limit to what the client
    discloses (`AskPrivacy` asks for the rules); `shares_utilities` says whether others may see the client's gains.
    """

    rows: int
    columns: tuple[ColumnSummary, ...]
    private: bool = False
    shares_utilities: bool = False
    limited: bool = False


@dataclass(frozen=True, slots=True)
class Split:
    """How a client splits its rows; its name and the `seed` determine the split.

    There are several *views* of the rows. View 0 has all of them. Views 1 to `judges` each leave out one part, on which
    the models trained on the rest are evaluated. Then come `resamples` bootstrap samples. Within every view, the rows
    are divided into `folds`, `repeats` times. Without `judges`, rows are dealt once: there is one view, and its folds
    evaluate too; a client with few rows has fewer of them.
    """

    folds: int = 5
    repeats: int = 2
    judges: int = 10
    resamples: int = 0
    seed: int = 0

    @property
    def views(self) -> int:
        """The number of views, V."""
        return 1 + self.judges + self.resamples


@dataclass(frozen=True, slots=True)
class Moments:
    """Asks for the moments of the rows in each view and fold. Answer: `MomentsAnswer`.

    `points` (V, d) are the parameters at which the loss is expanded, one for each view; for a number there are none.
    """

    schema: Schema
    split: Split
    points: Floats


@dataclass(frozen=True, slots=True)
class MomentsAnswer:
    """Sums over the rows of each view and fold: the loss of parameters θ is square - 2 cross·θ + θᵀ gram θ.

    For a number y, ``gram`` = Σ x xᵀ, ``cross`` = Σ y x, ``square`` = Σ y², and ``rows`` counts the rows. For other
    tasks they are those of the second-order expansion of the loss; for survival, ``rows`` counts events with others at
    risk, and each fold is a stratum.
    """

    gram: Annotated[Floats, "VKdd"]
    cross: Annotated[Floats, "VKd"]
    square: Annotated[Floats, "VK"]
    rows: Annotated[Floats, "VK"]


@dataclass(frozen=True, slots=True)
class Expand:
    """Asks for the second-order expansions of the loss at a point of every client. Answer: `Expansion`.

    ``points`` hold, for each view, a point for each of N clients. The client that is asked is number `own`: at its own
    point it answers for each fold. For a target of classes only.
    """

    schema: Schema
    split: Split
    points: Annotated[Floats, "VNd"]
    own: int


@dataclass(frozen=True, slots=True)
class Expansion(MomentsAnswer):
    """Moments as in `MomentsAnswer`: of each fold at the client's own point, of all rows at every client's point."""

    whole_gram: Annotated[Floats, "VNdd"]
    whole_cross: Annotated[Floats, "VNd"]


@dataclass(frozen=True, slots=True)
class Slopes:
    """Asks for loss, gradient and curvature at some parameters. Answer: `SlopesAnswer`.

    Each of the M models is evaluated on the rows of one view, whose number is in `views`.
    """

    schema: Schema
    split: Split
    parameters: Annotated[Floats, "Md"]
    views: Annotated[Floats, "M"]


@dataclass(frozen=True, slots=True)
class SlopesAnswer:
    """Sums over the rows for each model: losses, gradients (`slopes`), curvatures, and the number of rows or events."""

    losses: Annotated[Floats, "M"]
    slopes: Annotated[Floats, "Md"]
    curvatures: Annotated[Floats, "Mdd"]
    rows: Annotated[Floats, "M"]


@dataclass(frozen=True, slots=True)
class FitAlone:
    """Asks for the client's own model in every view, with the best of some penalties. Answer: `FitAloneAnswer`."""

    schema: Schema
    split: Split
    penalties: Floats


@dataclass(frozen=True, slots=True)
class FitAloneAnswer:
    """The client's own models, their penalties, chosen by the folds, and their mean cross-validated losses.

    Resamples use the penalty of all rows.
    """

    parameters: Annotated[Floats, "Vd"]
    penalties: Annotated[Floats, "V"]
    losses: Annotated[Floats, "V"]


@dataclass(frozen=True, slots=True)
class FitOwn:
    """Asks for the client's own model, by the evidence of its rows, if it is no ridge regression: `FitOwnAnswer`."""

    schema: Schema
    split: Split


@dataclass(frozen=True, slots=True)
class FitOwnAnswer:
    """The client's own models of all rows and of all but each fold (W of them), and their mean penalties."""

    parameters: Annotated[Floats, "Wd"]
    penalties: Annotated[Floats, "W"]


@dataclass(frozen=True, slots=True)
class PartLosses:
    """Asks for the losses of models on the parts of the rows that they do not know. Answer: `PartLossesAnswer`.

    ``parameters`` (M, K, d) hold, for each of M kinds of model, the K models that were learned without each fold.
    """

    schema: Schema
    split: Split
    parameters: Annotated[Floats, "MKd"]


@dataclass(frozen=True, slots=True)
class PartLossesAnswer:
    """The losses of M kinds of model, summed over the rows of each of K folds."""

    losses: Annotated[Floats, "MK"]


@dataclass(frozen=True, slots=True)
class Evaluate:
    """Asks how well models do on the client's rows by a metric. Answer: `Evaluation`.

    ``parameters`` (M, 1 + judges, d) hold, for each of M kinds of model, the model of all rows and those of the views
    that leave out a part, which are evaluated on that part. ``counted`` (M, judges) is one where a part counts for a
    kind, and zero elsewhere. Gains are measured from the first kind, for which all parts must count. Without judges,
    the parts are the folds.
    """

    schema: Schema
    split: Split
    metric: str
    parameters: Annotated[Floats, "MJd"]
    counted: Floats


@dataclass(frozen=True, slots=True)
class Evaluation:
    """For M kinds of models: values of the metric, gains over the first kind, and standard errors of both.

    What is undefined, such as an AUC on rows of a single class, is NaN.
    """

    values: Annotated[Floats, "M"]
    errors: Annotated[Floats, "M"]
    gains: Annotated[Floats, "M"]
    gain_errors: Annotated[Floats, "M"]


@dataclass(frozen=True, slots=True)
class EvaluateLinear:
    """Asks how well linear models do on the client's test rows by a metric. Answer: `Evaluation`."""

    schema: Schema
    metric: str
    parameters: Annotated[Floats, "Md"]
    seed: int
