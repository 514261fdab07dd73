"""Estimators the whole way: solve, decide, save, load, predict, report, and over a federation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sklearn")
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import comity
from comity.errors import ChangedError, InputError
from comity.result.client_result import ClientResult
from support.stacks import NAMES, crossed

GROUPS = {frozenset("abc"), frozenset("def")}


@pytest.fixture(scope="module")
def result() -> comity.Result:
    return comity.solve(crossed(), client="client", target="y", model="boosting")


def test_boosted_trees_find_groups_that_linear_models_cannot_tell(result: comity.Result) -> None:
    assert set(result.coalitions) == GROUPS
    assert result.certificate.verdict == "proved"
    linear = comity.solve(crossed(), client="client", target="y")
    assert set(linear.coalitions) != GROUPS


def test_models_in_coalitions_do_better_on_new_rows(result: comity.Result) -> None:
    new = crossed(seed=1, rows=500)
    errors = {
        kind: ((result.predict(new, model=kind)["prediction"] - new["y"]) ** 2).mean()
        for kind in ("alone", "coalition", "together")
    }
    assert errors["coalition"] < 0.9 * errors["alone"] < errors["together"]


def test_a_result_is_the_same_after_saving_and_is_verified(result: comity.Result, tmp_path: Path) -> None:
    result.save(tmp_path / "run")
    comity.verify(tmp_path / "run")
    again, new = comity.Result.load(tmp_path / "run"), crossed(seed=2, rows=5)
    for kind in ("alone", "coalition", "best", "together"):
        pd.testing.assert_frame_equal(again.predict(new, model=kind), result.predict(new, model=kind))
    result.report(tmp_path / "report.html")
    assert "gradient-boosted trees" in (tmp_path / "report.html").read_text()


def test_models_that_were_changed_are_refused(result: comity.Result, tmp_path: Path) -> None:
    result.save(tmp_path / "run")
    stored = dict(np.load(tmp_path / "run" / "models.npz"))
    stored["files"][100] ^= 1
    np.savez(tmp_path / "run" / "models.npz", **stored)  # type: ignore[arg-type]
    with pytest.raises(ChangedError):
        comity.Result.load(tmp_path / "run")


def test_a_newcomer_is_predicted_as_by_a_typical_member(result: comity.Result) -> None:
    new = crossed(seed=3, rows=3)
    new["client"] = "newcomer"
    with pytest.warns(comity.ComityWarning, match="newcomer"):
        found = result.predict(new)["prediction"]
    by_member = []
    for name in NAMES:
        new["client"] = name
        by_member.append(result.predict(new)["prediction"])
    np.testing.assert_allclose(found, np.mean(by_member, axis=0))


@pytest.mark.parametrize("classes", [2, 3])
def test_classes_with_an_estimator_of_the_user(classes: int) -> None:
    found = comity.solve(
        crossed(classes=classes, rows=80),
        client="client",
        target="y",
        metric="log-loss",
        model=DecisionTreeClassifier(max_depth=4, min_samples_leaf=5, random_state=0),
    )
    new = crossed(seed=1, rows=400, classes=classes)
    chances = found.predict(new)
    names = [name for name in chances if name.startswith("p_")]
    np.testing.assert_allclose(chances[names].sum(axis=1), 1.0)

    def loss(kind: str) -> float:
        rows = found.predict(new, model=kind)[names].to_numpy()
        return float(-np.log(rows[np.arange(len(new)), [names.index(f"p_{each}") for each in new["y"]]]).mean())

    assert loss("coalition") < loss("alone")
    assert set(found.coalitions) == GROUPS


def test_a_pipeline_solves_and_the_same_seed_gives_the_same_result() -> None:
    frame = crossed(rows=30)
    model = make_pipeline(StandardScaler(), DecisionTreeRegressor(max_depth=3, random_state=0))
    one, other = (comity.solve(frame, client="client", target="y", model=model) for _ in range(2))
    assert one.to_dict() == other.to_dict()
    assert not hasattr(model, "steps_")
    assert not hasattr(model[-1], "tree_")  # the user's own is never trained


def test_small_clients_of_one_class_or_with_one_row_take_part() -> None:
    small = pd.DataFrame({"x": [0.1, 0.2, 0.3], "z": [0.5, 0.4, 0.1], "y": list("lmm")})
    small["client"] = ["one", "two", "two"]
    frame = pd.concat([crossed(rows=40, classes=2), small], ignore_index=True)
    with pytest.warns(comity.ComityWarning, match="one class only at clients|the auc of clients"):
        found = comity.solve(frame, client="client", target="y", model=DecisionTreeClassifier(max_depth=3))
    assert {"one", "two"} <= set(found.clients)
    assert found.predict(small)["p_l"].between(0.01, 0.99).all()


def test_a_client_gets_the_models_of_its_coalition_and_of_nobody_else(result: comity.Result, tmp_path: Path) -> None:
    part = ClientResult.of(result, "b")
    assert [bool(file) for file in part.files] == [name in "abc" for name in NAMES]
    part.save(tmp_path / "part")
    rows = crossed(seed=4, rows=4).query("client == 'b'").drop(columns=["client", "y"])
    again = ClientResult.load(tmp_path / "part").predict(rows)
    np.testing.assert_array_equal(again["prediction"], result.predict(rows, client="b")["prediction"])
    with pytest.raises(InputError, match="models of clients outside of the coalition"):
        part.predict(rows, model="together")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (SVC(), "SVC has no predict_proba, and the target has classes"),
        (LinearRegression(), "LinearRegression has no predict_proba"),
        (object(), "model is a object, without fit"),
        (12, "model is a int, without fit"),
    ],
)
def test_an_estimator_that_does_not_fit_expanded_is_refused(model: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        comity.solve(crossed(classes=2), client="client", target="y", model=model)


def test_a_classifier_for_a_number_is_refused() -> None:
    with pytest.raises(InputError, match="LogisticRegression is a classifier, and the target is a number"):
        comity.solve(crossed(), client="client", target="y", model=LogisticRegression())


def test_settings_of_other_models_are_refused() -> None:
    with pytest.raises(InputError, match="penalty has no effect on the model 'boosting'"):
        comity.solve(crossed(), client="client", target="y", model="boosting", penalty=1.0)
    with pytest.raises(InputError, match="search is 'spo', which the model 'boosting' does not have"):
        comity.solve(crossed(), client="client", target="y", model="boosting", search="spo")


def test_an_estimator_that_fails_names_the_client_and_the_reason() -> None:
    frame = crossed()
    bad = DecisionTreeRegressor(max_depth=-1)
    with pytest.raises(
        InputError, match=r"DecisionTreeRegressor cannot be trained on \d+ rows of client 'a'.*max_depth"
    ):
        comity.solve(frame, client="client", target="y", model=bad)
