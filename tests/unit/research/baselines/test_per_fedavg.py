"""Per-FedAvg: a shared model that one local step adapts to a client."""

import numpy as np
import pytest

from comity.errors import InputError
from comity.research.baselines import Budget, PerFedAvg
from support.sessions import Quadratic, small

ROWS = np.array([14, 20, 26]) / 60


@pytest.mark.parametrize("curvature", [False, True])
def test_a_round_is_the_mean_meta_gradient(curvature: bool) -> None:
    session = small(Budget(rounds=1, steps=4 if curvature else 2, rate=0.05))
    quadratic, method = Quadratic.of(session), PerFedAvg(curvature, adapt=2.0)
    start = np.tile(session.base, (3, 1))
    ahead = quadratic.slopes(start - 0.1 * quadratic.slopes(start))
    if curvature:
        ahead = ahead - 0.1 * 2 * np.einsum("iab,ib->ia", quadratic.gram, ahead)
    reached = method.step(session, method.begin(session), 0)
    np.testing.assert_allclose(reached, session.base - 0.05 * ROWS @ ahead, atol=1e-9)


def test_in_later_rounds_the_rate_falls_and_the_adaptation_step_stays() -> None:
    """If the step of one's own fell too, clients would end with another than the one that was learned for."""
    session = small(Budget(rounds=3, steps=4, rate=0.05))
    quadratic, method = Quadratic.of(session), PerFedAvg(adapt=2.0)
    state, common = method.begin(session), session.base
    for number, left in enumerate((1.0, 0.75, 0.25)):  # along a cosine, of 32 bits
        models, speed = np.tile(common, (3, 1)), np.zeros((3, 4))
        for _ in range(2):  # of two gradients each
            speed = 0.9 * speed + quadratic.slopes(models - 0.1 * quadratic.slopes(models))
            models = models - left * 0.05 * speed
        common = ROWS @ models
        state = method.step(session, state, number)
        np.testing.assert_allclose(state, common, atol=1e-7)


def test_a_clients_model_is_one_adaptation_step_from_the_shared_model() -> None:
    session = small(Budget(rounds=3, steps=2, rate=0.05))
    quadratic, method = Quadratic.of(session), PerFedAvg(adapt=2.0)
    state = method.step(session, method.begin(session), 0)
    start = np.tile(state, (3, 1))
    np.testing.assert_allclose(method.models(session, state), start - 0.1 * quadratic.slopes(start), atol=1e-12)


def test_the_shared_model_is_best_after_an_adaptation_step() -> None:
    budget = Budget(rounds=90, steps=4, rate=0.1)
    session = small(budget)
    quadratic, method = Quadratic.of(session), PerFedAvg(curvature=True)
    state = method.begin(session)
    for number in range(budget.rounds):
        state = method.step(session, state, number)
    after = ROWS @ quadratic.losses(method.models(session, state))
    pooled = np.linalg.solve(np.tensordot(ROWS, quadratic.gram, axes=1), ROWS @ quadratic.cross)
    models = np.tile(pooled, (3, 1))
    assert after < ROWS @ quadratic.losses(models - 0.1 * quadratic.slopes(models)), "the pooled model after a step"
    curved = np.eye(4) - 0.1 * 2 * quadratic.gram  # w ↦ w - α∇f(w) is linear; the least of the mean after it
    system = np.einsum("i,iba,ibc,icd->ad", ROWS, curved, quadratic.gram, curved)
    right = np.einsum(
        "i,iba,ib->a", ROWS, curved, quadratic.cross - 0.2 * np.einsum("iab,ib->ia", quadratic.gram, quadratic.cross)
    )
    np.testing.assert_allclose(state, np.linalg.solve(system, right), atol=0.02)


def test_settings() -> None:
    with pytest.raises(InputError, match="adapt is 0; it must be a number, more than 0"):
        PerFedAvg(adapt=0)
