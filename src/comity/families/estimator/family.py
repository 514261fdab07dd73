"""Estimators: boosted trees, random forests, or any model of scikit-learn that a user gives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from comity.core.arrays import Floats
from comity.core.extras import require
from comity.core.names import of_clients
from comity.core.wording import mention
from comity.errors import InputError
from comity.families.family import Family, Fit, Request
from comity.families.problem import Problem
from comity.questions.schema import Schema

if TYPE_CHECKING:
    from comity.study import Study

_PURPOSE = "to train estimators"
_TRIED = 30  # rows, of each class
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

        require("sklearn", _PURPOSE)
        estimator = request.estimator
        if self.name != GIVEN:
            estimator = default_estimator(self.name, classes=bool(problem.classes), seed=request.study.seed)
        if estimator is None:
            raise InputError(
                f"the model {GIVEN!r} is an estimator of scikit-learn, which only comity.solve can be given; "
                "choose another model"
            )
        check_estimator(estimator, classes=bool(problem.classes))
        _check_clients(request, problem)
        prepared = prepare(estimator, request.study.seed)
        _try(prepared, problem)
        return EstimatorFit(request, problem, to_file(prepared))

    def for_testing(self, study: Study) -> Study:
        """Return the study as it is."""
        return study

    def size(self, study: Study, schema: Schema) -> None:
        """Return None: a stack has a weight for each client."""

    def contradictions(self, schema: Schema, models: Floats, files: tuple[bytes, ...]) -> Iterator[str]:
        """Yield why models (N, d) are no stacks of what N clients trained."""
        from comity.families.estimator.prediction import outputs_of, trained

        require("sklearn", "to check estimators")
        if len(files) != len(models) or models.shape[1] != len(files) + outputs_of(len(schema.target.classes)):
            yield f"{len(files)} files of models do not go with {models.shape[1]} weights of {len(models)} clients"
            return
        for place, file in enumerate(files):
            if not file and models[:, place].any():
                yield f"models use that of client number {place + 1}, which is not there"
            elif file:
                try:
                    trained(file)
                except InputError as error:
                    yield f"of client number {place + 1} {error}"

    def inputs(self, schema: Schema, features: Floats, models: Floats, files: tuple[bytes, ...]) -> Floats:
        """Return the scores (n, outputs, N) of what clients trained; zeros where no model weighs them."""
        from comity.families.estimator.prediction import outputs_of, score_files

        require("sklearn", "to predict with estimators")
        if models.shape[1] != len(files) + outputs_of(len(schema.target.classes)):
            raise InputError(
                f"{len(files)} files of models do not go with {models.shape[1]} weights; something is missing"
            )
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
    if isinstance(estimator, type):
        raise InputError(f"model is the class {estimator.__name__}; give an estimator: {estimator.__name__}()")
    name = type(estimator).__name__
    if not hasattr(estimator, "fit") or not hasattr(estimator, "get_params"):
        raise InputError(f"model is of the type {name}, without fit; give a name, or an estimator of scikit-learn")
    if classes and not hasattr(estimator, "predict_proba"):
        raise InputError(
            f"{name} has no predict_proba, and the target has classes; take a classifier that tells probabilities"
        )
    if not classes and base.is_classifier(estimator):
        raise InputError(f"{name} is a classifier, and the target is a number; take a regressor, or the task 'classes'")


def prepare(estimator: Any, seed: int) -> Any:
    """Return a copy that is trained the same way wherever it is: with a seed, and by one process."""
    found = require("sklearn.base", _PURPOSE).clone(estimator)
    values = {"random_state": seed, "n_jobs": 1}
    for name, value in found.get_params(deep=True).items():
        setting = name.rpartition("__")[2]
        if setting == "n_jobs" or (setting == "random_state" and value is None):
            found.set_params(**{name: values[setting]})
    return found


def _check_clients(request: Request, problem: Problem) -> None:
    """Check that there are not too many clients, and that all may give their models away."""
    from comity.families.estimator.asking import MAX_CLIENTS

    if problem.limited:
        raise InputError(
            f"{of_clients(problem.limited)} limit what they disclose, and a model of scikit-learn may hold rows; take "
            f"the model linear, leave them out ({mention('without', problem.limited)}), or ask them to lift the limit "
            "(disclosure = inf)"
        )
    if (count := len(request.federation.clients)) > MAX_CLIENTS:
        raise InputError(
            f"there are {count} clients, and every client scores the models of all others; with models of scikit-learn "
            f"there may be {MAX_CLIENTS}: take the model linear, or fewer clients"
        )


def _try(estimator: Any, problem: Problem) -> None:
    """Train and save an estimator on made-up rows, so that one that cannot be is refused before clients are asked."""
    from comity.families.estimator.files import to_file
    from comity.families.estimator.prediction import predict, quietly

    base = require("sklearn.base", _PURPOSE)
    rng, classes = np.random.default_rng(0), len(problem.classes)
    features = rng.normal(size=(_TRIED * max(classes, 1), len(problem.schema.features)))
    target = np.resize(np.arange(classes), len(features)) if classes else rng.normal(size=len(features))
    try:
        with quietly():
            tried = base.clone(estimator).fit(features, target)
            predict(tried, features[:1], classes)
    except Exception as error:
        raise InputError(
            f"{type(estimator).__name__} cannot be trained on rows of numbers ({type(error).__name__}: {error}); it "
            "gets the encoded columns as an array, not by name"
        ) from error
    to_file(tried)
