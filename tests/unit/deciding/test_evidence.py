"""What distances between models are worth, learned from all clients, and when a client's own rows are believed."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.core.arrays import Floats
from comity.deciding.evidence import Curve, Evidence, weigh

FOLDS = 5


def covariances(rng: np.random.Generator, clients: int, count: int, common: int) -> Floats:
    """Random covariances (N, K, K) of differences from the common procedure."""
    roots = rng.normal(size=(clients, count, count))
    roots[:, common] = 0.0
    return roots @ roots.transpose(0, 2, 1)


def random_evidence(seed: int, clients: int, count: int, common: int) -> Evidence:
    rng = np.random.default_rng(seed)
    expected = rng.uniform(0.1, 1.0, size=(clients, FOLDS, count))
    excess = expected + rng.normal(size=expected.shape)
    for each in (expected, excess):
        each[:, :, common] = 0.0
    return Evidence(
        common=common,
        excess=excess,
        rows=rng.integers(0, 9, size=(clients, FOLDS)).astype(np.float64),
        expected=expected,
        unit=np.full(clients, 0.5),
        gained=(excess[:, :, 0].sum(axis=1)),
        noise=covariances(rng, clients, count, common),
        spread=covariances(rng, clients, count, common),
        final=0.8 * expected.mean(axis=1),
        final_spread=rng.uniform(0.1, 1.0, clients),
        moved=rng.uniform(0.0, 0.1, (clients, 2)),
    )


cases = st.tuples(st.integers(0, 10_000), st.integers(1, 6), st.integers(2, 4)).flatmap(
    lambda case: st.tuples(*map(st.just, case), st.integers(1, case[2] - 1))
)


@given(cases)
@settings(max_examples=40, deadline=None)
def test_a_posterior_is_possible(case: tuple[int, int, int, int]) -> None:
    common = case[-1]
    found = weigh(random_evidence(*case))
    np.testing.assert_array_equal(found.mean[:, common], 0.0)
    assert np.isfinite(found.mean).all()
    assert (found.errors >= 0).all()
    assert (found.error >= found.common_error).all()
    np.testing.assert_allclose(found.weights.sum(axis=0), 1.0)
    chances = found.probability(found.mean[:, 0])
    assert ((chances >= 0) & (chances <= 1)).all()
    np.testing.assert_array_equal(chances > 0.5 + 1e-12, found.mean[:, 0] > 0)


@given(cases)
@settings(max_examples=25, deadline=None)
def test_a_client_that_tested_nothing_gets_what_its_distances_are_worth(case: tuple[int, int, int, int]) -> None:
    evidence = random_evidence(*case)
    evidence.rows[0] = 0.0
    found = weigh(evidence)
    assert found.mean[0, 0] == pytest.approx(0.97 * found.curves[0](evidence.final[:1, 0])[0])


def alike(
    clients: int, level: float, slope: float = 0.0, *, rows: float = 1000.0, outlier: float = 0.0, scale: float = 1.0
) -> Evidence:
    """Two procedures, the second the common one; excess losses follow a curve, and the first client's lies beside."""
    rng = np.random.default_rng(0)
    expected = np.zeros((clients, FOLDS, 2))
    expected[:, :, 0] = np.exp(rng.normal(size=(clients, 1)))
    middle = expected[:, :, 0].mean()
    shape = level + slope * (middle - expected) / (middle + expected)
    variance = (2 * expected**2 + 4 * expected * 0.5) / rows
    excess = expected * shape + np.sqrt(variance) * rng.normal(size=expected.shape)
    excess[0] += outlier * np.array([1.0, 0.0])
    only = np.zeros((clients, 2, 2))
    only[:, 0, 0] = 1.0
    return Evidence(
        common=1,
        excess=excess,
        rows=np.full((clients, FOLDS), rows),
        expected=expected,
        unit=np.full(clients, 0.5),
        gained=excess[:, :, 0].sum(axis=1) * rows,
        noise=scale * 1e-3 * only,
        spread=scale * 1e-3 * only,
        final=expected[:, 0],
        final_spread=np.full(clients, scale * 1e-3),
        moved=np.zeros((clients, 2)),
    )


@pytest.mark.parametrize(("level", "slope"), [(0.5, 0.0), (1.0, 0.0), (2.0, 0.0), (0.6, 0.5), (1.0, -0.5)])
def test_what_distances_are_worth_is_learned_from_many_clients(level: float, slope: float) -> None:
    curve = weigh(alike(200, level, slope)).curves[0]
    np.testing.assert_allclose(curve.coefficients, [level, slope], atol=0.05)


def test_without_clients_that_tested_distances_are_worth_what_was_seen_before() -> None:
    evidence = alike(3, 5.0)
    evidence.rows[:] = 0.0
    curve = weigh(evidence).curves[0]
    assert curve.coefficients[1] == 0.0
    assert 1 < curve.coefficients[0] < 1.5
    np.testing.assert_allclose(curve(np.array([0.0, 2.0])), [0.0, 2 * curve.coefficients[0]])


def test_a_curve_is_the_weighted_regression_on_distances_with_a_prior() -> None:
    rng = np.random.default_rng(1)
    expected, excess, variance = rng.uniform(0.1, 2, 9), 1 + rng.normal(size=9), rng.uniform(0.5, 2, 9)
    found = Curve.fit(expected, excess, variance, np.ones(9), (1.2, 1.5))
    middle = expected.mean()

    def minus_log_posterior(level: float, slope: float) -> float:
        left = excess - expected * (level + slope * (middle - expected) / (middle + expected))
        return float((left**2 / variance).sum() / 2 + 1.5 * (level - 1.2) ** 2 / 2 + 2.0 * slope**2 / 2)

    best = minus_log_posterior(*found.coefficients)
    for step in ((0.01, 0), (-0.01, 0), (0, 0.01), (0, -0.01)):
        assert minus_log_posterior(*(found.coefficients + np.array(step))) > best


@pytest.mark.parametrize("slope", [0.8, 0.2, 0.0])
def test_a_larger_distance_is_not_worth_less(slope: float) -> None:
    worth = weigh(alike(200, 0.2, slope)).curves[0](np.geomspace(1e-3, 1e3, 20))
    assert (worth >= 0).all()
    assert (np.diff(worth) >= 0).all(), "otherwise models that are far away would cost nothing"


def test_who_neither_gained_nor_lost_is_served() -> None:
    evidence = replace(alike(5, 0.0), gained=np.zeros(5))
    np.testing.assert_allclose(evidence.served, 1.0, atol=1e-3)


def test_a_client_is_believed_only_if_its_rows_contradict_the_models_strongly() -> None:
    """Small deviations are noise that its distances know already; large ones are not."""
    by_curve = weigh(alike(50, 1.0)).mean[0, 0]
    a_little, much = (weigh(alike(50, 1.0, outlier=each)).mean[0, 0] for each in (-0.03, -1.0))
    assert abs(a_little - by_curve) < 0.3 * 0.03
    assert by_curve - much > 0.8


def test_who_is_not_served_goes_by_its_own_rows_and_does_not_count_for_others() -> None:
    evidence, beside = alike(50, 1.0), alike(50, 1.0, outlier=-5.0)
    np.testing.assert_allclose(evidence.served, 1.0)
    np.testing.assert_allclose(beside.served, np.r_[0.0, np.ones(49)])
    measured = beside.excess[0, :, 0].mean()
    found = weigh(beside)
    assert found.mean[0, 0] == pytest.approx(measured, rel=0.01)
    assert found.error[0] == pytest.approx(np.sqrt(1e-3), rel=0.01)
    np.testing.assert_allclose(found.curves[0].coefficients, weigh(evidence).curves[0].coefficients, atol=0.02)


def test_what_is_reported_falls_as_models_move() -> None:
    """With all rows, a model alone comes nearer to what more rows would show by the distance that it moves."""
    evidence = alike(200, 1.0)
    falls = 0.3 * evidence.final[:, 0]
    common = np.full(200, 0.1)
    both = np.stack([falls + common, common], axis=1)
    still, moving = weigh(evidence).alone, weigh(replace(evidence, moved=both)).alone
    np.testing.assert_allclose(still, evidence.final[:, 0], rtol=0.08)
    np.testing.assert_allclose(moving, 0.7 * evidence.final[:, 0], rtol=0.08)
    absurd = weigh(replace(evidence, moved=100 * both)).alone
    assert absurd.sum() == pytest.approx(0.25 * evidence.final[:, 0].sum(), rel=0.05)


def test_what_is_reported_leans_less_on_what_is_usual() -> None:
    """Four clients whose rows say 0.8: what they decide by lies nearer to 1.35 than what they are told."""
    evidence = alike(4, 0.8, rows=3.0)
    found = weigh(evidence)
    decided, told = found.mean[:, 0].sum(), found.alone.sum()
    assert told < decided


def test_more_rows_that_test_leave_less_open_of_what_distances_are_worth() -> None:
    few, many = (weigh(alike(10, 1.0, rows=each)).curves[0].error(np.array([0.1, 1.0])) for each in (3.0, 300.0))
    assert (many < few).all()


def test_a_larger_error_makes_a_gain_less_probable() -> None:
    sure, unsure = (weigh(alike(20, 1.0, scale=each)) for each in (1.0, 1000.0))
    gain = np.full(20, 0.5)
    assert (sure.probability(gain) > unsure.probability(gain)).all()
    np.testing.assert_allclose(sure.probability(np.zeros(20)), 0.5)


def test_few_rows_are_hardly_believed() -> None:
    """Three rows that went very badly may be chance: tails of errors are heavy."""
    few, many = (alike(50, 1.0, rows=each, outlier=-5.0) for each in (0.6, 200.0))
    assert few.trusted[0] == pytest.approx(3 / 13)
    for each in (few, many):
        each.gained[0] = -20.0
    assert few.served[0] > 0.9
    assert many.served[0] < 0.1
