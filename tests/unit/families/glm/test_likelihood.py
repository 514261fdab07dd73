"""How likely losses are, and what they say about procedures."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_t

from comity.families.glm.likelihood import Likelihood, best_for_all, typical_noise


@given(st.integers(1, 12), st.floats(0.1, 5.0), st.floats(0.2, 3.0))
@settings(max_examples=40, deadline=None)
def test_deviances_are_those_of_a_t_distribution(rows: int, typical: float, size: float) -> None:
    rng = np.random.default_rng(rows)
    errors = size * rng.normal(size=(2, rows))
    density = multivariate_t(np.zeros(rows), typical * np.eye(rows), df=10)
    found = Likelihood(np.array([float(rows)])).deviances((errors**2).sum(axis=1)[None], typical)[0]
    expected = np.array([-2 * density.logpdf(each) for each in errors])
    assert found[1] - found[0] == pytest.approx(expected[1] - expected[0], abs=1e-8)


def test_the_typical_noise_is_the_most_likely_one() -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(3, 3000, size=50).astype(np.float64)
    noises = 0.7 / rng.gamma(5.0, 1 / 5.0, size=50)
    losses = np.array([noise * (rng.normal(size=int(n)) ** 2).sum() for noise, n in zip(noises, rows, strict=True)])
    found = typical_noise(losses, rows)

    def minus_log_likelihood(typical: float) -> float:
        return float(Likelihood(rows).deviances(losses[:, None], typical).sum() + (rows * np.log(typical)).sum())

    assert found == pytest.approx(0.7, rel=0.2)
    assert minus_log_likelihood(found) < min(minus_log_likelihood(found * by) for by in (0.98, 1.02))


@pytest.mark.parametrize("each", [3.0, 10.0, 1000.0])
def test_one_client_with_much_noise_hardly_counts(each: float) -> None:
    rows, losses = np.full(20, each), np.full(20, each)
    before = typical_noise(losses, rows)
    losses[0] = 1e6 * each
    assert typical_noise(losses, rows) < 1.7 * before


def test_no_rows_and_no_losses_are_no_error() -> None:
    assert typical_noise(np.zeros(3), np.zeros(3)) > 0
    none = Likelihood(np.zeros(3))
    assert np.isfinite(none.deviances(np.zeros((3, 2)), none.typical(np.zeros(3)))).all()


def test_whom_a_try_hurts_decides_for_nobody_else() -> None:
    likelihood = Likelihood(np.full(6, 5.0), noise=0.5)  # losses are logarithms of likelihoods
    alone = np.full(6, 10.0)
    losses = np.column_stack([np.full(6, 9.0), np.r_[np.full(5, 8.0), 50.0]])
    totals = likelihood.voted(losses, alone).sum(axis=0) / 2
    np.testing.assert_allclose(totals, -np.log(np.exp(-losses) + np.exp(-alone - 3)[:, None]).sum(axis=0))
    assert totals[1] - totals[0] < 3 + 10 - 9, "at most what it loses by being alone, and the odds"


def test_the_nearest_must_serve_more_than_one_client_better_than_anybody() -> None:
    nearest = np.array([True, True, False])
    all_gain, one_gains = np.zeros((6, 3)), np.zeros((6, 3))
    all_gain[:, 2] = 20.0
    one_gains[0, 1:] = 500.0
    assert best_for_all(all_gain, nearest) == 0
    assert best_for_all(one_gains, nearest) == 2
    assert best_for_all(0.02 * all_gain, nearest) == 2, "a small difference is not enough"
