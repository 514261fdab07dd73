"""Estimators: boosted trees, random forests, or any model of scikit-learn that a user gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from comity.core.arrays import Floats
from comity.core.extras import require
from comity.errors import InputError
from comity.families.family import Family, Fit, Request
from comity.families.problem import Problem
from comity.questions.schema import Schema

if TYPE_CHECKING:
    from comity.study import Study

_PURPOSE = "to train estimators"
GIVEN = "estimator"  # the name of a model that a user gives


@final
@dataclass(frozen=True)
class Estimator(Family):
    """What clients train with `fit` and `predict`; personal models are stacks of the clients' own models."""

    name: str

    settings: ClassVar[frozenset[str]] = frozenset(
        {"exclude", "keep", "categories", "client", "id", "group", "encoding"}
    )
    min_folds: ClassVar[int] = 2
    tabular: ClassVar[bool] = True
    exact: ClassVar[bool] = False
    searches: ClassVar[tuple[str, ...]] = ("borrow",)
    resumes: ClassVar[bool] = False
    model_file: ClassVar[str] = "models.npz"

    def questions(self, study: Study, *, classes: bool) -> tuple[str, ...]:
        """Return the kinds of questions that clients are asked."""
        return (
            "describe",
            "fit-estimator",
            "stack-moments",
            "evaluate-stacks",
            *(("stack-losses",) if classes else ()),
        )

    def fit(self, request: Request, problem: Problem) -> Fit:
        """Begin to learn models for a problem."""
        from comity.families.estimator.files import to_file
        from comity.families.estimator.fit import EstimatorFit

        base = require("sklearn.base", _PURPOSE)
        estimator = request.estimator
        if self.name != GIVEN:
            estimator = default_estimator(self.name, classes=bool(problem.classes), seed=request.study.seed)
        if estimator is None:
            raise InputError(
                f"the model {GIVEN!r} is an estimator of scikit-learn, which only comity.solve can be given; "
                "choose another model"
            )
        check_estimator(estimator, classes=bool(problem.classes))
        return EstimatorFit(request, problem, to_file(base.clone(estimator)))

    def for_testing(self, study: Study) -> Study:
        """Return the study as it is."""
        return study

    def size(self, study: Study, schema: Schema) -> None:
        """Return None: a stack has a weight for each client."""

    def inputs(self, schema: Schema, features: Floats, models: Floats, files: tuple[bytes, ...]) -> Floats:
        """Return the scores (n, outputs, N) of what clients trained; zeros where no model weighs them."""
        from comity.families.estimator.prediction import score_files

        require("sklearn", "to predict with estimators")
        needed = np.asarray(models[:, : len(files)].any(axis=0))
        return score_files(features[:, :-1], len(schema.target.classes), files, needed)

    def predict(self, study: Study, schema: Schema, features: Floats, model: Floats) -> Floats:
        """Return values (n,) or probabilities of classes (n, C) for the inputs (n, outputs, N) of rows."""
        from comity.families.estimator.prediction import outcome, stacked

        return outcome(stacked(features, model), schema.target)

    def describe(self, study: Study, schema: Schema) -> str:
        """Return what its models are."""
        titles = {"boosting": "gradient-boosted trees", "forest": "random forests"}
        return f"{titles.get(self.name, 'models of scikit-learn')}, weighed"

    def loss_unit(self, schema: Schema) -> str:
        """Return what losses are measured in."""
        if schema.target.classes:
            return "cross-validated loss (log loss, by expansion)"
        return "cross-validated loss (mean squared error, in units of the target's variance)"

    def coefficients(self, schema: Schema, model: Floats) -> None:
        """Return None: estimators have no coefficients in common."""


def default_estimator(name: str, *, classes: bool, seed: int) -> Any:
    """Return the estimator that a name stands for, untrained."""
    ensemble = require("sklearn.ensemble", _PURPOSE)
    if name == "boosting":
        kind = ensemble.HistGradientBoostingClassifier if classes else ensemble.HistGradientBoostingRegressor
        return kind(max_iter=60, max_leaf_nodes=4, min_samples_leaf=4, random_state=seed)
    kind = ensemble.RandomForestClassifier if classes else ensemble.RandomForestRegressor
    return kind(n_estimators=100, min_samples_leaf=3, random_state=seed)


def check_estimator(estimator: Any, *, classes: bool) -> None:
    """Check that an estimator is for the task, and predicts what it takes."""
    base = require("sklearn.base", _PURPOSE)
    name = type(estimator).__name__
    if not hasattr(estimator, "fit") or not hasattr(estimator, "predict"):
        raise InputError(f"model is a {name}, without fit and predict; give a name, or an estimator of scikit-learn")
    if classes and not hasattr(estimator, "predict_proba"):
        raise InputError(
            f"{name} has no predict_proba, and the target has classes; take a classifier that tells probabilities "
            "(for an SVC: probability=True, or a CalibratedClassifierCV around it)"
        )
    if not classes and base.is_classifier(estimator):
        raise InputError(f"{name} is a classifier, and the target is a number; take a regressor, or the task 'classes'")
