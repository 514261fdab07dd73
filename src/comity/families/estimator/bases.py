"""A client's own models, and the scores of all clients' models on its rows: the design matrix of stacks."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from comity.core.arrays import Booleans, Floats, Integers
from comity.core.extras import require
from comity.errors import UnfitError
from comity.families.estimator.files import from_file
from comity.families.estimator.prediction import Trained, predict, quietly, scores, unpacked
from comity.questions import AboutStacks, FitEstimator
from comity.rows.rows import Encoded, Rows

_MIN_ROWS = 20  # with fewer, an estimator that cannot be trained is replaced by a constant


def own_models(rows: Rows, question: FitEstimator | AboutStacks) -> list[Any]:
    """Return the client's own models: of all its rows, and of all but each part; None where there are no rows."""
    key = question.schema, question.split, question.estimator.tobytes()
    if key not in rows.learners:
        here, masks = rows.encoded(question.schema), rows.splits(question.schema, question.split).masks
        estimator = from_file(question.estimator.tobytes())
        with quietly():
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


@dataclass(frozen=True, eq=False)
class Bases:
    """The scores of all models on the n rows of a client: of others (n, N, O), and its own without each part (F, n, O).

    `others` has its model of all rows too, at its own `place`; no stack is judged by that.
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
            parts = own_models(rows, question)[1:]
            members = unpacked(question.models, question.sizes)
            with quietly():
                others = [scores(each, features, classes) for each in members]
                own = [scores(each, features, classes) for each in parts]
            rows.learners[key] = cls(np.stack(others, axis=1), np.stack(own), question.own)
        found: Bases = rows.learners[key]
        return found

    def design(self, part: int) -> Floats:
        """Return the design matrix of stacks on all rows (n, O, d), with the own model trained without a part."""
        return self.held_out(np.full(len(self.others), part))

    def held_out(self, part: Integers) -> Floats:
        """Return the design matrix of stacks (n, O, d), with own models trained without the part (n,) of each row."""
        rows, _, outputs = self.others.shape
        scored = self.others.transpose(0, 2, 1).copy()
        scored[:, :, self.place] = self.own[part, np.arange(rows)]
        constant = np.broadcast_to(np.eye(outputs), (rows, outputs, outputs))
        return np.concatenate([scored, constant], axis=2)
