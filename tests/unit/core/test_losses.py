"""The losses of all tasks: derivatives, expansions and fits, and agreement with statsmodels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.discrete.discrete_model import Poisson
from statsmodels.duration.hazard_regression import PHReg

from comity.core.likelihood import Loss
from comity.core.losses import LOSSES, PREDICTIONS, Scale
from comity.core.tasks import Task

TASKS = list(LOSSES)
RATE = 2.0


def some_rows(task: Task, seed: int, rows: int = 40, features: int = 3) -> Loss:
    """Rows with the target of a task; times have ties."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.normal(size=(rows, features)), np.ones(rows)])
    exposure = rng.uniform(0.5, 2.0, rows)
    target = {
        "regression": rng.normal(size=rows),
        "classes": rng.integers(0, 3, rows).astype(float),
        "counts": rng.poisson(RATE * exposure * np.exp(0.3 * x[:, 0])).astype(float),
        "survival": rng.choice([-1.0, 1.0], rows) * np.ceil(8 * rng.exponential(size=rows)),
    }[task]
    return LOSSES[task](x, target, exposure, Scale(3 if task == "classes" else 0, RATE, 1.0))


@pytest.mark.parametrize("task", TASKS)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_slope_and_curvature_agree_with_finite_differences(task: Task, seed: int) -> None:
    loss, rng = some_rows(task, seed), np.random.default_rng(seed)
    at, counts = 0.7 * rng.normal(size=loss.size), rng.integers(0, 3, len(loss.target)).astype(float)
    slope, curvature = loss.derivatives(at, counts)
    for direction in np.eye(loss.size):
        step = 1e-5 * direction
        ahead, behind = (loss.total(at + sign * step, counts) for sign in (1, -1))
        assert slope @ direction == pytest.approx((ahead - behind) / 2e-5, abs=2e-4, rel=1e-5)
        bent = (loss.slope(at + step, counts) - loss.slope(at - step, counts)) / 2e-5
        np.testing.assert_allclose(curvature @ direction, bent, atol=2e-4, rtol=1e-5)
    assert np.linalg.eigvalsh(curvature).min() > -1e-8, "convex"


@pytest.mark.parametrize("task", TASKS)
def test_an_expansion_has_the_value_and_the_derivatives_of_the_loss_at_its_point(task: Task) -> None:
    loss = some_rows(task, 1)
    at, counts = np.full(loss.size, 0.3), np.ones(len(loss.target))
    gram, cross, square, observed = loss.expanded(at, counts)
    slope, curvature = loss.derivatives(at, counts)
    assert square - 2 * cross @ at + at @ gram @ at == pytest.approx(loss.total(at, counts))
    np.testing.assert_allclose(2 * (gram @ at - cross), slope, atol=1e-9)
    np.testing.assert_allclose(2 * gram, curvature, atol=1e-9)
    assert observed == loss.observations(counts)


@pytest.mark.parametrize("task", TASKS)
def test_some_rows_are_those_that_count(task: Task) -> None:
    loss = some_rows(task, 2)
    counts = np.random.default_rng(0).integers(0, 2, len(loss.target)).astype(float)
    here = np.flatnonzero(counts)
    at = np.full(loss.size, 0.2)
    assert loss.some(here).total(at, counts[here]) == pytest.approx(loss.total(at, counts))
    assert loss.some(here).observations(counts[here]) == loss.observations(counts)
    np.testing.assert_allclose(loss.some(here).slope(at, counts[here]), loss.slope(at, counts), atol=1e-10)


@pytest.mark.parametrize("task", TASKS)
def test_a_fit_has_no_slope_and_extreme_parameters_do_not_overflow(task: Task) -> None:
    loss = some_rows(task, 3)
    counts = np.ones(len(loss.target))
    for start in (np.zeros(loss.size), np.full(loss.size, 4.0)):
        found = loss.fit(counts, np.full(loss.size, 1e-4), start)
        np.testing.assert_allclose(loss.slope(found, counts) / counts.sum() + 2e-4 * found, 0.0, atol=1e-5)
    far = np.full(loss.size, 1e6)
    assert np.isfinite(loss.total(far, counts))
    assert all(np.isfinite(each).all() for each in loss.derivatives(far, counts))
    x = np.column_stack([np.full((2, loss.size - loss.intercepts), 1e6), np.ones(2)])
    assert np.isfinite(PREDICTIONS[task](x[:, : far.size + 1], far[: x.shape[1]], Scale(0, 1.0, 1.0))).all() or (
        task == "classes"
    )


def test_counts_agree_with_statsmodels() -> None:
    """The loss at any parameters, up to that of a perfect model, its slope, and the fit of maximum likelihood."""
    loss = some_rows("counts", 4, rows=200)
    x, y, exposure = loss.features, loss.target, loss.base / RATE
    theirs, once = Poisson(y, x, exposure=exposure), np.ones(len(y))
    level = np.log(RATE)  # parameters of zero are the rate of all clients
    perfect = Poisson(y, np.ones((len(y), 1))).loglike(np.zeros(1))  # only to have the factorials
    perfect = perfect + 1.0 * len(y) + (np.where(y > 0, y * np.log(np.maximum(y, 1)) - y, 0.0)).sum()
    for seed in range(5):
        at = 0.5 * np.random.default_rng(seed).normal(size=4)
        shifted = at + level * np.eye(4)[3]
        assert loss.total(at, once) == pytest.approx(perfect - theirs.loglike(shifted), rel=1e-9)
        np.testing.assert_allclose(loss.slope(at, once), -theirs.score(shifted), rtol=1e-8, atol=1e-8)
    fitted = theirs.fit(disp=False, method="newton", tol=1e-12)
    ours = loss.fit(once, np.full(4, 1e-14), np.zeros(4))
    np.testing.assert_allclose(ours + level * np.eye(4)[3], fitted.params, atol=1e-6)


@pytest.mark.parametrize("strata", [1, 3])
def test_survival_agrees_with_statsmodels(strata: int) -> None:
    """Pooled, and stratified by client, with ties as Breslow has them."""
    clients = [some_rows("survival", seed, rows=70) for seed in range(strata)]
    x = np.concatenate([each.features for each in clients])
    targets = np.concatenate([each.target for each in clients])
    theirs = PHReg(np.abs(targets), x, status=targets > 0, strata=np.repeat(range(strata), 70), ties="breslow")
    once = np.ones(70)
    for seed in range(5):
        at = np.random.default_rng(seed).normal(size=3)
        assert sum(each.total(at, once) for each in clients) == pytest.approx(-theirs.loglike(at), rel=1e-9)
        slope = sum(each.slope(at, once) for each in clients)
        np.testing.assert_allclose(slope, -theirs.score(at), rtol=1e-8, atol=1e-8)
        curvature = sum(each.curvature(at, once) for each in clients)
        np.testing.assert_allclose(curvature, -theirs.hessian(at), rtol=1e-8, atol=1e-8)
    fitted = theirs.fit(disp=0)
    at = np.zeros(3)
    for _ in range(20):  # Newton's method on sums, as a federation would
        curvature = sum(each.curvature(at, once) for each in clients)
        at = at - np.linalg.solve(curvature, sum(each.slope(at, once) for each in clients))
    np.testing.assert_allclose(at, fitted.params, atol=1e-6)
    if strata == 1:
        np.testing.assert_allclose(clients[0].fit(once, np.full(3, 1e-14), np.zeros(3)), fitted.params, atol=1e-6)


def test_rows_vary_as_much_as_the_distribution_says_or_more() -> None:
    rng = np.random.default_rng(0)
    ones, exposure = np.ones((3000, 1)), np.ones(3000)
    counts = np.ones(3000)
    for spread, expected in ((0.0, 1.0), (0.5, 3.0), (1.0, 5.0)):  # a mean of 4 has the variance 4 + spread 16
        means = 4 * rng.gamma(1 / spread, spread, 3000) if spread else np.full(3000, 4.0)
        loss = LOSSES["counts"](ones, rng.poisson(means).astype(float), exposure, Scale(0, 4.0, 1.0))
        assert loss.dispersion(np.zeros(1), counts, 1.0) == pytest.approx(expected, rel=0.12)
    few = LOSSES["counts"](ones[:2], np.array([0.0, 40.0]), exposure[:2], Scale(0, 4.0, 1.0))
    assert few.dispersion(np.zeros(1), counts[:2], 1.0) < 40, "two rows prove little"


def test_an_event_with_nobody_else_at_risk_says_nothing() -> None:
    x = np.column_stack([np.arange(4.0), np.ones(4)])
    loss = LOSSES["survival"](x, np.array([3.0, -1.0, 2.0, 2.0]), np.ones(4), Scale(0, 0.0, 1.0))
    assert loss.observations(np.ones(4)) == 2, "the event at 3 is the last row"
    assert loss.total(np.ones(1), np.array([1.0, 1, 0, 0])) == 0.0
    nobody = LOSSES["survival"](x[:0], np.empty(0), np.empty(0), Scale(0, 0.0, 1.0))
    assert nobody.total(np.ones(1), np.empty(0)) == 0.0
