"""The predictions of models that clients trained, and of stacks, which weigh them.

A prediction is a *score*: for a number its value, in units of the standardised target; for two classes the log odds of
the second; for more classes the logarithms of their probabilities. No probability is more extreme than that of half a
row among those that trained the model.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from threadpoolctl import threadpool_limits

from comity.core.arrays import Booleans, Bytes, Floats, split_files
from comity.errors import InputError
from comity.families.estimator.files import from_file
from comity.questions.schema import Target

_MOST_ROWS = 1 << 53
_FAR = 1e3  # standard deviations of the target
Trained = tuple[Any, int]
"""A model, and the number of rows that trained it."""


@contextmanager
def quietly() -> Iterator[None]:
    """Use one thread, and suppress warnings, such as that an optimiser could do with more steps."""
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        yield


def outputs_of(classes: int) -> int:
    """Return how many scores a row has, and how many intercepts a stack."""
    return classes if classes > 2 else 1


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
    try:
        found = predict(model[0], features, classes)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise InputError(f"{type(model[0]).__name__} cannot predict ({type(error).__name__}: {error})") from None
    if not classes:  # nobody's model may spoil the others' sums, however wild it is
        return np.clip(np.nan_to_num(found, nan=0.0, posinf=_FAR, neginf=-_FAR), -_FAR, _FAR)[:, None]
    found = np.nan_to_num(found, nan=1 / classes)
    least = 0.5 / (model[1] + 1)
    logs = np.log(np.clip(found, least, 1 - least))
    return logs[:, 1:] - logs[:, :1] if classes == 2 else logs - logs.mean(axis=1, keepdims=True)


def unpacked(models: Bytes, sizes: Floats) -> list[Trained | None]:
    """Return all clients' models from their files, one after the other; None where a file is empty."""
    try:
        return [trained(file) if file else None for file in split_files(models, sizes)]
    except ValueError as error:
        raise InputError(f"the files of models cannot be told apart: {error}") from None


def trained(file: bytes) -> Trained:
    """Return what a client trained, from its file."""
    found = from_file(file)
    if not (type(found) is tuple and len(found) == 2 and type(found[1]) is int and 0 < found[1] < _MOST_ROWS):
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


def score_files(features: Floats, classes: int, files: Sequence[bytes], needed: Booleans) -> Floats:
    """Return the scores (n, outputs, N) on encoded features (n, f) of the models in N files that are needed (N,)."""
    scored = np.zeros((len(features), outputs_of(classes), len(files)))
    with quietly():
        for place in np.flatnonzero(needed).tolist():
            if not files[place]:
                raise InputError("this model uses models of clients outside of the coalition, which stay with them")
            scored[:, :, place] = scores(trained(files[place]), features, classes)
    return scored
