"""Linear models: ridge regression for a number; logistic, Poisson and Cox regression."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from comity.core.arrays import Floats
from comity.core.losses import PREDICTIONS, Scale
from comity.core.tasks import BY_EXPANSION, Task
from comity.families.family import Family, Fit, Request
from comity.families.glm.tasks import LINEAR_TASKS
from comity.families.problem import Problem
from comity.questions.schema import Schema

if TYPE_CHECKING:
    from comity.study import Study

_MIN_OUTER_FOLDS = 2


@final
@dataclass(frozen=True)
class Linear(Family):
    """Linear models with a ridge penalty, exact, from sums over rows."""

    settings: ClassVar[frozenset[str]] = frozenset(
        {"exclude", "keep", "categories", "client", "id", "group", "encoding"}
        | {"repeats", "judges", "resamples", "penalty"}
    )
    min_folds: ClassVar[int] = 2
    tabular: ClassVar[bool] = True
    exact: ClassVar[bool] = True
    searches: ClassVar[tuple[str, ...]] = ("borrow", "spo", "exhaustive")
    tasks: ClassVar[tuple[Task, ...]] = ("regression", *BY_EXPANSION)
    resumes: ClassVar[bool] = False
    model_file: ClassVar[str] = "models.npz"

    def questions(self, study: Study, *, classes: bool) -> tuple[str, ...]:
        """Return the kinds of questions that clients are asked."""
        borrowing, expands = study.search == "borrow", classes or study.task in BY_EXPANSION
        by_expansion = ("slopes", "fit-own", "part-losses") if borrowing else ("fit-alone", "slopes", "expand")
        return ("describe", "moments", "evaluate", *(by_expansion if expands else ()))

    def fit(self, request: Request, problem: Problem) -> Fit:
        """Begin to learn models for a problem."""
        from comity.families.glm.fit import LinearFit

        return LinearFit(request, problem)

    def for_testing(self, study: Study) -> Study:
        """Return the study with as few outer folds as there can be: each is a search of its own."""
        return study if study.search == "borrow" else replace(study, judges=_MIN_OUTER_FOLDS, resamples=0)

    def size(self, study: Study, schema: Schema) -> int:
        """Return how many parameters a model has."""
        return schema.parameters

    def predict(self, study: Study, schema: Schema, features: Floats, model: Floats) -> Floats:
        """Return values (n,) or probabilities of classes (n, C) for encoded rows (n, f); counts by exposure."""
        target = schema.target
        return PREDICTIONS[target.task](features, model, Scale(len(target.classes), target.mean, target.scale))

    def describe(self, study: Study, schema: Schema) -> str:
        """Return what its models are."""
        return LINEAR_TASKS[schema.target.task].model

    def loss_unit(self, schema: Schema) -> str:
        """Return what losses are measured in."""
        return f"cross-validated loss ({LINEAR_TASKS[schema.target.task].loss})"

    def coefficients(self, schema: Schema, model: Floats) -> Floats:
        """Return the coefficients of the encoded features (f + 1, outputs), the intercept last; zero without one."""
        intercept = np.zeros(0 if schema.target.intercepts else 1)
        return np.concatenate([model, intercept]).reshape(len(schema.features) + 1, -1)
