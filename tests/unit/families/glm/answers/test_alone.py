"""A client's own model: what it loses where the folds judge."""

import numpy as np
import pytest

from comity.core.likelihood import LogLoss, penalty_factors
from comity.questions import FitAlone, FitAloneAnswer, Split
from comity.rows.splits import assign_folds
from support.labelled_clients import labelled, loss_of


def judged(loss: LogLoss, kept: np.ndarray, split: Split, penalty: float) -> float:
    """Return the mean loss of a client c0 on some of its rows, by a model of the others' for each fold of them."""
    costs = penalty * penalty_factors(loss.size, loss.outputs)
    lost, judged = 0.0, 0
    for time in range(split.repeats):
        fold = assign_folds(loss.target, split.folds, split.seed, "c0", 1 + time)
        for k in range(split.folds):
            model = loss.fit((kept & (fold != k)).astype(float), costs, np.zeros(loss.size))
            here = kept & (fold == k)
            lost += loss.losses(model)[here].sum()
            judged += here.sum()
    assert judged == split.repeats * kept.sum()
    return lost / judged


def answer(rows: int, split: Split, *penalties: float) -> tuple[FitAloneAnswer, LogLoss, np.ndarray]:
    """Return the answer of a client c0, the loss on its rows, and which rows each view but the resamples has."""
    federation, schema = labelled(rows, 20)
    question = FitAlone(schema, split, np.array(penalties))
    loss = loss_of(federation.members[0], schema)
    cells = loss.target * split.folds + assign_folds(loss.target, split.folds, split.seed, "c0", 1)
    judge = assign_folds(cells, split.judges, split.seed, "c0")
    views = [np.ones(rows, np.bool_), *(judge != part for part in range(split.judges))]
    return federation.members[0].answer(question), loss, np.stack(views)


@pytest.mark.parametrize("repeats", [1, 2])
@pytest.mark.parametrize(("rows", "allowed"), [(40, 1e-6), (200, 3e-4)])  # of many rows it is one Newton step a fold
def test_what_a_model_of_its_own_loses_is_the_mean_over_folds(repeats: int, rows: int, allowed: float) -> None:
    split = Split(folds=4, repeats=repeats, judges=2, seed=3)
    fitted, loss, views = answer(rows, split, 0.05)
    np.testing.assert_array_equal(fitted.penalties, 0.05)
    for value, kept in zip(fitted.losses, views, strict=True):
        assert value == pytest.approx(judged(loss, kept, split, 0.05), rel=allowed)


def test_the_penalty_is_the_one_that_loses_least() -> None:
    split = Split(folds=4, repeats=1, judges=2, seed=3)
    grid = np.logspace(-3, 1, 5)
    fitted, loss, views = answer(40, split, *grid)
    for value, penalty, kept in zip(fitted.losses, fitted.penalties, views, strict=True):
        assert value == pytest.approx(judged(loss, kept, split, penalty), rel=1e-6)
        assert value <= min(judged(loss, kept, split, each) for each in grid) + 1e-9


def test_resamples_have_the_penalty_of_all_rows() -> None:
    fitted, _, _ = answer(40, Split(folds=4, repeats=1, judges=2, resamples=2), *np.logspace(-3, 1, 5))
    assert fitted.parameters.shape == (5, 3)
    np.testing.assert_array_equal(fitted.penalties[3:], fitted.penalties[0])
