"""Linear models: ridge regression for a number, logistic and multinomial regression for classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, final

from comity.core.arrays import Floats
from comity.core.likelihood import predict_linear
from comity.families.family import Family, Fit, Request
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
    resumes: ClassVar[bool] = False
    model_file: ClassVar[str] = "models.npz"

    def questions(self, study: Study, *, classes: bool) -> tuple[str, ...]:
        """Return the kinds of questions that clients are asked."""
        borrowing = study.search == "borrow"
        of_classes = ("slopes", "fit-own", "part-losses") if borrowing else ("fit-alone", "slopes", "expand")
        return ("describe", "moments", "evaluate", *(of_classes if classes else ()))

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
        """Return values (n,) or probabilities of classes (n, C) for encoded rows (n, f)."""
        target = schema.target
        return predict_linear(features, model, len(target.classes), target.mean, target.scale)

    def describe(self, study: Study, schema: Schema) -> str:
        """Return what its models are."""
        return "logistic regression with a ridge penalty" if schema.target.classes else "ridge regression"

    def loss_unit(self, schema: Schema) -> str:
        """Return what losses are measured in."""
        if schema.target.classes:
            return "cross-validated loss (log loss, by expansion)"
        return "cross-validated loss (mean squared error, in units of the target's variance)"

    def coefficients(self, schema: Schema, model: Floats) -> Floats:
        """Return the coefficients of the encoded features (f + 1, outputs), the intercept last."""
        return model.reshape(len(schema.features) + 1, -1).copy()
