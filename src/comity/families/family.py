"""A family of models: everything that the rest of comity knows about a kind of model.

A family says how models come from rows (`Family.fit`), and how they are saved, applied and described. Its `Fit` has
what deciding and solving need: searchers for collaborators, models for a decision, and how well these models do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from comity.core.arrays import Floats
from comity.core.kinds import ModelKind
from comity.core.progress import Progress
from comity.core.tasks import Task
from comity.deciding.borrow import Borrowed, Lender
from comity.deciding.decision import Decision
from comity.deciding.searcher import Searcher
from comity.errors import InputError
from comity.families.problem import Problem
from comity.federation import Federation
from comity.questions import Evaluation, Split
from comity.questions.schema import Schema

if TYPE_CHECKING:
    from comity.families.glm.priors import Priors
    from comity.families.network.checkpoint import Checkpoint
    from comity.study import Study


@dataclass(frozen=True, eq=False)
class Evaluated:
    """The models of a decision, and how well they do.

    Attributes:
        models: Of each kind, a model for each client (N, d).
        penalties: Of each kind, the penalty of each client's model (N,); zeros where models have none.
        evaluations: How well each client's models do on rows that trained and chose nothing.
        probabilities: The probability that each client gains in its coalition, where it was estimated.
        mean_gain_error: The standard error of the mean gain of all clients in their coalitions, where it was estimated.
        files: What clients trained, one file each, if models are weights of these.
        warnings: What users should know of these figures.
    """

    models: Mapping[ModelKind, Floats]
    penalties: Mapping[ModelKind, Floats]
    evaluations: Mapping[str, Evaluation]
    probabilities: Mapping[str, float] = field(default_factory=dict)
    mean_gain_error: float | None = None
    files: tuple[bytes, ...] = ()
    warnings: tuple[str, ...] = ()


class Fit(ABC):
    """The models of a family for one federation."""

    split: Split
    """How rows are split."""
    training: Mapping[str, Any]
    """How models were trained, as plain values; nothing if they are exact."""

    @abstractmethod
    def searchers(self) -> Sequence[Searcher]:
        """Return a searcher for each view of the rows: all rows, then each outer fold left out, then each resample."""

    @abstractmethod
    def evaluate(self, decisions: Sequence[Decision]) -> Evaluated:
        """Train the models of a decision, the first of one for each view, and evaluate them."""

    def lender(self) -> Lender:
        """Return what the decision with borrowed strength needs, if the family has it."""
        raise InputError("there is no search 'borrow' for these models; take 'spo'")

    def evaluate_borrowed(self, decision: Borrowed) -> Evaluated:
        """Return the models of a decision with borrowed strength, and how well they do."""
        raise NotImplementedError

    def priors(self, decision: Borrowed) -> Mapping[str, Priors]:
        """Return what each client fits its personal models with, at its own side; nothing if models travel."""
        return {}

    @abstractmethod
    def test(self, evaluated: Evaluated) -> Mapping[str, Evaluation]:
        """Return how well models do on the rows that clients keep for testing."""


def silent(stage: str, done: int, total: int) -> None:
    """Report no progress."""


@dataclass(frozen=True)
class Request:
    """The inputs of a fit.

    Attributes:
        federation: The clients.
        study: The settings.
        progress: Called with each stage.
        checkpoint: Where to keep an unfinished training, if the family can resume one.
        gradients: How many gradients of a client a training may take; as the study says unless given.
        estimator: What clients train, if the study's model is one that the user gives.
    """

    federation: Federation
    study: Study
    progress: Progress = silent
    checkpoint: Checkpoint | None = None
    gradients: int | None = None
    estimator: Any = None


class Family(ABC):
    """A kind of model."""

    settings: ClassVar[frozenset[str]]
    """Settings of a study that only some families use, and this one does."""
    min_folds: ClassVar[int]
    """The fewest folds that choose collaborators."""
    tabular: ClassVar[bool]
    """Whether clients hold tables, so that models have named columns and predict new rows of a table."""
    exact: ClassVar[bool]
    """Whether models are solved for, with a penalty, rather than trained step by step."""
    searches: ClassVar[tuple[str, ...]] = ("spo", "exhaustive")
    """How collaborators can be found."""
    tasks: ClassVar[tuple[Task, ...]] = ("regression", "classes")
    """What can be predicted."""
    resumes: ClassVar[bool]
    """Whether a training that was interrupted can be resumed."""
    model_file: ClassVar[str]
    """The file in which models are saved: ``models.npz`` (64 bits) or ``models.safetensors`` (32 bits)."""

    @abstractmethod
    def questions(self, study: Study, *, classes: bool) -> tuple[str, ...]:
        """Return the kinds of questions that clients are asked."""

    @abstractmethod
    def fit(self, request: Request, problem: Problem) -> Fit:
        """Begin to learn models for a problem."""

    @abstractmethod
    def for_testing(self, study: Study) -> Study:
        """Return the study to run where test rows evaluate models: without work that only evaluates them."""

    @abstractmethod
    def size(self, study: Study, schema: Schema) -> int | None:
        """Return how many parameters a model has, None if any number will do."""

    def contradictions(self, schema: Schema, models: Floats, files: tuple[bytes, ...]) -> Iterator[str]:
        """Yield why models (N, d) cannot be those of N clients, beside what is checked of all families."""
        if files:
            yield "there are files of models that nothing uses"

    def inputs(self, schema: Schema, features: Floats, models: Floats, files: tuple[bytes, ...]) -> Floats:
        """Return what models (M, d) predict from (n, …), for encoded rows (n, f), whose last column is ones.

        It is these rows, unless models are weights of what clients trained, in `files`: then what that predicts.
        """
        return features

    @abstractmethod
    def predict(self, study: Study, schema: Schema, features: Floats, model: Floats) -> Floats:
        """Return values (n,) or probabilities of classes (n, C) for the inputs (n, …) of rows.

        Of counts it is what is expected for an exposure of 1, and of survival the relative risk.
        """

    @abstractmethod
    def describe(self, study: Study, schema: Schema) -> str:
        """Return what its models are, in a few words for a report."""

    @abstractmethod
    def loss_unit(self, schema: Schema) -> str:
        """Return what losses are measured in, in words."""

    @abstractmethod
    def coefficients(self, schema: Schema, model: Floats) -> Floats | None:
        """Return the coefficients of the encoded features (f + 1, outputs), the intercept last, if there are any."""
