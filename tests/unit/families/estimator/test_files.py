"""Estimators as files: the same after reading, and nothing foreign or damaged is read."""

import io
import zipfile
from typing import Any

import numpy as np
import pytest

from comity.errors import InputError
from comity.families.estimator import files
from comity.families.estimator.files import from_file, to_file

pytest.importorskip("sklearn")
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = X[:, 0] * X[:, 1] + RNG.normal(size=80)


class Foreign(RegressorMixin, BaseEstimator):
    """An estimator that is not of scikit-learn."""

    def fit(self, features: np.ndarray, target: np.ndarray) -> "Foreign":
        return self

    def predict(self, features: np.ndarray) -> np.ndarray:
        return np.zeros(len(features))


@pytest.mark.parametrize(
    "estimator",
    [
        HistGradientBoostingRegressor(max_iter=5),
        RandomForestRegressor(3),
        DecisionTreeRegressor(max_depth=3),
        make_pipeline(StandardScaler(), Ridge()),
    ],
    ids=lambda each: type(each).__name__,
)
def test_an_estimator_is_the_same_after_reading(estimator: Any) -> None:
    trained = estimator.fit(X, Y)
    read, rows = from_file(to_file((trained, 80)))
    assert rows == 80
    np.testing.assert_array_equal(read.predict(X), trained.predict(X))


def test_what_is_not_of_scikit_learn_cannot_be_saved_and_is_named() -> None:
    with pytest.raises(InputError, match=r"holds .*Foreign, which is not on the list"):
        to_file(Foreign())


def test_neighbours_hold_all_rows_and_trees_that_are_not_checked() -> None:
    with pytest.raises(InputError, match="which is not on the list"):
        to_file(KNeighborsRegressor().fit(X, Y))


@pytest.mark.parametrize("file", [b"", b"no archive", zipfile.ZipFile.__name__.encode() * 9])
def test_what_is_no_file_of_an_estimator_is_refused(file: bytes) -> None:
    with pytest.raises(InputError, match="model"):
        from_file(file)


def rewritten(file: bytes, **changes: str) -> bytes:
    """Return an archive with text replaced in its schema."""
    there, here = zipfile.ZipFile(io.BytesIO(file)), io.BytesIO()
    with zipfile.ZipFile(here, "w") as archive:
        for each in there.infolist():
            content = there.read(each)
            if each.filename == "schema.json":
                text = content.decode()
                for old, new in changes.items():
                    assert old in text
                    text = text.replace(old, new)
                content = text.encode()
            archive.writestr(each.filename, content)
    return here.getvalue()


def test_a_file_that_names_another_type_is_refused_without_running_it() -> None:
    file = to_file(Ridge().fit(X, Y))
    with pytest.raises(InputError):
        from_file(rewritten(file, Ridge="Popen", **{"sklearn.linear_model._ridge": "subprocess"}))


def test_a_file_that_is_damaged_is_refused() -> None:
    with pytest.raises(InputError, match="cannot be read"):
        from_file(rewritten(to_file(Ridge().fit(X, Y)), **{".npy": ".gone"}))


@pytest.mark.parametrize("child", [0, 10_000_000, -7])
def test_a_tree_that_leads_out_of_itself_or_back_is_refused(child: int) -> None:
    trained = HistGradientBoostingRegressor(max_iter=1, max_leaf_nodes=4).fit(X, Y)
    trained._predictors[0][0].nodes["left"][0] = np.uint32(child % 2**32)
    with pytest.raises(InputError, match="nodes do not lead"):
        to_file(trained)


@pytest.mark.parametrize("kind", [HistGradientBoostingClassifier, RandomForestRegressor])
def test_a_tree_that_asks_for_a_feature_that_is_not_there_is_refused(kind: Any) -> None:
    trained = kind(max_depth=2).fit(X, (Y > 0).astype(int))
    if hasattr(trained, "_predictors"):
        trained._predictors[0][0].nodes["feature_idx"][0] = 99
    else:
        trained.estimators_[0].tree_.feature[0] = 99
    with pytest.raises(InputError, match="feature that is not there"):
        to_file(trained)


@pytest.mark.parametrize(("side", "child"), [("left", -2_000_000), ("left", -1), ("right", 0), ("right", 99)])
def test_a_tree_of_a_forest_with_children_elsewhere_is_refused(side: str, child: int) -> None:
    trained = DecisionTreeRegressor(max_depth=2).fit(X, Y)
    getattr(trained.tree_, f"children_{side}")[0] = child
    with pytest.raises(InputError, match="it was changed"):
        to_file(trained)


@pytest.mark.parametrize("kind", [GradientBoostingRegressor, SVR])
def test_what_predicts_by_code_that_trusts_its_input_is_refused(kind: Any) -> None:
    with pytest.raises(InputError, match="not on the list"):
        to_file(kind().fit(X, Y))


def test_a_file_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    trained = Ridge().fit(X, Y)
    monkeypatch.setattr(files, "MAX_SIZE", 100)
    with pytest.raises(InputError, match=r"Ridge has .* bytes as a file; there may be 100"):
        to_file(trained)
    monkeypatch.undo()
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", "0" * 10_000)
    monkeypatch.setattr(files, "_MAX_UNPACKED", 1_000)
    with pytest.raises(InputError, match="too large"):
        from_file(bomb.getvalue())
