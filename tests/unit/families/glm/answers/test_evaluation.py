"""How well models do: standard errors, and what is compared with what."""

import numpy as np
import pytest

from comity.core.likelihood import predict_linear
from comity.questions import Evaluate, Evaluation, Split
from comity.rows.splits import FOR_ERRORS, assign_folds, generator_for
from support.labelled_clients import labelled, loss_of

ROWS = 60


def evaluated(models: np.ndarray, counted: list[list[float]], metric: str = "log-loss") -> Evaluation:
    """Return what client c0 says of models (M, 1 + J, 3)."""
    federation, schema = labelled(ROWS, 20)
    split = Split(judges=models.shape[1] - 1)
    question = Evaluate(schema, split, metric, models, np.array(counted))
    return federation.members[0].answer(question)


def some_models(judges: int) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(2, 1 + judges, 3))


def losses(models: np.ndarray, judges: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the losses (M, n) of c0's rows, by the models that left them out; who judges them; and 200 resamples."""
    federation, schema = labelled(ROWS, 20)
    loss = loss_of(federation.members[0], schema)
    cells = loss.target * 5 + assign_folds(loss.target, 5, 0, "c0", 1)
    judge = assign_folds(cells, judges, 0, "c0")
    predictions = np.array(
        [
            [
                predict_linear(loss.features, each, len(schema.target.classes), schema.target.mean, schema.target.scale)
                for each in kind[1:]
            ]
            for kind in models
        ]
    )
    right = predictions[:, judge, np.arange(ROWS), loss.target.astype(int)]
    drawn = generator_for(0, "c0", FOR_ERRORS).multinomial(ROWS, np.full(ROWS, 1 / ROWS), 200)
    return -np.log(right), judge, drawn.astype(float)


def mean(values: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    return drawn @ values / drawn.sum(axis=1)


@pytest.mark.parametrize("judges", [2, 3, 10])
def test_errors_are_those_of_resampled_rows_and_wider_for_the_models(judges: int) -> None:
    """The deviation over resamples, times √(1 + J / (J - 1)): other rows would train other models."""
    models = some_models(judges)
    (alone, other), _, drawn = losses(models, judges)
    evaluation = evaluated(models, [[1.0] * judges] * 2)
    wider = np.sqrt(1 + judges / (judges - 1))
    assert evaluation.errors[0] == pytest.approx(wider * mean(alone, drawn).std())
    assert evaluation.errors[1] == pytest.approx(wider * mean(other, drawn).std())
    assert evaluation.gain_errors[0] == 0
    assert evaluation.gain_errors[1] == pytest.approx(wider * mean(other - alone, drawn).std())


def test_the_error_of_a_figure_takes_in_that_of_its_gain() -> None:
    """Where some parts only judge the gain: what all rows say of the model alone, and these of the gain."""
    models = some_models(3)
    (alone, other), judge, drawn = losses(models, 3)
    evaluation = evaluated(models, [[1.0, 1.0, 1.0], [1.0, 0.0, 1.0]])
    gained = mean(other - alone, drawn * (judge != 1))
    wider = np.sqrt(1 + 3 / 2)
    assert evaluation.gain_errors[1] == pytest.approx(wider * gained.std())
    assert evaluation.errors[1] == pytest.approx(wider * (mean(alone, drawn) + gained).std())
    assert evaluation.errors[0] == pytest.approx(wider * mean(alone, drawn).std())


def test_what_no_part_judges_cannot_be_said() -> None:
    evaluation = evaluated(some_models(2), [[1.0, 1.0], [0.0, 0.0]])
    for figures in (evaluation.values, evaluation.errors, evaluation.gains, evaluation.gain_errors):
        assert np.isfinite(figures[0])
        assert np.isnan(figures[1])


def test_the_area_under_the_curve_compares_rows_that_one_model_judges() -> None:
    """What a model thinks of all rows alike, its intercept, must not matter; for other metrics it does."""
    models = some_models(3)
    shifted = models.copy()
    shifted[:, 1:, -1] += [-5.0, 0.0, 5.0]
    counted = [[1.0] * 3] * 2
    one, other = (evaluated(each, counted, "auc") for each in (models, shifted))
    for name in ("values", "errors", "gains", "gain_errors"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name))
    assert (one.values > 0).all()
    assert (one.values < 1).all()
    one, other = (evaluated(each, counted) for each in (models, shifted))
    assert not np.allclose(one.values, other.values)
