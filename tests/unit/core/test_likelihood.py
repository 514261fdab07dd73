"""The log loss, its derivatives, and Newton's method on rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.core.likelihood import INTERCEPT_SHARE, LogLoss, Penalty, penalty_factors


def some_rows(seed: int, classes: int, rows: int = 40, features: int = 3) -> LogLoss:
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.normal(size=(rows, features)), np.ones(rows)])
    return LogLoss(x, rng.integers(0, classes, rows).astype(float), classes)


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.integers(2, 4))
def test_slope_and_curvature_agree_with_finite_differences(seed: int, classes: int) -> None:
    loss = some_rows(seed, classes)
    rng = np.random.default_rng(seed)
    at, counts = rng.normal(size=loss.size), rng.integers(0, 3, len(loss.target)).astype(float)
    for direction in np.eye(loss.size):
        step = 1e-5 * direction
        ahead, behind = (loss.losses(at + sign * step) @ counts for sign in (1, -1))
        assert loss.slope(at, counts) @ direction == pytest.approx((ahead - behind) / 2e-5, abs=1e-4)
        bent = (loss.slope(at + step, counts) - loss.slope(at - step, counts)) / 2e-5
        np.testing.assert_allclose(loss.curvature(at, counts) @ direction, bent, atol=1e-4)


def test_two_classes_by_softmax_are_logistic_regression() -> None:
    """Of two classes the odds alone matter: halves with opposite signs give the same probabilities."""
    two = some_rows(1, 2)
    parameters = np.random.default_rng(0).normal(size=two.size)
    as_softmax = LogLoss(two.features, two.target, 3)
    never = np.append(np.zeros(two.size - 1), -1e3)
    spread = np.column_stack([-parameters / 2, parameters / 2, never]).ravel()
    np.testing.assert_allclose(two.probabilities(parameters)[:, 0], as_softmax.probabilities(spread)[:, 1])
    np.testing.assert_allclose(two.losses(parameters), as_softmax.losses(spread))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("penalty", [1e-6, 1e-2])
def test_a_fit_has_no_slope(classes: int, penalty: float) -> None:
    loss = some_rows(2, classes)
    costs = penalty * penalty_factors(loss.size, loss.outputs)
    counts = np.ones(len(loss.target))
    found = loss.fit(counts, costs, np.zeros(loss.size))
    np.testing.assert_allclose(loss.slope(found, counts) / counts.sum() + 2 * costs * found, 0.0, atol=1e-5)


def test_separable_rows_one_class_constant_and_collinear_columns_do_no_harm() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 2))
    features = np.column_stack([x, x[:, 0], np.ones(30), np.zeros(30), np.ones(30)])
    for target in (x[:, 0] > 0, np.ones(30), np.zeros(30)):
        loss = LogLoss(features, target.astype(float), 2)
        for penalty in (1e-6, 1.0):
            found = loss.fit(np.ones(30), penalty * penalty_factors(loss.size, 1), np.zeros(loss.size))
            assert np.isfinite(found).all()
            assert loss.losses(found).mean() < np.log(2)


def test_intercepts_are_nearly_spared() -> None:
    np.testing.assert_array_equal(penalty_factors(4, 2), [1, 1, INTERCEPT_SHARE, INTERCEPT_SHARE])


@pytest.mark.parametrize("classes", [2, 3])
def test_a_penalty_is_a_diagonal_around_zero_or_any_form_around_any_mean(classes: int) -> None:
    loss = some_rows(2, classes)
    rng = np.random.default_rng(2)
    counts, diagonal = rng.integers(0, 3, len(loss.target)).astype(float), rng.uniform(0.01, 1.0, loss.size)
    plain = loss.fit(counts, diagonal, np.zeros(loss.size))
    np.testing.assert_array_equal(loss.fit(counts, Penalty(diagonal), np.zeros(loss.size)), plain)
    np.testing.assert_allclose(loss.fit(counts, Penalty(np.diag(diagonal)), np.zeros(loss.size)), plain, rtol=1e-6)
    root, mean = rng.normal(size=(loss.size, loss.size)), rng.normal(size=loss.size)
    form = root @ root.T
    found = loss.fit(counts, Penalty(form, mean), mean)
    slope = loss.slope(found, counts) / counts.sum() + 2 * form @ (found - mean)
    np.testing.assert_allclose(slope, 0.0, atol=1e-6)


@pytest.mark.parametrize("form", [np.array([1.0, 2.0, 0.5]), np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.1], [0, 0.1, 1]])])
def test_slope_and_curvature_of_a_penalty_agree_with_finite_differences(form: np.ndarray) -> None:
    penalty, at = Penalty(form, np.array([0.2, -1.0, 3.0])), np.array([1.0, 0.5, -2.0])
    for direction in np.eye(3):
        ahead, behind = at + 1e-5 * direction, at - 1e-5 * direction
        found = (penalty.value(ahead) - penalty.value(behind)) / 2e-5
        assert penalty.slope(at) @ direction == pytest.approx(found, abs=1e-6)
        bent = (penalty.slope(ahead) - penalty.slope(behind)) / 2e-5
        np.testing.assert_allclose(penalty.curvature @ direction, bent, atol=1e-6)
