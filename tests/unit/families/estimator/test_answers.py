"""What clients answer about estimators, against predictions of scikit-learn row by row."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sklearn")
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from comity.client import Client
from comity.core.arrays import Floats, join_files
from comity.errors import InputError, RefusedError
from comity.families.estimator.answers import _expanded, _log_losses
from comity.families.estimator.files import from_file, to_file
from comity.families.problem import state_problem
from comity.federation import InProcess
from comity.questions import FitEstimator, Split, StackLosses, StackMoments
from comity.questions.schema import Schema
from comity.study import Study
from support.stacks import NAMES, crossed

SPLIT = Split(folds=3, repeats=1, judges=0)


def members_of(frame: pd.DataFrame, **more: object) -> tuple[Client, ...]:
    return tuple(
        Client(name, rows.drop(columns="client").reset_index(drop=True), **more)  # type: ignore[arg-type]
        for name, rows in frame.groupby("client")
    )


def fitted(frame: pd.DataFrame, estimator: object) -> tuple[tuple[Client, ...], Schema, dict[str, object]]:
    clients = members_of(frame)
    schema = state_problem(InProcess(clients), Study("y")).schema
    file = np.frombuffer(to_file(estimator), np.uint8)
    answers = [client.answer(FitEstimator(schema, SPLIT, file)) for client in clients]
    models, sizes = join_files([each.model.tobytes() for each in answers])
    return clients, schema, {"schema": schema, "split": SPLIT, "estimator": file, "models": models, "sizes": sizes}


def scaled(schema: Schema, frame: pd.DataFrame, client: str) -> tuple[Floats, Floats]:
    rows = frame[frame["client"] == client]
    columns = [(rows[each.name] - each.mean) / each.scale for each in schema.columns]  # type: ignore[union-attr]
    return np.column_stack(columns), rows["y"].to_numpy()


def test_moments_are_of_predictions_by_models_that_do_not_know_the_part() -> None:
    frame, tree = crossed(), DecisionTreeRegressor(max_depth=3, random_state=0)
    clients, schema, about = fitted(frame, tree)
    points = np.empty((0, 7))
    answer = clients[1].answer(StackMoments(**about, own=1, points=points))  # type: ignore[arg-type]
    x, y = scaled(schema, frame, "b")
    y = (y - schema.target.mean) / schema.target.scale
    masks = clients[1]._disclosed.table.splits(schema, SPLIT).masks
    others = [
        clone(tree).fit(each, (goal - schema.target.mean) / schema.target.scale)
        for each, goal in map(partial(scaled, schema, frame), NAMES)
    ]
    for part, mask in enumerate(masks):
        here = mask > 0
        own = clone(tree).fit(x[~here], y[~here])
        predicted = [(own if place == 1 else model).predict(x[here]) for place, model in enumerate(others)]
        design = np.column_stack([*predicted, np.ones(here.sum())])
        np.testing.assert_allclose(answer.gram[0, part], design.T @ design, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(answer.cross[0, part], design.T @ y[here], rtol=1e-9, atol=1e-9)
        assert answer.square[0, part] == pytest.approx(y[here] @ y[here])
        assert answer.rows[0, part] == here.sum()


@pytest.mark.parametrize("classes", [2, 3])
def test_expansions_have_the_slope_and_curvature_of_the_log_loss(classes: int) -> None:
    rng = np.random.default_rng(0)
    outputs = 1 if classes == 2 else classes
    design, target = rng.normal(size=(30, outputs, 4)), rng.integers(0, classes, 30).astype(float)
    point = rng.normal(size=4)
    gram, cross, square = _expanded(design, target, point)

    def loss(stack: Floats) -> float:
        return float(_log_losses(design @ stack, target).sum())

    def expanded(stack: Floats) -> float:
        return float(square - 2 * cross @ stack + stack @ gram @ stack)

    assert expanded(point) == pytest.approx(loss(point))
    for step in 1e-4 * np.eye(4):
        slope = (loss(point + step) - loss(point - step)) / 2e-4
        assert (expanded(point + step) - expanded(point - step)) / 2e-4 == pytest.approx(slope, abs=1e-5)
        bend = (loss(point + step) + loss(point - step) - 2 * loss(point)) / 1e-8
        assert (expanded(point + step) + expanded(point - step) - 2 * expanded(point)) / 1e-8 == pytest.approx(
            bend, abs=1e-4
        )


@pytest.mark.parametrize("classes", [2, 3])
def test_losses_of_a_model_alone_are_its_own_without_extreme_probabilities(classes: int) -> None:
    frame = crossed(classes=classes)
    tree = DecisionTreeClassifier(min_samples_leaf=5, random_state=0)
    clients, schema, about = fitted(frame, tree)
    stacks = np.zeros((1, 3, 6 + (1 if classes == 2 else classes)))
    stacks[..., 2] = 1.0
    answer = clients[2].answer(StackLosses(**about, own=2, parameters=stacks))  # type: ignore[arg-type]
    x, y = scaled(schema, frame, "c")
    for part, mask in enumerate(clients[2]._disclosed.table.splits(schema, SPLIT).masks):
        here = mask > 0
        model = clone(tree).fit(x[~here], y[~here])
        least = 0.5 / ((~here).sum() + 1)
        chance = np.clip(model.predict_proba(x[here]), least, 1 - least)
        chance /= chance.sum(axis=1, keepdims=True)
        expected = -np.log(chance[np.arange(here.sum()), np.searchsorted(model.classes_, y[here])]).sum()
        assert answer.losses[0, part] == pytest.approx(expected)


def test_the_model_that_leaves_is_of_all_rows_and_says_how_many() -> None:
    frame, tree = crossed(), DecisionTreeRegressor(max_depth=3, random_state=0)
    clients, schema, about = fitted(frame, tree)
    answer = clients[0].answer(FitEstimator(schema, SPLIT, about["estimator"]))  # type: ignore[arg-type]
    model, rows = from_file(answer.model.tobytes())
    x, y = scaled(schema, frame, "a")
    assert rows == len(x)
    expected = clone(tree).fit(x, (y - schema.target.mean) / schema.target.scale)
    np.testing.assert_array_equal(model.predict(x), expected.predict(x))


def test_files_that_do_not_fit_their_sizes_are_refused() -> None:
    clients, _, about = fitted(crossed(), DecisionTreeRegressor(max_depth=2))
    about["sizes"] = np.array([1.0, 2.0])
    with pytest.raises(InputError, match="cannot be told apart"):
        clients[0].answer(StackMoments(**about, own=0, points=np.empty((0, 7))))  # type: ignore[arg-type]


def test_a_client_with_a_limit_of_disclosure_gives_no_model() -> None:
    from comity import Policy

    (client, *_) = members_of(crossed(), policy=Policy(disclosure=0.5))
    schema = state_problem(InProcess((client, *members_of(crossed())[1:])), Study("y")).schema
    file = np.frombuffer(to_file(DecisionTreeRegressor()), np.uint8)
    with pytest.raises(RefusedError, match="may hold rows; take the model linear"):
        client.answer(FitEstimator(schema, SPLIT, file))


def test_what_a_model_discloses_is_counted() -> None:
    clients, _, about = fitted(crossed(), DecisionTreeRegressor(max_depth=2))
    (entry,) = [each for each in clients[0].log if each.question == "fit-estimator"]
    assert entry.numbers == -(-int(about["sizes"][0]) // 8)  # type: ignore[index]
    assert entry.disclosed > 1
