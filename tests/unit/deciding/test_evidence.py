"""Weighing what clients' rows say against what is expected."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.core.arrays import Floats
from comity.deciding.evidence import EXPECTED_FACTORS, Evidence, weigh


def covariances(rng: np.random.Generator, clients: int, count: int, common: int) -> Floats:
    """Random covariances (N, K, K) of differences from the common procedure."""
    roots = rng.normal(size=(clients, count, count))
    roots[:, common] = 0.0
    return roots @ roots.transpose(0, 2, 1)


def random_evidence(seed: int, clients: int, count: int, common: int, noise: float) -> Evidence:
    rng = np.random.default_rng(seed)
    expected = rng.uniform(0.1, 1.0, size=(clients, count))
    expected[:, common] = 0.0
    return Evidence(
        rng.normal(size=(clients, count)),
        noise * covariances(rng, clients, count, common),
        expected,
        covariances(rng, clients, count, common) + 0.1 * np.diag(np.arange(count) != common),
    )


cases = st.tuples(st.integers(0, 10_000), st.integers(1, 6), st.integers(2, 4)).flatmap(
    lambda case: st.tuples(*map(st.just, case), st.integers(0, case[2] - 1))
)


@given(cases)
@settings(max_examples=25, deadline=None)
def test_without_noise_the_posterior_is_what_was_observed(case: tuple[int, int, int, int]) -> None:
    evidence, common = random_evidence(*case, noise=0.0), case[-1]
    found = weigh(evidence, common)
    np.testing.assert_allclose(found.mean, evidence.losses - evidence.losses[:, [common]], atol=1e-3)
    np.testing.assert_allclose(found.covariance, 0.0, atol=1e-3)


@given(cases)
@settings(max_examples=25, deadline=None)
def test_with_huge_noise_the_posterior_is_what_is_expected(case: tuple[int, int, int, int]) -> None:
    evidence, common = random_evidence(*case, noise=0.0), case[-1]
    clients, count = evidence.losses.shape
    huge = np.tile(1e9 * np.diag((np.arange(count) != common).astype(float)), (clients, 1, 1))
    found = weigh(Evidence(evidence.losses, huge, evidence.expected, evidence.spread), common)
    np.testing.assert_allclose(found.factors, EXPECTED_FACTORS, atol=1e-4)
    kinds = np.where(np.arange(count) == 0, *EXPECTED_FACTORS)
    np.testing.assert_allclose(found.mean, evidence.expected * kinds, atol=1e-3)


@given(cases)
@settings(max_examples=25, deadline=None)
def test_a_client_without_losses_gets_what_is_expected(case: tuple[int, int, int, int]) -> None:
    evidence, common = random_evidence(*case, noise=1.0), case[-1]
    evidence.losses[0] = np.nan
    found = weigh(evidence, common)
    kinds = np.where(np.arange(evidence.losses.shape[1]) == 0, *found.factors)
    np.testing.assert_allclose(found.mean[0], evidence.expected[0] * kinds)
    assert np.isfinite(found.mean).all()
    if len(evidence.losses) == 1:
        np.testing.assert_allclose(found.factors, EXPECTED_FACTORS)


@given(cases, st.sampled_from([0.0, 1e-3, 1.0, 1e3]))
@settings(max_examples=40, deadline=None)
def test_covariances_are_symmetric_and_positive_semidefinite(case: tuple[int, int, int, int], noise: float) -> None:
    common = case[-1]
    found = weigh(random_evidence(*case, noise=noise), common)
    np.testing.assert_allclose(found.covariance, found.covariance.transpose(0, 2, 1), atol=1e-6)
    assert np.linalg.eigvalsh(found.covariance).min() > -1e-6
    np.testing.assert_array_equal(found.mean[:, common], 0.0)
    np.testing.assert_array_equal(found.covariance[:, common], 0.0)
    assert found.shares.sum() == pytest.approx(1.0)


def test_more_noise_leaves_more_open() -> None:
    less, more = (weigh(random_evidence(1, 4, 3, 1, noise), 1).covariance for noise in (0.01, 10.0))
    assert (np.trace(less, axis1=1, axis2=2) < np.trace(more, axis1=1, axis2=2)).all()


def alike(clients: int, factor: float, scale: float, noise: float = 1e-3) -> Evidence:
    """Two procedures, the second the common one; excess losses are drawn from N(factor q, scale C) with noise."""
    rng = np.random.default_rng(0)
    expected = np.column_stack([rng.uniform(0.5, 1.5, clients), np.zeros(clients)])
    only = np.zeros((clients, 2, 2))
    only[:, 0, 0] = 1.0
    spread = 0.01
    observed = factor * expected[:, 0] + np.sqrt(scale * spread + noise) * rng.normal(size=clients)
    return Evidence(np.column_stack([2 + observed, np.full(clients, 2.0)]), noise * only, expected, spread * only)


@pytest.mark.parametrize("factor", [0.0, 0.5, 1.0, 2.0])
def test_the_factor_is_learned_from_many_clients(factor: float) -> None:
    assert weigh(alike(300, factor, 1.0), 1).factors[0] == pytest.approx(factor, abs=0.05)


@pytest.mark.parametrize("scale", [0.3, 10.0])
def test_the_scale_is_learned_from_many_clients(scale: float) -> None:
    shares = weigh(alike(300, 1.0, scale), 1).shares
    mean = float(shares @ np.array([0.3, 1.0, 3.0, 10.0, 30.0]))
    assert scale / 1.5 < mean < 1.5 * scale + 0.3


def test_with_one_scale_it_is_the_posterior_of_normal_distributions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("comity.deciding.evidence._SCALES", np.array([1.0]))
    monkeypatch.setattr("comity.deciding.evidence._SEEN_BEFORE", np.array([1.0]))
    evidence = alike(5, 1.0, 1.0)
    found = weigh(evidence, 1)
    observed, centre = evidence.losses[:, 0] - evidence.losses[:, 1], evidence.expected[:, 0] * found.factors[0]
    kept = 0.01 / (0.01 + 1e-3)
    np.testing.assert_allclose(found.mean[:, 0], centre + kept * (observed - centre), atol=1e-4)
    np.testing.assert_allclose(found.covariance[:, 0, 0], 0.01 * (1 - kept), atol=1e-5)


def test_some_procedures_are_those_chosen() -> None:
    evidence = random_evidence(3, 4, 3, 1, 1.0)
    chosen = evidence.some([2, 1])
    np.testing.assert_array_equal(chosen.losses, evidence.losses[:, [2, 1]])
    np.testing.assert_array_equal(chosen.expected, evidence.expected[:, [2, 1]])
    np.testing.assert_array_equal(chosen.noise[:, 0, 1], evidence.noise[:, 2, 1])
    np.testing.assert_array_equal(chosen.spread[:, 0, 0], evidence.spread[:, 2, 2])
