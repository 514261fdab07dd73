"""The predictions of all clients' models on the rows of one client, which stacks weigh.

A prediction is a *score*: for a number its value, in units of the standardised target; for two classes the log odds of
the second; for more classes the logarithms of their probabilities. No probability is more extreme than that of half a
row among those that trained the model.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from threadpoolctl import threadpool_limits

from comity.core.arrays import Booleans, Bytes, Floats
from comity.core.extras import require
from comity.errors import InputError, UnfitError
from comity.families.estimator.files import from_file
from comity.questions import AboutStacks, FitEstimator
from comity.questions.schema import Target
from comity.rows.rows import Encoded, Rows

Trained = tuple[Any, int]
"""A model, and the number of rows that trained it."""

_MIN_ROWS = 20  # with fewer, an estimator that cannot be trained is replaced by a constant


@contextmanager
def _quietly() -> Iterator[None]:
    """Use one thread, and keep back warnings, such as that an optimiser could do with more steps."""
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        yield


def outputs_of(classes: int) -> int:
    """Return how many scores a row has, and how many intercepts a stack."""
    return classes if classes > 2 else 1


def own_models(rows: Rows, question: FitEstimator | AboutStacks) -> list[Any]:
    """Return the client's own models: of all its rows, and of all but each part; None where there are no rows."""
    key = question.schema, question.split, question.estimator.tobytes()
    if key not in rows.learners:
        here, masks = rows.encoded(question.schema), rows.splits(question.schema, question.split).masks
        estimator = from_file(question.estimator.tobytes())
        with _quietly():
            whole = _train(estimator, here, np.ones(len(here.target), np.bool_), rows.owner)
            parts = [
                _train(estimator, here, mask == 0, rows.owner) if 0 < mask.sum() < mask.size else whole
                for mask in masks
            ]
        rows.learners[key] = [whole, *parts]
    found: list[Any] = rows.learners[key]
    return found


def _train(estimator: Any, rows: Encoded, chosen: Booleans, owner: str) -> Trained | None:
    """Return a model that was trained on chosen rows; None without rows."""
    base, dummy = require("sklearn.base", "to train estimators"), require("sklearn.dummy", "to train estimators")
    features, target = rows.features[chosen, :-1], rows.target[chosen]
    if not len(target):
        return None
    constant = dummy.DummyClassifier(strategy="prior") if rows.classes else dummy.DummyRegressor()
    if len(np.unique(target)) == 1:
        return constant.fit(features, target), len(target)
    model = base.clone(estimator)
    try:
        model.fit(features, target.astype(np.intp) if rows.classes else target)
        predict(model, features[:1], rows.classes)
    except Exception as error:  # noqa: BLE001 - whatever the estimator meets
        if len(target) >= _MIN_ROWS:
            raise UnfitError(
                f"{type(model).__name__} cannot be trained on {len(target)} rows of client {owner!r} "
                f"({type(error).__name__}: {error}); take another estimator, or leave the client out"
            ) from None
        return constant.fit(features, target), len(target)
    return model, len(target)


def predict(model: Any, features: Floats, classes: int) -> Floats:
    """Return values (n,), or probabilities (n, C) of all classes."""
    if not classes:
        found = np.asarray(model.predict(features), np.float64).reshape(len(features), -1)
        if found.shape[1] != 1:
            raise InputError(f"{type(model).__name__} predicts {found.shape[1]} values for a row; there must be one")
        return np.asarray(found[:, 0])
    probabilities = np.zeros((len(features), classes))
    probabilities[:, np.asarray(model.classes_).astype(np.intp)] = model.predict_proba(features)
    return probabilities


def scores(model: Trained | None, features: Floats, classes: int) -> Floats:
    """Return the scores (n, outputs) on encoded features (n, f) of a model; zeros if there is none."""
    if model is None or not len(features):
        return np.zeros((len(features), outputs_of(classes)))
    found = predict(model[0], features, classes)
    if not np.isfinite(found).all():
        raise InputError(f"{type(model[0]).__name__} predicts values that are infinite or not numbers")
    if not classes:
        return found[:, None]
    least = 0.5 / (model[1] + 1)
    logs = np.log(np.clip(found, least, 1 - least))
    return logs[:, 1:] - logs[:, :1] if classes == 2 else logs - logs.mean(axis=1, keepdims=True)


def unpacked(models: Bytes, sizes: Sequence[int]) -> list[Trained | None]:
    """Return all clients' models from their files, one after the other; None where a file is empty."""
    files = [models[first:last].tobytes() for first, last in pairwise(np.cumsum([0, *sizes]).tolist())]
    return [trained(file) if file else None for file in files]


def trained(file: bytes) -> Trained:
    """Return what a client trained, from its file."""
    found = from_file(file)
    if not (isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], int) and found[1] > 0):
        raise InputError("a model does not come with the number of rows that trained it")
    return found


def outcome(scored: Floats, spec: Target) -> Floats:
    """Return values (n,) in the units of the target, or probabilities (n, C), from the scores (n, outputs)."""
    if not spec.classes:
        return np.asarray(scored[:, 0] * spec.scale + spec.mean)
    if len(spec.classes) > 2:
        return np.asarray(softmax(scored, axis=1))
    second = expit(scored[:, 0])
    return np.column_stack([1 - second, second])


def stacked(scored: Floats, stack: Floats) -> Floats:
    """Return the scores (n, O) of a stack (d,) from those of all models (n, O, N)."""
    models = scored.shape[2]
    return np.asarray(scored @ stack[:models] + stack[models:])


def predict_stack(spec: Target, features: Floats, stack: Floats, files: Sequence[bytes]) -> Floats:
    """Return values or probabilities by a stack (d,) of models in files, for encoded features (n, f + 1)."""
    classes = len(spec.classes)
    scored = np.zeros((len(features), outputs_of(classes), len(files)))
    with _quietly():
        for place, file in enumerate(files):
            if stack[place]:
                scored[:, :, place] = scores(trained(file), features[:, :-1], classes)
    return outcome(stacked(scored, stack), spec)


@dataclass(frozen=True, eq=False)
class Bases:
    """The scores of all models on the n rows of a client: of others (n, N, O), and its own without each part (F, n, O).

    `others` has at the client's own place its model of all rows.
    """

    others: Floats
    own: Floats
    place: int

    @classmethod
    def of(cls, rows: Rows, question: AboutStacks) -> Bases:
        """Return the scores on a client's rows."""
        key = "bases", question.schema, question.split, question.own, sha256(question.models.tobytes()).hexdigest()
        if key not in rows.learners:
            here, classes = rows.encoded(question.schema), len(question.schema.target.classes)
            features = here.features[:, :-1]
            whole, *parts = own_models(rows, question)
            members = unpacked(question.models, question.sizes)
            members[question.own] = whole
            with _quietly():
                others = [scores(each, features, classes) for each in members]
                own = [scores(each, features, classes) for each in parts]
            rows.learners[key] = cls(np.stack(others, axis=1), np.stack(own), question.own)
        found: Bases = rows.learners[key]
        return found

    def design(self, part: int | None) -> Floats:
        """Return what stacks weigh on all rows (n, O, d), with the own model that does not know a part."""
        rows, _, outputs = self.others.shape
        scored = self.others.transpose(0, 2, 1).copy()
        if part is not None:
            scored[:, :, self.place] = self.own[part]
        constant = np.broadcast_to(np.eye(outputs), (rows, outputs, outputs))
        return np.concatenate([scored, constant], axis=2)
