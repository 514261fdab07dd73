"""Neural networks: perceptrons for tables, and any torch module for examples of any shape."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Final, final

from comity.core.arrays import Floats
from comity.core.extras import require
from comity.core.text import count
from comity.errors import InputError
from comity.families.family import Family, Fit, Request
from comity.families.problem import Problem
from comity.questions.schema import Schema

if TYPE_CHECKING:
    from comity.study import Study

_TRAINING: Final = frozenset({"steps", "fine_tune", "local_steps"})


@dataclass(frozen=True)
class Network(Family, ABC):
    """What all networks share: a hypernetwork trained by gradients, searched at the clients."""

    min_folds: ClassVar[int] = 1
    exact: ClassVar[bool] = False
    resumes: ClassVar[bool] = True
    model_file: ClassVar[str] = "models.safetensors"

    def questions(self, study: Study, *, classes: bool) -> tuple[str, ...]:
        """Return the kinds of questions that clients are asked."""
        step = "local-steps" if study.local_steps else "gradients"
        return ("describe", "held-losses", "train-alone", "search-front", "evaluate-models", step)

    def for_testing(self, study: Study) -> Study:
        """Return the study as it is: networks are evaluated once."""
        return study

    def coefficients(self, schema: Schema, model: Floats) -> None:
        """Return None: networks have no coefficients."""


@final
@dataclass(frozen=True)
class Perceptron(Network):
    """Multilayer perceptrons for tables."""

    settings: ClassVar[frozenset[str]] = _TRAINING | {
        "exclude",
        "keep",
        "categories",
        "client",
        "id",
        "group",
        "encoding",
        "width",
        "depth",
    }
    tabular: ClassVar[bool] = True

    def fit(self, request: Request, problem: Problem) -> Fit:
        """Begin to learn models for a problem."""
        require("torch", "to train neural networks")
        from comity.families.network.fit import NetworkFit, perceptron_setup

        return NetworkFit(request, perceptron_setup(problem, request.study, request.gradients))

    def size(self, study: Study, schema: Schema) -> int:
        """Return how many parameters a model has."""
        widths = [len(schema.features), *[study.width] * study.depth, len(schema.target.classes) or 1]
        return sum((before + 1) * after for before, after in pairwise(widths))

    def predict(self, study: Study, schema: Schema, features: Floats, model: Floats) -> Floats:
        """Return values (n,) or probabilities of classes (n, C) for encoded rows (n, f)."""
        require("torch", "to predict with neural networks")
        from comity.families.network.prediction import predict_encoded

        return predict_encoded(features, schema.target, model, study.width, study.depth)

    def describe(self, study: Study, schema: Schema) -> str:
        """Return what its models are."""
        return f"perceptron, {count(study.depth, 'hidden layer')} of {study.width}, from a hypernetwork"

    def loss_unit(self, schema: Schema) -> str:
        """Return what losses are measured in."""
        if schema.target.classes:
            return "cross-validated loss (log loss)"
        return "cross-validated loss (mean squared error, in units of the target's variance)"


@final
@dataclass(frozen=True)
class Module(Network):
    """A user's torch module, which only `comity.solve_modules` takes."""

    settings: ClassVar[frozenset[str]] = _TRAINING
    tabular: ClassVar[bool] = False

    def fit(self, request: Request, problem: Problem) -> Fit:
        """Refuse: a study cannot name a module."""
        raise InputError(
            "the model 'module' is a torch module, which only comity.solve_modules can be given; choose linear or mlp"
        )

    def size(self, study: Study, schema: Schema) -> None:
        """Return None: a module has any number of parameters."""

    def predict(self, study: Study, schema: Schema, features: Floats, model: Floats) -> Floats:
        """Refuse: only the user's module can predict."""
        raise InputError("a torch module predicts itself: load its parameters with Result.state_of")

    def describe(self, study: Study, schema: Schema) -> str:
        """Return what its models are."""
        return "a torch module, from a hypernetwork"

    def loss_unit(self, schema: Schema) -> str:
        """Return what losses are measured in."""
        return "cross-validated loss (the loss that was given)"
