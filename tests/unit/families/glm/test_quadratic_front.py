"""The exact front of quadratic losses."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.core.likelihood import LogLoss
from comity.families.glm.quadratic_front import QuadraticFront
from support.planted_fronts import Planted, two_groups

FIRST = np.array([0])
TRUTH = np.array([1.0, -0.5, 0.3])


def federation(seed: int, clients: int = 4, dim: int = 3) -> Planted:
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(clients, dim))
    rows = []
    for own in truth:
        x = rng.normal(size=(int(rng.integers(12, 30)), dim))
        rows.append((x, x @ own + rng.normal(size=len(x))))
    return Planted(rows, truth, 1.0)


def some_weights(rng: np.random.Generator, count: int, clients: int) -> np.ndarray:
    return rng.dirichlet(np.ones(clients), count)


def all_trials(front: QuadraticFront):
    return front.trials(np.arange(front.clients))


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.booleans(), st.floats(-6, 3))
def test_derivatives_agree_with_finite_differences(seed: int, per_client: bool, log_penalty: float) -> None:
    front = replace(federation(seed).front(), per_client=per_client)
    trials = all_trials(front)
    rng = np.random.default_rng(seed)
    weights = some_weights(rng, front.clients, front.clients)
    logs = np.full(front.clients, log_penalty)
    losses, by_weight, by_penalty = trials.derivatives(weights, logs)
    np.testing.assert_allclose(losses, trials.losses(weights, logs), rtol=1e-10)
    direction = some_weights(rng, front.clients, front.clients) - weights
    step = 1e-5
    ahead, behind = (trials.losses(weights + sign * step * direction, logs) for sign in (1, -1))
    np.testing.assert_allclose((by_weight * direction).sum(axis=1), (ahead - behind) / (2 * step), rtol=2e-4, atol=1e-6)
    ahead, behind = (trials.losses(weights, logs + sign * step) for sign in (1, -1))
    np.testing.assert_allclose(by_penalty, (ahead - behind) / (2 * step), rtol=2e-4, atol=1e-7)


@given(st.integers(0, 1000))
def test_a_model_is_optimal_for_its_weights(seed: int) -> None:
    """The weighted loss of the rows themselves has no slope at the model."""
    planted = federation(seed)
    front = planted.front()
    weights = some_weights(np.random.default_rng(seed), 1, front.clients)[0]
    model = front.models(FIRST, weights[None], np.log([0.1]))[0]
    total = sum(w * len(y) for w, (_, y) in zip(weights, planted.rows, strict=True))
    slope = 0.1 * front.penalised * model
    for w, (x, y) in zip(weights, planted.rows, strict=True):
        x = np.column_stack([x, np.ones(len(y))])
        slope = slope + w * x.T @ (x @ model - y) / total
    np.testing.assert_allclose(slope, 0.0, atol=1e-9)


def test_a_zero_weight_leaves_a_client_out_exactly() -> None:
    """Whatever the rows of that client are, not a bit changes; and the front is that of a federation without it."""
    planted = federation(3)
    front = planted.front()
    other = Planted([*planted.rows[:-1], federation(4).rows[-1]], planted.truth, 1.0).front()
    absent = Planted(planted.rows[:-1], planted.truth[:-1], 1.0).front()
    weights = np.array([0.5, 0.3, 0.2, 0.0])
    model = front.models(FIRST, weights[None], np.zeros(1))
    np.testing.assert_array_equal(model, other.models(FIRST, weights[None], np.zeros(1)))
    np.testing.assert_allclose(model, absent.models(FIRST, weights[None, :-1], np.zeros(1)), rtol=1e-12)
    losses = all_trials(front).losses(np.tile(weights, (4, 1)), np.zeros(4))[:3]
    np.testing.assert_array_equal(losses, all_trials(other).losses(np.tile(weights, (4, 1)), np.zeros(4))[:3])
    without = all_trials(absent).losses(np.tile(weights[:-1], (3, 1)), np.zeros(3))
    np.testing.assert_allclose(losses, without, rtol=1e-12)


@pytest.mark.parametrize("repeats", [1, 2])
def test_losses_are_cross_fitted(repeats: int) -> None:
    """Trial by trial and fold by fold, from the rows: trained on all but the target's rows in the fold judged."""
    planted = federation(5)
    rng = np.random.default_rng(0)
    folds = [[rng.permutation(len(y)) % 5 for _ in range(repeats)] for _, y in planted.rows]
    front = planted.front(seed=0, repeats=repeats)
    weights = some_weights(np.random.default_rng(1), 4, 4)
    found = all_trials(front).losses(weights, np.full(4, np.log(0.2)))
    for target, expected in enumerate(found):
        squares, judged = 0.0, 0
        for time, k in itertools.product(range(repeats), range(5)):
            matrix, right, total = np.zeros((4, 4)), np.zeros(4), 0.0
            for j, (x, y) in enumerate(planted.rows):
                kept = (folds[j][time] != k) | (j != target)
                x = np.column_stack([x, np.ones(len(y))])[kept]
                matrix += weights[target, j] * x.T @ x
                right += weights[target, j] * x.T @ y[kept]
                total += weights[target, j] * len(x)
            model = np.linalg.solve(matrix / total + 0.2 * np.diag(front.penalised), right / total)
            x, y = planted.rows[target]
            chosen = folds[target][time] == k
            squares += ((y[chosen] - np.column_stack([x, np.ones(len(y))])[chosen] @ model) ** 2).sum()
            judged += chosen.sum()
        assert expected == pytest.approx(squares / judged)


def test_weights_per_client_are_weights_per_sample_over_rows() -> None:
    front = federation(6).front()
    weights = some_weights(np.random.default_rng(0), 4, 4)
    per_sample = weights / front.rows.sum(axis=1)
    per_sample /= per_sample.sum(axis=1, keepdims=True)
    logs = np.full(4, -2.0)
    one, other = all_trials(replace(front, per_client=True)), all_trials(front)
    np.testing.assert_allclose(one.losses(weights, logs), other.losses(per_sample, logs), rtol=1e-9)


def test_some_trials_are_the_same_trials() -> None:
    front = federation(7).front()
    trials = front.trials(np.array([0, 1, 2, 3, 0]))
    weights = some_weights(np.random.default_rng(0), 5, 4)
    logs = np.linspace(-3, 0, 5)
    chosen = np.array([4, 1])
    np.testing.assert_allclose(
        trials.some(chosen).losses(weights[chosen], logs[chosen]), trials.losses(weights, logs)[chosen]
    )


def test_the_standard_error_is_about_right() -> None:
    """Against the rows' own differences, where features and noise are normal."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20_000, 3))
    y = x @ np.array([1.0, -1.0, 0.5]) + rng.normal(size=len(x))
    front = Planted([(x, y)], np.zeros((1, 3)), 1.0).front(folds=2)
    trials = all_trials(front)
    one, other = np.array([0.9, -1.0, 0.5, 0.0]), np.array([0.2, -0.5, 0.4, 0.1])
    wide = [np.broadcast_to(model, (1, 2, 4)) for model in (one, other)]
    full = np.column_stack([x, np.ones(len(x))])
    differences = (y - full @ other) ** 2 - (y - full @ one) ** 2
    expected = differences.std() / np.sqrt(len(x))
    assert trials.standard_error(*wide)[0] == pytest.approx(expected, rel=0.15)


def logistic(rows: int, folds: int) -> tuple[QuadraticFront, LogLoss]:
    """One client whose log loss is expanded at the truth, and that loss."""
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=(rows, 2)), np.ones(rows)])
    loss = LogLoss(x, (x @ TRUTH + rng.logistic(size=rows) > 0).astype(float), 2)
    masks = [(np.arange(rows) % folds == k).astype(float) for k in range(folds)]
    curvature = np.stack([loss.curvature(TRUTH, mask) for mask in masks])
    slope = np.stack([loss.slope(TRUTH, mask) for mask in masks])
    level = np.array([loss.losses(TRUTH) @ mask for mask in masks])
    level += -slope @ TRUTH + np.einsum("i,kij,j->k", TRUTH, curvature, TRUTH) / 2
    sums = (curvature / 2, (curvature @ TRUTH - slope) / 2, level, np.array([mask.sum() for mask in masks]))
    return QuadraticFront(*(each[None] for each in sums), likelihood=True), loss


def test_the_standard_error_of_a_log_likelihood_is_about_right() -> None:
    """Against the rows' own differences, of models near the truth, by whose expansion it is known."""
    front, loss = logistic(20_000, folds=2)
    one, other = TRUTH + np.array([[0.05, 0.0, 0.0], [0.0, -0.1, 0.05]])
    wide = [np.broadcast_to(model, (1, 2, 3)) for model in (one, other)]
    expected = (loss.losses(other) - loss.losses(one)).std() / np.sqrt(20_000)
    assert all_trials(front).standard_error(*wide)[0] == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("repeats", [1, 2, 3])
def test_the_standard_error_of_a_log_likelihood_is_that_of_its_slope(repeats: int) -> None:
    """√(Σ δᵀHδ) / n, with H the curvature of each fold and δ what its models differ by; the mean over repetitions."""
    once, loss = logistic(60, folds=3)
    sums = (once.gram, once.cross, once.square, once.rows)
    front = QuadraticFront(
        *(np.tile(s, (1, repeats, *[1] * (s.ndim - 2))) for s in sums), likelihood=True, repeats=repeats
    )
    one, other = np.random.default_rng(1).normal(size=(2, 1, 3 * repeats, 3))
    variance = 0.0
    for k, change in enumerate((other - one)[0]):
        here = (np.arange(60) % 3 == k % 3).astype(float)
        variance += change @ loss.curvature(TRUTH, here) @ change
    assert all_trials(front).standard_error(one, other)[0] == pytest.approx(np.sqrt(variance / repeats) / 60)


@pytest.mark.parametrize("likelihood", [False, True])
def test_folds_that_are_drawn_again_make_nothing_surer(likelihood: bool) -> None:
    once = replace(federation(8).front(), likelihood=likelihood)
    sums = (once.gram, once.cross, once.square, once.rows)
    twice = QuadraticFront(*(np.concatenate([s, s], axis=1) for s in sums), likelihood=likelihood, repeats=2)
    one, other = np.random.default_rng(1).normal(size=(2, 4, 5, 4))
    again = all_trials(twice).standard_error(*(np.concatenate([m, m], axis=1) for m in (one, other)))
    np.testing.assert_allclose(again, all_trials(once).standard_error(one, other))


def test_separable_constant_and_collinear_columns_do_no_harm() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(15, 2))
    x = np.column_stack([x, x[:, 0], np.ones(15), np.zeros(15)])
    planted = Planted([(x, x[:, 0]), (x[:3], np.zeros(3))], np.zeros((2, 5)), 0.0)
    front = planted.front(folds=3)
    trials = all_trials(front)
    for log in np.log([1e-8, 1.0]):
        losses, by_weight, by_penalty = trials.derivatives(np.full((2, 2), 0.5), np.full(2, log))
        assert np.isfinite(losses).all()
        assert np.isfinite(by_weight).all()
        assert np.isfinite(by_penalty).all()


def test_the_paper_generator_is_as_described() -> None:
    planted = two_groups(0, dim=20, rows=50, spread=0.1, noise=1.0)
    assert planted.truth.shape == (6, 20)
    assert np.sign(planted.truth[:3].mean()) == -np.sign(planted.truth[3:].mean())
