"""Models alone: the mean over penalties of ridge solutions, weighted by the marginal likelihood of the rows."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from comity.core.arrays import Floats
from comity.families.glm.own import fit_own
from support.parts import Rows, planted, sums_of

LOG_PENALTIES = np.linspace(-12.0, 14.0, 53)


def ridges_by_rows(rows: Rows) -> tuple[Floats, float]:
    """Return the model alone and the mean penalty by definition.

    The centred target is normal with the covariance φ (I + XXᵀ / λ), and p(φ) = 1 / φ, which leaves
    |I + XXᵀ / λ|^(-1/2) (yᵀ (I + XXᵀ / λ)⁻¹ y)^(-(n - 1) / 2); the scale √(1 / λ) is half-Cauchy.
    """
    means, level = rows.columns[:, :-1].mean(axis=0), rows.target.mean()
    columns, target = rows.columns[:, :-1] - means, rows.target - level
    count = len(target)
    logs, slopes = [], []
    for penalty in np.exp(LOG_PENALTIES):
        covariance = np.eye(count) + columns @ columns.T / penalty
        quadratic = target @ np.linalg.solve(covariance, target)
        scale = np.sqrt(1 / penalty)
        prior = np.log(scale / (1 + scale**2))  # of log λ, over which penalties are evenly spaced
        logs.append(prior - np.linalg.slogdet(covariance)[1] / 2 - (count - 1) / 2 * np.log(quadratic))
        ridge = columns.T @ columns + penalty * np.eye(columns.shape[1])
        slopes.append(np.linalg.solve(ridge, columns.T @ target))
    weights = np.exp(np.array(logs) - max(logs))
    weights /= weights.sum()
    mean = weights @ np.array(slopes)
    return np.append(mean, level - means @ mean), float(np.exp(weights @ LOG_PENALTIES))


def rows_of(columns: Floats, target: Floats) -> Rows:
    return Rows(np.column_stack([columns, np.ones(len(target))]), target, np.zeros(len(target), np.intp))


@given(st.integers(0, 10_000), st.integers(2, 12), st.integers(1, 4), st.floats(0.1, 2.0))
@settings(max_examples=50, deadline=None)
def test_it_is_the_weighted_mean_of_ridges(seed: int, count: int, columns: int, noise: float) -> None:
    model = np.random.default_rng(seed).normal(size=columns + 1)
    clients = planted(np.array([model, -model]), [count, count + 3], noise, seed=seed)
    assume(all(np.ptp(each.target) > 0.01 for each in clients))  # the sums lose the digits of smaller differences
    found, penalties = fit_own(sums_of(clients))
    for each, own, penalty in zip(clients, found, penalties, strict=True):
        expected, expected_penalty = ridges_by_rows(each)
        np.testing.assert_allclose(own, expected, rtol=1e-5, atol=1e-7)
        assert penalty == pytest.approx(expected_penalty, rel=1e-4)


@pytest.mark.parametrize("count", [0, 1, 2, 5])
@pytest.mark.parametrize("constant", [0.0, 3.0])
def test_few_rows_and_a_constant_target_give_the_mean(count: int, constant: float) -> None:
    columns = np.random.default_rng(1).normal(size=(count, 3))
    models, penalties = fit_own(sums_of([rows_of(columns, np.full(count, constant))]))
    expected = constant if count else 0.0
    assert np.isfinite(penalties).all()
    if count:
        np.testing.assert_allclose(rows_of(columns, np.zeros(count)).columns @ models[0], expected, atol=1e-6)
    np.testing.assert_allclose(models[0], [0, 0, 0, expected], atol=1e-6)


def test_constant_columns_get_no_slope() -> None:
    target = np.random.default_rng(2).normal(size=6)
    models, _ = fit_own(sums_of([rows_of(np.full((6, 2), 5.0), target)]))
    np.testing.assert_allclose(models[0], [0, 0, target.mean()], atol=1e-6)


def test_without_any_signal_the_intercept_is_the_mean() -> None:
    columns = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    target = np.array([3.0, 1.0, 1.0, 3.0])  # uncorrelated with both columns
    models, _ = fit_own(sums_of([rows_of(columns, target)]))
    np.testing.assert_allclose(models[0], [0, 0, 2], atol=1e-12)


def test_a_target_that_fits_exactly_is_found() -> None:
    clients = planted(np.array([[1.0, -2.0, 0.5]]), [30], 0.0)
    models, _ = fit_own(sums_of(clients))
    np.testing.assert_allclose(models[0], [1.0, -2.0, 0.5], atol=1e-4)


def test_clients_do_not_matter_to_each_other() -> None:
    clients = planted(np.array([[1.0, 0.0], [-1.0, 2.0]]), [8, 9], 0.5)
    together = fit_own(sums_of(clients))[0]
    np.testing.assert_allclose(together, np.vstack([fit_own(sums_of([each]))[0] for each in clients]), atol=1e-12)
