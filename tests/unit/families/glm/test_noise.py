"""How likely losses are, if clients' noises differ."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_t

from comity.families.glm.noise import deviances, typical_noise


@given(st.integers(1, 12), st.floats(0.1, 5.0), st.floats(0.2, 3.0))
@settings(max_examples=40, deadline=None)
def test_deviances_are_those_of_a_t_distribution(rows: int, typical: float, size: float) -> None:
    rng = np.random.default_rng(rows)
    errors = size * rng.normal(size=(2, rows))
    density = multivariate_t(np.zeros(rows), typical * np.eye(rows), df=10)
    found = deviances((errors**2).sum(axis=1)[None], np.array([float(rows)]), typical)[0]
    expected = np.array([-2 * density.logpdf(each) for each in errors])
    assert found[1] - found[0] == pytest.approx(expected[1] - expected[0], abs=1e-8)


def test_the_typical_noise_is_the_most_likely_one() -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(3, 30, size=50).astype(np.float64)
    noises = 0.7 / rng.gamma(5.0, 1 / 5.0, size=50)
    losses = np.array([noise * (rng.normal(size=int(n)) ** 2).sum() for noise, n in zip(noises, rows, strict=True)])
    found = typical_noise(losses, rows)

    def minus_log_likelihood(typical: float) -> float:
        return float(deviances(losses[:, None], rows, typical).sum() + (rows * np.log(typical)).sum())

    assert found == pytest.approx(0.7, rel=0.2)
    assert minus_log_likelihood(found) < min(minus_log_likelihood(found * by) for by in (0.98, 1.02))


def test_one_client_with_much_noise_hardly_counts() -> None:
    rows, losses = np.full(20, 10.0), np.full(20, 10.0)
    before = typical_noise(losses, rows)
    losses[0] = 1e6
    assert typical_noise(losses, rows) < 1.2 * before


def test_no_rows_and_no_losses_are_no_error() -> None:
    assert typical_noise(np.zeros(3), np.zeros(3)) > 0
    assert np.isfinite(deviances(np.zeros((3, 2)), np.zeros(3), typical_noise(np.zeros(3), np.zeros(3)))).all()
