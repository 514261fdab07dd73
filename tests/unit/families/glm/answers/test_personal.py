"""A client's models, fitted at its own side: of all of its rows, as they are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from comity.client import Client, Policy
from comity.client.examples import DatasetClient
from comity.core.arrays import Floats
from comity.core.kinds import ModelKind
from comity.core.likelihood import LogLoss
from comity.errors import InputError, UnfitError
from comity.families.glm.answers.own import fit_by_evidence
from comity.families.glm.own import fit_own
from comity.families.glm.priors import Priors
from comity.families.glm.sums import Sums
from comity.questions import FitOwn, Moments, Split
from comity.questions.schema import CategoryColumn, NumberColumn, Schema, Target

ALONE, COALITION, BEST = ModelKind.ALONE, ModelKind.COALITION, ModelKind.BEST
COLUMNS = (NumberColumn("x", 0.0, 1.0, False), CategoryColumn("ward", ("a", "b"), False))
NUMBER = Schema(COLUMNS, Target("y", "regression", mean=0.0, scale=1.0))
CLASSES = Schema(COLUMNS, Target("y", "classes", classes=("no", "yes")))


def table(count: int = 12) -> pd.DataFrame:
    """Return rows of which a single one is of ward b."""
    rng = np.random.default_rng(0)
    return pd.DataFrame({"x": rng.normal(size=count), "ward": ["b"] + ["a"] * (count - 1), "y": rng.normal(size=count)})


def with_classes(count: int = 12) -> pd.DataFrame:
    return table(count).assign(y=lambda rows: np.where(rows["y"] > 0, "yes", "no"))


def features(rows: pd.DataFrame) -> Floats:
    return np.column_stack([rows["x"], rows["ward"] == "a", rows["ward"] == "b", np.ones(len(rows))]).astype(float)


def priors(coalition: float = 1.0) -> Priors:
    means = np.array([[0.3, -0.2, 0.4, 0.1]])
    return Priors(2 * np.eye(4), np.array(0.5), np.ones(1), means, np.array([[coalition], [1.0]]))


def test_no_row_is_hidden_and_no_answer_leaves() -> None:
    """In sums below a limit, the only row of its ward would count as one of the other ward."""
    rows = table()
    client = Client("c", rows, Policy(disclosure=0.9))
    found = client.fit_personal(NUMBER, priors())
    x, y = features(rows), rows["y"].to_numpy()
    expected = np.linalg.solve(x.T @ x / 0.5 + 2 * np.eye(4), x.T @ y / 0.5 + 2 * priors().means[0])
    np.testing.assert_allclose(found[BEST], expected[None])
    sums = Sums((x.T @ x)[None], (x.T @ y)[None], np.array([y @ y]), np.array([12.0]))
    np.testing.assert_allclose(found[ALONE], fit_own(sums)[0])
    assert client.log == []
    assert client.disclosed == 0.0
    shown = client.answer(Moments(NUMBER, Split(5, 1, 0), np.empty((0, 4)))).gram.sum(axis=(0, 1))
    assert not np.allclose(shown, x.T @ x), "what leaves is altered"


def test_classes_are_fitted_exactly() -> None:
    rows = with_classes()
    client = Client("c", rows)
    found = client.fit_personal(CLASSES, priors())
    loss = LogLoss(features(rows), (rows["y"] == "yes").to_numpy(float), 2)
    slope = loss.slope(found[COALITION][0], np.ones(12)) + 2 * (found[COALITION][0] - priors().means[0])
    np.testing.assert_allclose(slope, 0.0, atol=1e-5)
    np.testing.assert_array_equal(found[ALONE][0], fit_by_evidence(loss, np.ones(12))[0])
    answered = client.answer(FitOwn(CLASSES, Split(5, 1, 0))).parameters[0]
    np.testing.assert_allclose(found[ALONE][0], answered, rtol=1e-9)


@pytest.mark.parametrize(("schema", "rows"), [(NUMBER, table()), (CLASSES, with_classes())])
def test_without_a_prior_a_client_has_its_model_alone(schema: Schema, rows: pd.DataFrame) -> None:
    found = Client("c", rows).fit_personal(schema, priors(coalition=0.0))
    np.testing.assert_array_equal(found[COALITION], found[ALONE])
    assert not np.allclose(found[BEST], found[ALONE])


@pytest.mark.parametrize("schema", [NUMBER, CLASSES])
@pytest.mark.parametrize("rows", [table().head(0), pd.DataFrame()])
def test_without_rows_every_model_is_that_of_the_prior(schema: Schema, rows: pd.DataFrame) -> None:
    found = Client("c", rows).fit_personal(schema, priors())
    for kind in (ALONE, COALITION, BEST):
        np.testing.assert_allclose(found[kind], priors().means)


def test_rows_of_a_class_that_the_models_do_not_know_are_left_out() -> None:
    rows = with_classes()
    more = pd.concat([rows, rows.head(2).assign(y="perhaps"), rows.head(1).assign(y=None)])
    known, found = (Client("c", each).fit_personal(CLASSES, priors()) for each in (rows, more))
    for kind, models in known.items():
        np.testing.assert_array_equal(found[kind], models)


def test_rows_without_a_number_to_predict_are_left_out() -> None:
    more = pd.concat([table(), table().head(2).assign(y=np.nan)])
    known, found = (Client("c", each).fit_personal(NUMBER, priors()) for each in (table(), more))
    for kind, models in known.items():
        np.testing.assert_array_equal(found[kind], models)


def test_rows_that_do_not_fit_are_refused_by_name() -> None:
    with pytest.raises(UnfitError, match="there is no column 'y', which the models predict"):
        Client("c", table().drop(columns="y")).fit_personal(NUMBER, priors())
    with pytest.raises(InputError, match="there is no column 'ward', which the models need"):
        Client("c", table().drop(columns="ward")).fit_personal(NUMBER, priors())
    examples = DatasetClient("d", [(torch.zeros(2), 0)] * 4, torch.nn.Linear(2, 2))
    with pytest.raises(InputError, match="client 'd' has examples and no table; it cannot fit linear models"):
        examples.fit_personal(NUMBER, priors())
