"""q-FFL: clients with a higher loss count more."""

import numpy as np
import pytest

from comity.errors import InputError
from comity.research.baselines import QFFL, Budget, FedAvg
from support.sessions import Quadratic, small

ROWS = np.array([14, 20, 26]) / 60


def test_with_q_of_zero_it_is_averaging() -> None:
    session = small(Budget(rounds=4, steps=3, rate=0.05))
    fair, averaged = session.base, session.base
    for number in range(4):
        fair, averaged = QFFL(q=0).step(session, fair, number), FedAvg().step(session, averaged, number)
        np.testing.assert_allclose(fair, averaged, atol=1e-12)
    lost = np.array([1.0, 4.0, 2.0])
    assert QFFL(q=0).overall_loss(session, lost) == pytest.approx(FedAvg().overall_loss(session, lost))


@pytest.mark.parametrize("number", [0, 2])
@pytest.mark.parametrize("q", [0.5, 1.0, 3.0])
def test_a_round_follows_the_papers_formula(q: float, number: int) -> None:
    """The rate falls along a cosine; L is that of the first round."""
    session = small(Budget(rounds=4, steps=3, rate=0.05))
    rate = {0: 0.05, 2: 0.025}[number]
    quadratic, start = Quadratic.of(session), session.base
    models = np.tile(start, (3, 1))
    lost, ends = quadratic.losses(models), quadratic.descended(models, 3, rate)
    smooth = 1 / (0.05 * (1 + 1.9 + 2.71))  # with the momentum of 0.9
    top, bottom = 0.0, 0.0
    for share, loss, end in zip(ROWS, lost, ends, strict=True):
        change = smooth * (start - end)
        top = top + share * loss**q * change
        bottom = bottom + share * (q * loss ** (q - 1) * change @ change + smooth * loss**q)
    np.testing.assert_allclose(QFFL(q).step(session, start, number), start - top / bottom, atol=1e-12)


def test_a_larger_q_makes_losses_more_even() -> None:
    session = small(Budget(rounds=80, steps=1, rate=0.1))
    quadratic, spread, objective = Quadratic.of(session), [], []
    for q in (0.0, 2.0):
        state = session.base
        for number in range(80):
            state = QFFL(q).step(session, state, number)
        lost = quadratic.losses(np.tile(state, (3, 1)))
        spread.append(lost.max())
        objective.append((ROWS @ lost, ROWS @ lost**3))
    assert spread[1] < spread[0]
    assert objective[0][0] < objective[1][0], "each is best by what it wants"
    assert objective[1][1] < objective[0][1]


@pytest.mark.parametrize("q", [-0.1, float("nan"), float("inf")])
def test_settings(q: float) -> None:
    with pytest.raises(InputError, match=f"q is {q}; it must be a number, 0 or more"):
        QFFL(q)


def test_clients_may_have_equal_weights() -> None:
    session = small(Budget(rounds=1, steps=3, rate=0.05))
    ends = Quadratic.of(session).descended(np.tile(session.base, (3, 1)), 3, 0.05)
    np.testing.assert_allclose(
        QFFL(q=0, equal_weights=True).step(session, session.base, 0), ends.mean(axis=0), atol=1e-12
    )
    assert QFFL(q=1, equal_weights=True).overall_loss(session, np.array([1.0, 2.0, 3.0])) == pytest.approx(14 / 3)
