"""The closed list of what may be asked of a client, and the answers: the whole wire.

A question or an answer is a frozen dataclass of numbers, texts, lists of these, and arrays; nothing else can be sent.
`pack` turns one into plain values and arrays, `unpack` turns them back, and neither can run code: there is no pickle.
To add a question, write its dataclass and that of its answer, and add a line to `QUESTIONS`.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comity.core import InputError

Floats = NDArray[np.float64]
Tensors = NDArray[Any]  # parameters of networks, of 32 or 64 bits


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
    """A client's columns in summary: one JSON object a column, no row."""

    rows: int
    columns: str


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
class Gradients:
    """What are your mean loss and its gradient at these models, on the rows of a step? `GradientsAnswer`.

    ``parameters`` (M, D), each of the network (fold) of that number (M,). ``shares`` (M,) say how much you count in
    each: with them you train what is personal to you, at the `rate`.
    """

    recipe: str
    parameters: Tensors
    networks: Floats
    shares: Floats
    step: int
    rate: float


@dataclass(frozen=True, slots=True)
class GradientsAnswer:
    """Mean ``losses`` (M,) on the rows of a step, and their ``gradients`` (M, D)."""

    losses: Floats
    gradients: Tensors


@dataclass(frozen=True, slots=True)
class LocalSteps:
    """Where do these hypernetworks go in so many steps on your rows alone? Answered by a `LocalStepsAnswer`.

    ``parameters`` (K, P) of the `network` (JSON), ``rays`` (S, R, N) for S steps; you are number `own` of N clients.
    """

    recipe: str
    network: str
    parameters: Tensors
    rays: Floats
    own: int
    step: int
    rate: float


@dataclass(frozen=True, slots=True)
class LocalStepsAnswer:
    """The sum of S gradients (K, P), which is how far the parameters went, and mean ``losses`` (S, K, R)."""

    change: Tensors
    losses: Floats


@dataclass(frozen=True, slots=True)
class HeldLosses:
    """What do these models lose on the rows that you hold out to choose by? Answered by a `HeldLossesAnswer`.

    ``parameters`` (M, D), each of the network (fold) of that number (M,). Before you answer, what is personal to you
    goes back to what it was when you were asked this at the step `back_to` (0: to the beginning; -1: it stays), and
    then it is kept as that of this `step`.
    """

    recipe: str
    parameters: Tensors
    networks: Floats
    step: int
    back_to: int


@dataclass(frozen=True, slots=True)
class HeldLossesAnswer:
    """Mean ``losses`` (M,)."""

    losses: Floats


@dataclass(frozen=True, slots=True)
class TrainAlone:
    """What is your model, trained on your rows alone in so many steps? Answered by a `TrainAloneAnswer`.

    It begins as ``parameters``, a model (D,), or one for each network (K, D): what trained on rows that a network holds
    out must not be its beginning.

    `kind` is ``alone`` for the model by yourself, or that of a model to be tuned further (``coalition``, ``best``):
    what is personal to you is kept for each.
    """

    recipe: str
    kind: str
    parameters: Tensors
    steps: int
    rate: float


@dataclass(frozen=True, slots=True)
class TrainAloneAnswer:
    """The model (D,), and its mean ``loss`` (1,) on rows held out from it."""

    parameters: Tensors
    loss: Floats


@dataclass(frozen=True, slots=True)
class SearchFront:
    """What do you choose on this front? You search by yourself, on the rows that you hold out. Answered by `Found`.

    ``parameters`` (K, P) of the `network` (JSON) are the front; ``counts`` (N,) turn weights into shares; you are
    number `own`, and lose `alone` by yourself. `task` is ``choose`` or ``best`` on faces (P, N); ``confined`` to them
    from ``start`` (P, N); or ``errors`` between ``start`` and ``other`` (P, N). `search` (JSON) and `strength` say how.
    """

    recipe: str
    network: str
    parameters: Tensors
    counts: Floats
    own: int
    alone: float
    task: str
    search: str
    strength: float
    faces: Floats
    start: Floats
    other: Floats


@dataclass(frozen=True, slots=True)
class Found:
    """What was found on P faces: the set chosen, the best point and the client alone.

    ``sets`` (P, N) as ones and zeros, ``weights`` (3, P, N), ``losses`` (3, P), ``tolerance`` (P,) and ``errors`` (P,);
    what was not asked for is zero.
    """

    sets: Floats
    weights: Floats
    losses: Floats
    tolerance: Floats
    errors: Floats


@dataclass(frozen=True, slots=True)
class JudgeModels:
    """How well do these models (3, D), alone, in the coalition and at best, do by this metric? An `Evaluation`.

    The rows that you keep to judge say it. `heads` (a JSON list) names for each the kind whose personal part goes with
    it: that of the model alone, where a client has no other.
    """

    recipe: str
    metric: str
    parameters: Tensors
    heads: str


QUESTIONS: dict[str, tuple[type[Any], type[Any]]] = {
    "describe": (Describe, Description),
    "moments": (Moments, MomentsAnswer),
    "expand": (Expand, Expansion),
    "slopes": (Slopes, SlopesAnswer),
    "fit-alone": (FitAlone, FitAloneAnswer),
    "evaluate": (Evaluate, Evaluation),
    "gradients": (Gradients, GradientsAnswer),
    "local-steps": (LocalSteps, LocalStepsAnswer),
    "held-losses": (HeldLosses, HeldLossesAnswer),
    "train-alone": (TrainAlone, TrainAloneAnswer),
    "search-front": (SearchFront, Found),
    "judge-models": (JudgeModels, Evaluation),
}
RECORDS: dict[str, type[Any]] = {record.__name__: record for pair in QUESTIONS.values() for record in pair}


_ARRAYS: dict[Any, tuple[np.dtype[Any], ...]] = {
    "Floats": (np.dtype(np.float64),),
    "Tensors": (np.dtype(np.float32), np.dtype(np.float64)),
}


@dataclass(frozen=True, slots=True)
class Packed:
    """A question or an answer as it is sent: its kind, a JSON object of plain values, and named arrays."""

    kind: str
    plain: str
    arrays: dict[str, NDArray[Any]]

    @property
    def size(self) -> int:
        """How many bytes it takes on the wire, without what a transport adds."""
        return len(self.plain.encode()) + sum(array.nbytes for array in self.arrays.values())


def pack(record: object) -> Packed:
    """Return a question or an answer as it is sent.

    >>> pack(Describe(target="died"))
    Packed(kind='Describe', plain='{"classes": false, "most_levels": 100, "target": "died"}', arrays={})
    """
    kind = type(record).__name__
    if RECORDS.get(kind) is not type(record):
        raise InputError(f"{record!r} is neither a question nor an answer; there are {', '.join(RECORDS)}")
    plain: dict[str, Any] = {}
    arrays: dict[str, NDArray[Any]] = {}
    for field in fields(record):  # type: ignore[arg-type]
        value = getattr(record, field.name)
        if isinstance(value, np.ndarray):
            arrays[field.name] = value
        else:
            plain[field.name] = value
    return Packed(kind, json.dumps(plain, sort_keys=True), arrays)


def unpack(packed: Packed) -> Any:
    """Return the question or the answer that was packed, having checked that it has just its fields."""
    record = RECORDS.get(packed.kind)
    if record is None:
        raise InputError(f"{packed.kind!r} is neither a question nor an answer; there are {', '.join(RECORDS)}")
    values = {**json.loads(packed.plain), **packed.arrays}
    if values.keys() != {field.name for field in fields(record)}:
        raise InputError(
            f"a {packed.kind} has the fields {sorted(f.name for f in fields(record))}, not {sorted(values)}"
        )
    for field in fields(record):
        is_array = isinstance(values[field.name], np.ndarray)
        if is_array != (field.type in _ARRAYS):
            raise InputError(f"{field.name!r} of a {packed.kind} should be {field.type}")
        if is_array and values[field.name].dtype not in _ARRAYS[field.type]:
            expected = " or ".join(map(str, _ARRAYS[field.type]))
            raise InputError(
                f"{field.name!r} of a {packed.kind} should hold {expected}, not {values[field.name].dtype}"
            )
    return record(**values)
