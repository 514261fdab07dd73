"""What may be asked of a client about networks that are trained on its rows."""

from __future__ import annotations

from dataclasses import dataclass

from comity.questions.arrays import Floats, Tensors


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
    """The sum of S gradients (K, P), which is how far the parameters went, and your part of the ``objective`` (1,).

    That is your mean loss times your share, on average over steps, networks and rays: parts of all clients add up.
    """

    change: Tensors
    objective: Floats


@dataclass(frozen=True, slots=True)
class HeldLosses:
    """What do these models lose on the rows that you hold out to choose by? Answered by a `HeldLossesAnswer`.

    By a recipe that holds out none, it is what they lose on the rows that train. ``parameters`` (M, D), each of the
    network (fold) of that number (M,). Before you answer, what is personal to you
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
    """How well do these models (4, D), one of each kind, do by this metric? An `Evaluation`.

    The rows that you keep to judge say it. `heads` (a JSON list) names for each the kind whose personal part goes with
    it: that of the model alone, where a client has no other.
    """

    recipe: str
    metric: str
    parameters: Tensors
    heads: str


@dataclass(frozen=True, slots=True)
class TrainLocally:
    """Where does a model go on your rows, by this rule? Answered by a `TrainedLocally`.

    It begins as ``parameters`` (D,); `rule` (JSON) says how it is trained, and `step` how many gradients were taken
    before, which is what your batches depend on. What is personal to you is trained with it. Your answer is to be
    multiplied by `weight`: where a weighted sum over clients is wanted, it is the plain sum of these.
    """

    recipe: str
    rule: str
    parameters: Tensors
    step: int
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class TrainedLocally:
    """The model (D,), and the mean ``loss`` (1,) with which it began, on the rows of the first step.

    With a weight other than 1, both times the weight, in 64 bits.
    """

    parameters: Tensors
    loss: Floats
