"""The estimators of scikit-learn around solve: its own checks, pipelines, searches, and the models of `solve`."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sklearn")
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

import comity
from comity import CollaborationClassifier, CollaborationRegressor
from comity.errors import InputError
from support.stacks import crossed


def dealt(rows: Any) -> Any:
    """Deal rows to two clients by what is in them, as the checks have no column that names clients."""
    values = rows.to_numpy() if hasattr(rows, "to_numpy") else np.asarray(rows)
    return [f"client {zlib.crc32(row.astype(np.float32).tobytes()) % 2}" for row in values]


@pytest.mark.parametrize("kind", [CollaborationRegressor, CollaborationClassifier])
def test_the_checks_of_scikit_learn_pass_with_a_function_for_the_client(kind: Any) -> None:
    found = check_estimator(kind(client=dealt), on_fail=None, on_skip=None)
    failed = {each["check_name"]: str(each["exception"]) for each in found if each["status"] == "failed"}
    assert failed == {}
    assert sum(each["status"] == "passed" for each in found) > 40


def test_a_regressor_predicts_what_the_result_of_solve_does() -> None:
    frame = crossed(rows=30)
    regressor = CollaborationRegressor(seed=1).fit(frame.drop(columns="y"), frame["y"])
    result = comity.solve(frame, client="client", target="y", seed=1)
    assert regressor.coalitions_ == result.coalitions
    new = crossed(seed=5, rows=4)
    np.testing.assert_array_equal(regressor.predict(new.drop(columns="y")), result.predict(new)["prediction"])
    assert regressor.n_features_in_ == 3
    assert regressor.feature_names_in_.tolist() == ["x", "z", "client"]


@pytest.mark.parametrize("names", [["no", "yes"], [3, 20, 100], [False, True]])
def test_a_classifier_has_the_classes_in_their_order_and_as_they_were(names: list[Any]) -> None:
    frame = crossed(rows=40, classes=len(names))
    target = frame["y"].map(dict(zip(sorted(frame["y"].unique()), names, strict=True)))
    classifier = CollaborationClassifier(kind="together").fit(frame.drop(columns="y"), target)
    assert classifier.classes_.tolist() == names
    chances = classifier.predict_proba(frame.drop(columns="y"))
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    expected = comity.solve(frame, client="client", target="y").predict(frame, model="together")
    np.testing.assert_allclose(chances, expected[[name for name in expected if name.startswith("p_")]], atol=1e-12)


def test_an_array_with_the_client_in_a_column() -> None:
    frame = crossed(rows=30)
    codes, _ = pd.factorize(frame["client"])
    array = np.column_stack([codes, frame[["x", "z"]]])
    by_number = CollaborationRegressor(client=0).fit(array, frame["y"])
    by_name = CollaborationRegressor().fit(frame.drop(columns="y"), frame["y"])
    np.testing.assert_allclose(by_number.predict(array), by_name.predict(frame.drop(columns="y")), rtol=0.1, atol=0.3)
    assert len(by_number.result_.clients) == 6


def test_rows_of_a_client_that_was_not_there_are_predicted_as_by_a_typical_one() -> None:
    frame = crossed(rows=30)
    regressor = CollaborationRegressor().fit(frame.drop(columns="y"), frame["y"])
    new = frame.head(3).drop(columns="y").assign(client=["aa", "b", None])
    found = regressor.predict(new)
    assert found[1] == regressor.predict(frame.iloc[[1]].drop(columns="y").assign(client="b"))[0]
    by_all = [regressor.predict(new.head(1).assign(client=name))[0] for name in "abcdef"]
    assert found[0] == pytest.approx(np.mean(by_all))
    assert np.isfinite(found[2])


def test_a_pipeline_and_a_grid_search_choose_how_clients_train() -> None:
    frame = crossed(rows=60)
    folds = KFold(3, shuffle=True, random_state=0)  # every client is in each
    steps = make_pipeline(FunctionTransformer(), CollaborationRegressor())
    search = GridSearchCV(steps, {"collaborationregressor__model": ["linear", "boosting"]}, cv=folds)
    search.fit(frame.drop(columns="y"), frame["y"])
    assert search.best_params_ == {"collaborationregressor__model": "boosting"}
    assert search.best_score_ > 0.3
    scores = cross_val_score(CollaborationClassifier(), frame.drop(columns="y"), frame["y"] > 0, cv=folds)
    assert scores.shape == (3,)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"client": "hospital"}, "client is 'hospital', and X has no such column"),
        ({"client": 9}, "client is 9, and X has no such column"),
        ({"client": lambda rows: ["a"]}, "client returns 1 labels for 180 rows"),
        ({"kind": "worst"}, "there is no model 'worst'"),
        ({"worth": 2}, "worth is 2"),
    ],
)
def test_settings_that_make_no_sense_are_named(settings: dict[str, Any], message: str) -> None:
    frame = crossed(rows=30)
    with pytest.raises(InputError, match=message):
        CollaborationRegressor(**settings).fit(frame.drop(columns="y"), frame["y"])


def test_one_class_is_refused() -> None:
    frame = crossed(rows=30)
    with pytest.raises(InputError, match="y has one class only, 'a'"):
        CollaborationClassifier().fit(frame.drop(columns="y"), ["a"] * len(frame))
