"""FedAvg, and training alone: against formulas."""

import numpy as np

from comity.research.baselines import Budget, FedAvg, Local
from support.sessions import Quadratic, small


def test_one_step_on_all_rows_is_a_gradient_step_on_the_mean_loss_per_row() -> None:
    session = small(Budget(rounds=1, steps=1, rate=0.1))
    quadratic, method = Quadratic.of(session), FedAvg()
    rows = np.array([14, 20, 26])
    slopes = quadratic.slopes(method.models(session, session.base))
    reached = method.step(session, method.begin(session), 0)
    np.testing.assert_allclose(reached, session.base - 0.1 * rows @ slopes / 60, atol=1e-12)


def test_a_round_averages_what_clients_train_alone() -> None:
    session = small(Budget(rounds=4, steps=3, rate=0.1))
    quadratic, method, state = Quadratic.of(session), FedAvg(), session.base
    for number, rate in ((0, 0.1), (1, 0.05 * (1 + np.cos(np.pi / 4)))):  # the rate falls along a cosine
        ends = quadratic.descended(np.tile(state, (3, 1)), 3, rate)
        state = method.step(session, state, number)
        np.testing.assert_allclose(state, np.array([14, 20, 26]) @ ends / 60, atol=1e-7)
    assert (np.ptp(method.models(session, state), axis=0) == 0).all(), "one model for all"


def test_local_clients_learn_from_their_own_rows_only() -> None:
    session = small(Budget(rounds=4, steps=3, rate=0.1))
    method = Local()
    reached = method.step(session, method.begin(session), 0)
    expected = Quadratic.of(session).descended(np.tile(session.base, (3, 1)), 3, 0.1)
    np.testing.assert_allclose(method.models(session, reached), expected, atol=1e-12)


def test_local_training_converges_to_least_squares() -> None:
    session = small(Budget(rounds=60, steps=10, rate=0.05))
    method, quadratic = Local(), Quadratic.of(session)
    state = method.begin(session)
    for number in range(40):
        state = method.step(session, state, number)
    exact = np.linalg.solve(quadratic.gram, quadratic.cross[..., None])[..., 0]
    np.testing.assert_allclose(state, exact, atol=1e-4)
