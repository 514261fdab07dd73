"""What may be asked of a client about networks that are trained on its rows, and the settings of such a training.

Letters in the annotations of arrays name their dimensions; `comity.questions.checks` checks answers by them: K networks
(one for each fold, and one of all rows if there are several), P parameters of a hypernetwork, D parameters of a model,
M models, N clients, S local steps of R rays, F faces of the simplex. A star stands for any dimensions.
"""

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from comity.core.arrays import Floats, Tensors
from comity.core.settings import check_settings, whole
from comity.errors import InputError
from comity.questions.schema import Schema
from comity.questions.search import SearchSettings

Parametrisation = Literal["residual", "mlp", "linear", "lowrank"]
PARAMETRISATIONS: tuple[Parametrisation, ...] = get_args(Parametrisation)
SearchTask = Literal["choose", "best", "confined", "errors"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a client trains a model on its rows: the model, the loss, and how the rows are split.

    With a `schema`, the rows are those of a table, and the model is a perceptron with `depth` hidden layers of `width`;
    without one, the client itself has the module, the loss and the examples. The rows are divided into `parts` (one in
    six as in the paper): one part evaluates the models, unless `judged` is False; one is `held` out to choose
    collaborators by, or, with several `folds`, each fold in turn. Each step takes `batch` rows, all if 0. `personal` is
    a pattern for the names of parameters that never leave the client. Numbers have 64 bits if `double`.
    """

    schema: Schema | None = None
    width: Annotated[int, whole(1)] = 64
    depth: Annotated[int, whole(0)] = 2
    loss: str = ""
    personal: str | None = None
    parts: Annotated[int, whole(2)] = 6
    judged: bool = True
    held: bool = True
    folds: Annotated[int, whole(1)] = 1
    batch: Annotated[int, whole(0)] = 0
    double: bool = False
    seed: Annotated[int, whole(0)] = 0

    def __post_init__(self) -> None:
        check_settings(self)
        if not self.held and self.folds != 1:
            raise InputError(f"with {self.folds} folds, rows are held out in turn; they cannot all train")

    @property
    def networks(self) -> int:
        """The number of hypernetworks, K: one for each fold and one of all rows, or a single one without folds."""
        return 1 if self.folds == 1 else self.folds + 1


@dataclass(frozen=True, slots=True)
class HypernetworkSpec:
    """The shape of a hypernetwork, which maps shares of `clients` on the simplex to `size` parameters.

    `comity.families.network.hypernetworks.Hypernetwork` computes with it, and explains the kinds.
    """

    clients: int
    size: int
    kind: Parametrisation = "residual"
    width: int = 64
    depth: int = 2
    rank: int = 16

    def __post_init__(self) -> None:
        if self.kind not in PARAMETRISATIONS:
            raise InputError(f"there is no hypernetwork {self.kind!r}; there are {', '.join(PARAMETRISATIONS)}")
        for name in ("width", "depth", "rank"):
            if getattr(self, name) < 1:
                raise InputError(f"the {name} of a hypernetwork is {getattr(self, name)}; it must be 1 or more")


@dataclass(frozen=True, slots=True)
class TrainingRule:
    """A rule for training on a client's rows: its name in `comity.families.network.rules.RULES`, and its settings."""

    name: str
    settings: dict[str, bool | int | float]


@dataclass(frozen=True, slots=True)
class Gradients:
    """Asks for the mean loss and its gradient at some models, on the rows of a step. Answer: `GradientsAnswer`.

    ``networks`` holds the number of the network (fold) of each model; ``shares`` the client's share in each model's
    objective, with which the client trains its personal parameters, at the `rate`.
    """

    recipe: Recipe
    parameters: Annotated[Tensors, "MD"]
    networks: Annotated[Floats, "M"]
    shares: Annotated[Floats, "M"]
    step: int
    rate: float


@dataclass(frozen=True, slots=True)
class GradientsAnswer:
    """Mean losses of models on the rows of a step, and their gradients."""

    losses: Annotated[Floats, "M"]
    gradients: Annotated[Tensors, "MD"]


@dataclass(frozen=True, slots=True)
class LocalSteps:
    """Asks the client to train hypernetworks for some steps on its own rows. Answer: `LocalStepsAnswer`.

    ``rays`` are those of each of the S steps; the client is number `own` of N.
    """

    recipe: Recipe
    network: HypernetworkSpec
    parameters: Annotated[Tensors, "KP"]
    rays: Annotated[Floats, "SRN"]
    own: int
    step: int
    rate: float


@dataclass(frozen=True, slots=True)
class LocalStepsAnswer:
    """The sum of the gradients of all steps, and the client's part of the objective.

    That part is the client's mean loss times its share, averaged over steps, networks and rays: the parts of all
    clients add up to the objective.
    """

    change: Annotated[Tensors, "KP"]
    objective: Annotated[Floats, "1"]


@dataclass(frozen=True, slots=True)
class HeldLosses:
    """Asks for the losses of models on the rows that are held out to choose by. Answer: `HeldLossesAnswer`.

    If the recipe holds out no rows, the losses are those on the training rows. ``networks`` holds the number of the
    network (fold) of each model. Before it answers, the client restores its personal parameters to those of this
    question at the step `back_to` (0: the initial ones; -1: no change), and then saves them as those of this `step`.
    """

    recipe: Recipe
    parameters: Annotated[Tensors, "MD"]
    networks: Annotated[Floats, "M"]
    step: int
    back_to: int


@dataclass(frozen=True, slots=True)
class HeldLossesAnswer:
    """Mean losses of models."""

    losses: Annotated[Floats, "M"]


@dataclass(frozen=True, slots=True)
class TrainAlone:
    """Asks the client to train a model on its own rows for some steps. Answer: `TrainAloneAnswer`.

    The training starts from ``parameters``: one model (D,), or one for each network (K, D), since a model that was
    trained on rows that a network holds out must not be that network's start. `kind` is ``alone`` for the client's
    own model, or the kind of a model to fine-tune (``coalition``, ``best``); the personal parameters of each kind are
    kept.
    """

    recipe: Recipe
    kind: str
    parameters: Annotated[Tensors, "*D"]
    steps: int
    rate: float


@dataclass(frozen=True, slots=True)
class TrainAloneAnswer:
    """The trained model, and its mean loss on the rows held out from it."""

    parameters: Annotated[Tensors, "D"]
    loss: Annotated[Floats, "1"]


@dataclass(frozen=True, slots=True)
class SearchFront:
    """Asks the client to search on a Pareto front, by the losses on its held-out rows. Answer: `SearchFrontAnswer`.

    The front is that of the hypernetworks with these ``parameters``; ``counts`` (N,) convert weights into shares. The
    client is number `own`, and its own model has the loss `alone`. It solves a `task` for each of F faces: ``choose``
    collaborators, find the ``best`` point, find the best point from ``start`` (``confined``), or estimate the standard
    ``errors`` of the difference between ``start`` and ``other``.
    """

    recipe: Recipe
    network: HypernetworkSpec
    parameters: Annotated[Tensors, "KP"]
    counts: Annotated[Floats, "N"]
    own: int
    alone: float
    task: SearchTask
    search: SearchSettings
    strength: float
    faces: Annotated[Floats, "FN"]
    start: Annotated[Floats, "FN"]
    other: Annotated[Floats, "FN"]


@dataclass(frozen=True, slots=True)
class SearchFrontAnswer:
    """What the search found on each face: the chosen set as ones and zeros, and three points with their losses.

    The points are, in this order, the chosen one, the best one, and the client alone. What the task does not ask for is
    zero.
    """

    sets: Annotated[Floats, "FN"]
    weights: Annotated[Floats, "3FN"]
    losses: Annotated[Floats, "3F"]
    tolerance: Annotated[Floats, "F"]
    errors: Annotated[Floats, "F"]


@dataclass(frozen=True, slots=True)
class EvaluateModels:
    """Asks how well models do by a metric on the rows that are kept to evaluate. Answer: `Evaluation`.

    `heads` names for each model the kind whose personal parameters go with it (``alone``, ``coalition``, …).
    """

    recipe: Recipe
    metric: str
    parameters: Annotated[Tensors, "MD"]
    heads: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TrainLocally:
    """Asks the client to train a model on its own rows by a rule. Answer: `TrainLocallyAnswer`.

    `step` is the number of gradients computed before, which determines the batches. Personal parameters are trained
    with the model. The answer is multiplied by `weight`, so that a weighted sum over clients is a plain sum of answers.
    """

    recipe: Recipe
    rule: TrainingRule
    parameters: Annotated[Tensors, "D"]
    step: int
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class TrainLocallyAnswer:
    """The trained model, and the mean loss of the initial model on the rows of the first step.

    With a weight other than 1, both are multiplied by it, and have 64 bits.
    """

    parameters: Annotated[Tensors, "D"]
    loss: Annotated[Floats, "1"]
