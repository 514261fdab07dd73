"""FedAvg with fine-tuning: first averaging, then local training."""

import numpy as np
import pytest

from comity.errors import InputError
from comity.research.baselines import Budget, FedAvg, FedAvgFineTuned
from support.sessions import Quadratic, small


def test_it_averages_in_the_first_rounds_and_then_trains_locally() -> None:
    session = small(Budget(rounds=5, steps=2, rate=0.05))
    method, averaging = FedAvgFineTuned(share=0.4, rate_factor=0.5), FedAvg()
    fewer = small(Budget(rounds=3, steps=2, rate=0.05))
    state, averaged = method.begin(session), fewer.base
    for number in range(3):
        state, averaged = method.step(session, state, number), averaging.step(fewer, averaged, number)
        np.testing.assert_array_equal(method.models(session, state), np.tile(averaged, (3, 1)))
    expected = state
    for number, rate in ((3, 0.025), (4, 0.0125)):  # a cosine from half the rate, of its own
        expected = Quadratic.of(session).descended(expected, 2, rate)
        state = method.step(session, state, number)
        np.testing.assert_allclose(state, expected, atol=1e-7)


@pytest.mark.parametrize("rounds", [1, 2, 3, 10, 99])
def test_both_phases_together_have_all_rounds(rounds: int) -> None:
    together, alone = FedAvgFineTuned().phases(Budget(rounds=rounds))
    assert together.rounds + alone.rounds == max(rounds, 2)
    assert together.rounds >= alone.rounds


def test_settings() -> None:
    with pytest.raises(InputError, match="share is 1; it must be a number, more than 0 and less than 1"):
        FedAvgFineTuned(share=1)
    with pytest.raises(InputError, match="rate_factor is 0; it must be a number, more than 0"):
        FedAvgFineTuned(rate_factor=0)
