"""AFL: weights on the simplex that follow the client with the highest loss."""

import numpy as np
import pytest

from comity.errors import InputError
from comity.research.baselines import AFL, Budget
from support.sessions import Quadratic, small


def test_a_step_descends_the_mixture_and_ascends_in_its_weights() -> None:
    session = small(Budget(rounds=1, steps=1, rate=0.05))
    quadratic, method = Quadratic.of(session), AFL(ascent=0.1)
    models = np.tile(session.base, (3, 1))
    state = method.step(session, method.begin(session), 0)
    rows = np.array([14, 20, 26]) / 60
    np.testing.assert_allclose(state.model, session.base - 0.05 * rows @ quadratic.slopes(models), atol=1e-12)
    moved = rows + 0.1 * quadratic.losses(models)
    np.testing.assert_allclose(state.weights, moved - (moved.sum() - 1) / 3, atol=1e-12)


def test_momentum_carries_over_to_later_rounds_and_both_rates_fall() -> None:
    """Without momentum between rounds it would be slower, and with rates that stay it would go round and round."""
    session = small(Budget(rounds=3, steps=2, rate=0.05))
    quadratic, method = Quadratic.of(session), AFL(ascent=0.02, momentum=0.6)
    state = method.begin(session)
    model, speed, weights = session.base, np.zeros(4), np.array([14, 20, 26]) / 60
    for number, left in enumerate((1.0, 0.75, 0.25)):  # along a cosine, of 32 bits
        for _ in range(2):
            models = np.tile(model, (3, 1))
            speed = 0.6 * speed + weights @ quadratic.slopes(models)
            moved = weights + left * 0.02 * quadratic.losses(models)
            model, weights = model - left * 0.05 * speed, moved - (moved.sum() - 1) / 3
            assert weights.min() > 0, "else the projection is another"
        state = method.step(session, state, number)
        np.testing.assert_allclose(state.model, model, atol=1e-7)
        np.testing.assert_allclose(state.weights, weights, atol=1e-7)


def test_weights_stay_on_the_simplex_and_follow_the_worst() -> None:
    session = small(Budget(rounds=40, steps=1, rate=0.03))
    quadratic, method = Quadratic.of(session), AFL(ascent=0.05)
    state = method.begin(session)
    for number in range(40):
        lost = quadratic.losses(method.models(session, state))
        before, state = state.weights, method.step(session, state, number)
        assert state.weights.sum() == pytest.approx(1)
        assert (state.weights >= 0).all()
        assert state.weights[lost.argmax()] >= before[lost.argmax()]
        assert state.weights[lost.argmin()] <= before[lost.argmin()]
    assert state.weights.min() == 0, "one who never loses much is left out"


def test_it_finds_the_model_whose_worst_client_is_best() -> None:
    session = small(Budget(rounds=30, steps=5, rate=0.05))
    quadratic, method = Quadratic.of(session), AFL()
    state = method.begin(session)
    for number in range(30):
        state = method.step(session, state, number)
    worst = quadratic.losses(method.models(session, state)).max()
    grid = np.array([(a, b, 1 - a - b) for a in np.linspace(0, 1, 101) for b in np.linspace(0, 1 - a, 101)])
    grid = np.maximum(grid, 0)
    # By duality, the least worst loss is the greatest least loss of a mixture.
    gram, cross = np.tensordot(grid, quadratic.gram, axes=1), grid @ quadratic.cross
    models = np.linalg.solve(gram, cross[..., None])[..., 0]
    least = grid @ quadratic.square - (cross * models).sum(axis=1)
    assert worst == pytest.approx(least.max(), rel=0.01)


def test_rounds_are_chosen_by_the_worst_client() -> None:
    assert AFL().overall_loss(small(), np.array([1.0, 4.0, 2.0])) == 4.0


def test_settings() -> None:
    with pytest.raises(InputError, match="ascent is 0; it must be a number, more than 0"):
        AFL(ascent=0)
    with pytest.raises(InputError, match="the momentum is 1; it must be at least 0 and below 1"):
        AFL(momentum=1)
