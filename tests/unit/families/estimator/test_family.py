"""Estimators the whole way: solve, decide, save, load, predict, report, and over a federation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sklearn")
from sklearn.ensemble import GradientBoostingClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import comity
from comity.core.kinds import ModelKind
from comity.errors import ChangedError, InputError
from comity.families.family import Request
from comity.result.client_result import ClientResult
from comity.solving.findings import learn
from comity.solving.solve import as_result
from comity.study import Study
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
        (object(), "model is of the type object, without fit"),
        (12, "model is of the type int, without fit"),
        (DecisionTreeClassifier, "model is the class DecisionTreeClassifier; give an estimator"),
        (GradientBoostingClassifier(), "_gb.GradientBoostingClassifier, which is not on the list"),
        (make_pipeline(StandardScaler(), LogisticRegression(), memory="here"), "has a directory as its memory"),
    ],
)
def test_an_estimator_that_does_not_fit_classes_is_refused(model: object, message: str) -> None:
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


def test_an_estimator_that_fails_is_refused_with_the_reason_before_clients_are_asked() -> None:
    frame = crossed()
    bad = DecisionTreeRegressor(max_depth=-1)
    with pytest.raises(InputError, match=r"DecisionTreeRegressor cannot be trained on rows of numbers .*max_depth"):
        comity.solve(frame, client="client", target="y", model=bad)


@pytest.mark.parametrize("seed", range(4))
def test_fully_grown_trees_whose_scores_are_extreme(seed: int) -> None:
    model = DecisionTreeClassifier(random_state=0)
    found = comity.solve(crossed(seed, 30, classes=2), client="client", target="y", model=model, metric="log-loss")
    for standing in found.utilities.values():
        assert 0 < standing.alone.value < 1


def test_a_seed_is_enough_for_models_that_draw_at_random() -> None:
    frame, model = crossed(rows=30), RandomForestRegressor(5, n_jobs=2)
    one, other = (comity.solve(frame, client="client", target="y", model=model, seed=3) for _ in "ab")
    assert one.files == other.files
    assert comity.solve(frame, client="client", target="y", model=model, seed=4).files != one.files


def test_the_error_alone_that_is_told_is_that_on_new_rows() -> None:
    told, true = [], []
    for seed in range(6):
        model = DecisionTreeRegressor(random_state=0)  # it knows all rows that trained it by heart
        found = comity.solve(crossed(seed, 40), client="client", target="y", model=model)
        told += [standing.alone.value for standing in found.utilities.values()]
        new = crossed(seed + 100, 300)
        errors = (found.predict(new, model="alone")["prediction"] - new["y"]) ** 2
        true += np.sqrt(errors.groupby(new["client"]).mean()).tolist()
    assert np.mean(told) / np.mean(true) == pytest.approx(1.0, abs=0.06)


def test_one_wild_client_spoils_nobody_elses_model() -> None:
    frame = crossed(rows=40)
    frame.loc[frame["client"] == "f", "x"] *= 1e-3
    model = make_pipeline(PolynomialFeatures(7), LinearRegression())
    found = comity.solve(frame, client="client", target="y", model=model)
    assert np.isfinite([each.coalition.value for each in found.utilities.values()]).all()
    others = [found.utilities[name] for name in "abcde"]
    assert max(each.coalition.value for each in others) < 2
    assert all(abs(each.gain.error) < 10 for each in found.utilities.values() if each.gain.error == each.gain.error)


def test_a_class_that_a_client_lacks_is_the_same_class_to_everybody() -> None:
    frame = crossed(rows=60, classes=3)
    frame = frame[(frame["client"] != "b") | (frame["y"] != "l")]
    found = comity.solve(
        frame, client="client", target="y", model=DecisionTreeClassifier(max_depth=4, min_samples_leaf=5)
    )
    rows = frame[frame["client"] == "b"]
    chances = found.predict(rows, model="alone")
    assert (chances["p_l"] < 0.2).all()
    assert (chances["prediction"] == rows["y"].to_numpy()).mean() > 0.6


def test_a_client_with_a_limit_is_named_before_any_model_leaves() -> None:
    limits = {"b": 0.5, "e": 0.5}
    clients = tuple(
        comity.Client(name, rows.drop(columns="client"), comity.Policy(disclosure=limits.get(name, np.inf)))
        for name, rows in crossed().groupby("client")
    )
    with pytest.raises(InputError, match=r"clients 'b', 'e' limit what they disclose.*take the model linear"):
        comity.solve(comity.InProcess(clients), target="y", model="boosting")
    assert {each.question for client in clients for each in client.log} == {"describe"}


def test_too_many_clients_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("comity.families.estimator.asking.MAX_CLIENTS", 5)
    with pytest.raises(InputError, match=r"there are 6 clients.* there may be 5"):
        comity.solve(crossed(), client="client", target="y", model="boosting")


@pytest.mark.parametrize("change", ["no files", "half", "short", "wide", "foreign", "outsiders"])
def test_stacks_that_do_not_go_with_their_files_are_refused(result: comity.Result, tmp_path: Path, change: str) -> None:
    models, files = {kind: each.copy() for kind, each in result.models.items()}, list(result.files)
    if change in ("short", "wide"):
        models = {kind: each[:, :4] if change == "short" else np.tile(each, 2) for kind, each in models.items()}
    elif change == "outsiders":
        models[ModelKind.ALONE][0, 1] = 0.3
    else:
        files = {"no files": [], "half": files[:3], "foreign": [b"nothing", *files[1:]]}[change]
    replace(result, models=models, files=tuple(files)).save(tmp_path / "run")
    with pytest.raises(InputError):
        comity.verify(tmp_path / "run")


def test_the_models_on_test_rows_are_those_of_the_result() -> None:
    frame, new = crossed(rows=40), crossed(seed=9, rows=50)
    clients = tuple(
        comity.Client(name, rows.drop(columns="client"), test=new[new["client"] == name].drop(columns="client"))
        for name, rows in frame.groupby("client")
    )
    request = Request(comity.InProcess(clients), Study("y", model="boosting"))
    findings = learn(request)
    tested = findings.fit.test(findings.evaluated)
    result = as_result(request, findings)
    for place, kind in enumerate(ModelKind):
        errors = pd.Series(
            [
                float(((result.predict(rows, client=name, model=kind)["prediction"] - rows["y"]) ** 2).mean())
                for name, rows in ((name, rows.drop(columns="client")) for name, rows in new.groupby("client"))
            ]
        )
        np.testing.assert_allclose([tested[name].values[place] for name in NAMES], np.sqrt(errors), rtol=1e-9)
