"""What may be asked of a client about the rows of its table."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from comity.questions.arrays import Floats


@dataclass(frozen=True, slots=True)
class Describe:
    """What are your columns? Answered by a `Description`, from which a common schema is agreed.

    Different values are told only where a model needs them as levels or classes: of columns of text with at most
    `most_levels`, each standing in two rows on average, so that names and identifiers stay where they are; and of
    `target`, the column to be predicted, if it has two values, or as many as `most_levels` when `classes` says that
    numbers are classes too.
    """

    target: str
    classes: bool = False
    most_levels: int = 100


@dataclass(frozen=True, slots=True)
class Description:
    """A client's columns in summary: one JSON object a column, no row.

    If it is `private`, some of its answers are clipped or noisy, and it tells by what rules (`TellPrivacy`);
    `shares_utilities` says whether others may see what it gains.
    """

    rows: int
    columns: str
    private: bool = False
    shares_utilities: bool = False


@dataclass(frozen=True, slots=True)
class Split:
    """How a client's rows are split, which it does by itself: its name and `seed` determine everything.

    There are several *views* of the rows. View 0 is all of them. Views 1 to `judges` each leave out one part, which
    judges what was trained and chosen on the rest. Then come `resamples` views: as many rows drawn with replacement.
    Inside every view, rows fall into `folds` parts, `repeats` times over, to choose by.
    """

    folds: int = 5
    repeats: int = 2
    judges: int = 10
    resamples: int = 0
    seed: int = 0

    @property
    def views(self) -> int:
        """How many views there are."""
        return 1 + self.judges + self.resamples

    def to_json(self) -> str:
        """Return the split as JSON."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Split:
        """Return the split that was written as JSON."""
        return cls(**json.loads(text))


@dataclass(frozen=True, slots=True)
class Moments:
    """What are the moments of your rows, in each view and fold? Answered by a `MomentsAnswer`.

    `schema` says how rows become numbers, `split` what views and folds are (both JSON). For a target of classes,
    `points` (V, d) holds the parameters, a view each, about which the loss is expanded; for a number it is empty.
    """

    schema: str
    split: str
    points: Floats


@dataclass(frozen=True, slots=True)
class MomentsAnswer:
    """Sums over the rows of each of V views and K folds, for d parameters θ: the loss is square - 2 cross·θ + θᵀgram θ.

    For a number y that is ``gram`` = Σ x xᵀ of shape (V, K, d, d), ``cross`` = Σ y x of shape (V, K, d), ``square`` =
    Σ y² and ``rows``, each of shape (V, K). For classes it is the second-order expansion of the loss.
    """

    gram: Floats
    cross: Floats
    square: Floats
    rows: Floats


@dataclass(frozen=True, slots=True)
class Expand:
    """What are the expansions of your loss at every client's point? Answered by an `Expansion`.

    ``points`` (V, N, d): of each view, a point for each of N clients; yours is number `own`, and for that one the folds
    are wanted apart. For a target of classes only.
    """

    schema: str
    split: str
    points: Floats
    own: int


@dataclass(frozen=True, slots=True)
class Expansion:
    """Moments as in `MomentsAnswer`: at the own point of each fold, and at all N points of all rows together.

    ``gram`` (V, K, d, d), ``cross`` (V, K, d), ``square`` (V, K), ``rows`` (V, K); ``whole_gram`` (V, N, d, d) and
    ``whole_cross`` (V, N, d).
    """

    gram: Floats
    cross: Floats
    square: Floats
    rows: Floats
    whole_gram: Floats
    whole_cross: Floats


@dataclass(frozen=True, slots=True)
class Slopes:
    """What are your loss, its slope and its curvature at these parameters? Answered by a `SlopesAnswer`.

    `parameters` (M, d), each for the rows of a view (M,), given as a number.
    """

    schema: str
    split: str
    parameters: Floats
    views: Floats


@dataclass(frozen=True, slots=True)
class SlopesAnswer:
    """Sums over rows for M models: ``losses`` (M,), ``slopes`` (M, d), ``curvatures`` (M, d, d), ``rows`` (M,)."""

    losses: Floats
    slopes: Floats
    curvatures: Floats
    rows: Floats


@dataclass(frozen=True, slots=True)
class FitAlone:
    """What is your own best model in every view, the penalty chosen among these by the folds? `FitAloneAnswer`."""

    schema: str
    split: str
    penalties: Floats


@dataclass(frozen=True, slots=True)
class FitAloneAnswer:
    """The client's own models: ``parameters`` (V, d), ``penalties`` (V,), and mean ``losses`` (V,) where folds judge.

    Resamples have the penalty of all rows.
    """

    parameters: Floats
    penalties: Floats
    losses: Floats


@dataclass(frozen=True, slots=True)
class Evaluate:
    """How well do these models do on your rows, by this metric? Answered by an `Evaluation`.

    ``parameters`` (M, 1 + judges, d): of each of M kinds, the model of all rows and those of the views that leave out
    a part; that part judges them. ``counted`` (M, judges) says by ones and zeros which parts judge which kind. The
    first kind, that all parts judge, is the one from which gains are measured.
    """

    schema: str
    split: str
    metric: str
    parameters: Floats
    counted: Floats


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Of M kinds of models: ``values`` of the metric, ``gains`` over the first, and standard errors of both, (M,) each.

    What cannot be said, such as an AUC where there is one class only, is not a number.
    """

    values: Floats
    errors: Floats
    gains: Floats
    gain_errors: Floats


@dataclass(frozen=True, slots=True)
class JudgeLinear:
    """How well do these linear models (M, d) do on the rows that you have to test with? Answered by an `Evaluation`."""

    schema: str
    metric: str
    parameters: Floats
    seed: int
