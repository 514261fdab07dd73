"""Estimators of scikit-learn around `comity.solve`: who should train with whom, in a pipeline or a grid search."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
import pandas as pd

from comity.core.arrays import Floats
from comity.core.extras import require
from comity.core.kinds import ModelKind
from comity.core.names import shown
from comity.errors import ComityWarning, InputError
from comity.result.result import check_kind
from comity.rows.columns import level_of
from comity.solving.solve import solve

require("sklearn", "for estimators of scikit-learn")

from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin  # noqa: E402
from sklearn.utils.multiclass import check_classification_targets  # noqa: E402
from sklearn.utils.validation import (  # noqa: E402
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

Owners = str | int | Callable[[Any], Any]
"""Whose each row is: a column's name, a column's number, or a function of X that returns a label for each row."""
_OWNER, _TARGET = "(client)", "(target)"
_NOT_GIVEN = "no_validation"  # as scikit-learn says that there is no y to check
_UNSEEN = "\N{EM DASH}"  # the name of all clients that were not there in `fit`; like no other


class _Collaboration(BaseEstimator):  # type: ignore[misc]
    """What both estimators share: they turn X and y into a table of clients, and `fit` solves it."""

    def __init__(
        self,
        client: Owners = "client",
        *,
        model: Any = "linear",
        kind: str = "coalition",
        worth: float = 0.01,
        folds: int | None = None,
        seed: int = 0,
    ) -> None:
        self.client = client
        self.model = model
        self.kind = kind
        self.worth = worth
        self.folds = folds
        self.seed = seed

    def _solve(self, rows: pd.DataFrame, target: Any, task: Literal["regression", "classes"]) -> Self:
        check_kind(self.kind)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ComityWarning)  # `result_.warnings` has them
            self.result_ = solve(
                rows.assign(**{_TARGET: target}),
                _OWNER,
                _TARGET,
                task=task,
                model=self.model,
                worth=self.worth,
                folds=self.folds,
                seed=self.seed,
            )
        self.coalitions_ = self.result_.coalitions
        return self

    def _outcome(self, X: Any) -> pd.DataFrame:  # noqa: N803 - as in scikit-learn
        """Return what the clients' models predict for rows."""
        check_is_fitted(self)
        rows, _ = self._table(X)
        known = rows[_OWNER].isin(self.result_.clients)
        rows[_OWNER] = rows[_OWNER].where(known, _UNSEEN)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ComityWarning)
            return self.result_.predict(rows, model=ModelKind(self.kind))

    def _table(self, X: Any, y: Any = _NOT_GIVEN) -> tuple[pd.DataFrame, Any]:  # noqa: N803
        """Return X as a table with the owner of each row, and y, checked as scikit-learn does; `fit` gives y."""
        fitting = not (isinstance(y, str) and y == _NOT_GIVEN)
        if isinstance(X, pd.DataFrame):
            validate_data(self, X, y, reset=fitting, skip_check_array=True)
            if fitting:
                y = column_or_1d(y, warn=True)
                check_consistent_length(X, y)
            rows = X
        else:
            found = validate_data(self, X, y, reset=fitting, ensure_min_samples=2 if fitting else 1)
            values, y = found if fitting else (found, y)
            rows = pd.DataFrame(values, columns=[f"x{number}" for number in range(values.shape[1])])
        owners = self._owners(X, rows)
        if not callable(self.client):
            rows = rows.drop(columns=rows.columns[self._place(rows)])
        rows = rows.set_axis([level_of(name) for name in rows.columns], axis=1).reset_index(drop=True)
        return rows.assign(**{_OWNER: [level_of(owner) for owner in owners]}), y

    def _owners(self, X: Any, rows: pd.DataFrame) -> Any:  # noqa: N803
        """Return the label of each row's client."""
        if not callable(self.client):
            return rows.iloc[:, self._place(rows)]
        owners = np.asarray(self.client(X)).ravel()
        if len(owners) != len(rows):
            raise InputError(f"client returns {len(owners)} labels for {len(rows)} rows; it must return one for each")
        return owners

    def _place(self, rows: pd.DataFrame) -> int:
        """Return the number of the column that says whose each row is."""
        if isinstance(self.client, int) and -rows.shape[1] <= self.client < rows.shape[1]:
            return int(self.client % rows.shape[1])
        if self.client in rows.columns:
            return int(np.flatnonzero(rows.columns == self.client)[0])
        raise InputError(
            f"client is {shown(self.client)}, and X has no such column; give the name or the number of the column that "
            "says whose each row is, or a function of X"
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags


class CollaborationRegressor(RegressorMixin, _Collaboration):  # type: ignore[misc]
    """Predicts numbers, each row by the model of its client, which learned with the client's collaborators.

    Args:
        client: Whose each row is: the name or the number of a column of X, which is then no feature, or a function of X
            that returns a label for each row. Rows of a client that was not there are predicted as by a typical one.
        model: What is trained: ``linear``, ``boosting``, ``forest`` or ``mlp``, or any estimator of scikit-learn.
        kind: Which of a client's models predicts: ``alone``, ``coalition``, ``best`` or ``together``.
        worth: The share of its loss alone that a client must expect to gain to collaborate.
        folds: Folds of the rows that choose collaborators. Default: 5.
        seed: The same seed gives the same result.

    Attributes:
        result_: The `comity.Result`.
        coalitions_: Who trains with whom.
        n_features_in_: The number of columns of X, with that of the client.
        feature_names_in_: Their names, if they are text.

    Example:
        >>> import numpy as np, pandas as pd
        >>> rng = np.random.default_rng(0)
        >>> rows = pd.DataFrame(rng.normal(size=(200, 8)), columns=list("abcdefgh"))
        >>> rows["site"] = np.repeat(["North", "South", "West", "East"], 50)
        >>> days = rows.iloc[:, :8].sum(axis=1) * np.repeat([1, 1, -1, -1], 50) + 2 * rng.normal(size=200)
        >>> regressor = CollaborationRegressor(client="site").fit(rows, days)
        >>> sorted(sorted(coalition) for coalition in regressor.coalitions_)
        [['East', 'West'], ['North', 'South']]
        >>> regressor.predict(rows).shape
        (200,)
    """

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Find out who should train with whom, and train.

        Args:
            X: Rows (n, f): a DataFrame, or an array of numbers.
            y: Numbers (n,).

        Returns:
            The estimator itself.

        Raises:
            InputError: If the rows or the settings do not make sense.
        """
        rows, target = self._table(X, y)
        return self._solve(rows, np.asarray(target, np.float64), "regression")

    def predict(self, X: Any) -> Floats:  # noqa: N803
        """Return the predictions (n,) for rows.

        Args:
            X: Rows (n, f), like those of `fit`.
        """
        predicted: Floats = self._outcome(X)["prediction"].to_numpy(np.float64)
        return predicted


class CollaborationClassifier(ClassifierMixin, _Collaboration):  # type: ignore[misc]
    """Predicts classes, each row by the model of its client, which learned with the client's collaborators.

    Args:
        client: Whose each row is: the name or the number of a column of X, which is then no feature, or a function of X
            that returns a label for each row. Rows of a client that was not there are predicted as by a typical one.
        model: What is trained: ``linear``, ``boosting``, ``forest`` or ``mlp``, or any classifier of scikit-learn that
            predicts probabilities.
        kind: Which of a client's models predicts: ``alone``, ``coalition``, ``best`` or ``together``.
        worth: The share of its loss alone that a client must expect to gain to collaborate.
        folds: Folds of the rows that choose collaborators. Default: 5.
        seed: The same seed gives the same result.

    Attributes:
        result_: The `comity.Result`.
        coalitions_: Who trains with whom.
        classes_: The classes, in order.
        n_features_in_: The number of columns of X, with that of the client.
        feature_names_in_: Their names, if they are text.

    Example:
        >>> import numpy as np, pandas as pd
        >>> rng = np.random.default_rng(0)
        >>> rows = pd.DataFrame(rng.normal(size=(800, 3)), columns=list("abc"))
        >>> rows["site"] = np.repeat(["North", "South", "West", "East"], 200)
        >>> effect = rows[list("abc")].sum(axis=1) * np.repeat([1, 1, -1, -1], 200)
        >>> died = np.where(effect + rng.logistic(size=800) > 0, "yes", "no")
        >>> classifier = CollaborationClassifier(client="site").fit(rows, died)
        >>> classifier.classes_.tolist(), classifier.predict_proba(rows).shape
        (['no', 'yes'], (800, 2))
        >>> bool(classifier.score(rows, died) > 0.7)
        True
    """

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Find out who should train with whom, and train.

        Args:
            X: Rows (n, f): a DataFrame, or an array of numbers.
            y: Classes (n,), of any type that can be ordered.

        Returns:
            The estimator itself.

        Raises:
            InputError: If the rows or the settings do not make sense.
        """
        rows, target = self._table(X, y)
        check_classification_targets(target)
        self.classes_, codes = np.unique(target, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError(
                f"y has one class only, {shown(self.classes_.tolist()[0])}; a classifier needs two or more"
            )
        return self._solve(rows, [_class_name(code) for code in codes.tolist()], "classes")

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Return the probabilities (n, C) of the classes for rows.

        Args:
            X: Rows (n, f), like those of `fit`.
        """
        found = self._outcome(X)
        chances: Floats = found[[f"p_{_class_name(code)}" for code in range(len(self.classes_))]].to_numpy(np.float64)
        return chances

    def predict(self, X: Any) -> Any:  # noqa: N803
        """Return the most likely class (n,) of each row.

        Args:
            X: Rows (n, f), like those of `fit`.
        """
        chances = self.predict_proba(X)
        return self.classes_[chances.argmax(axis=1)]


def _class_name(code: int) -> str:
    """Return the name of a class for `solve`, which takes text that looks like numbers for numbers."""
    return f"class {code}"
