"""pFedHN: a hypernetwork that learns from the clients' updates of its models."""

import numpy as np
import pytest
import torch

from comity.errors import InputError
from comity.research.baselines import Budget, PFedHN, PFedHNPersonal
from support.sessions import Quadratic, small

BUDGET = Budget(rounds=10, steps=3, rate=0.05)


def test_all_begin_as_the_module() -> None:
    session, method = small(BUDGET), PFedHN(width=5, depth=1)
    np.testing.assert_array_equal(method.models(session, method.begin(session)), np.tile(session.base, (3, 1)))


def test_a_round_is_the_papers_update() -> None:
    session, method = small(BUDGET), PFedHN(width=5, depth=1, reach=0.8)
    state = method.step(session, method.begin(session), 0)  # so that embeddings have a slope
    models = method.models(session, state)
    apart = (models - Quadratic.of(session).descended(models, 3, BUDGET.rate_in(1))).reshape(-1)
    jacobian = torch.autograd.functional.jacobian(
        lambda parameters: state.network(parameters, torch.eye(3, dtype=torch.float64)), state.parameters
    )
    jacobian = jacobian.reshape(apart.size, -1).numpy()
    slope = jacobian.T @ apart
    moves = jacobian @ slope  # of the models, to first order
    length = 0.8 * (apart @ moves) / (moves @ moves)
    before, after = (each.parameters[0].numpy() for each in (state, method.step(session, state, 1)))
    np.testing.assert_allclose(after, before - length * slope, atol=1e-10)
    assert np.abs(slope[4 : 4 + 15]).min() > 0, "embeddings of five numbers, after a base of four, are trained"


def test_models_of_clients_become_different() -> None:
    session, method = small(Budget(rounds=60, steps=5, rate=0.05)), PFedHN()
    quadratic, state = Quadratic.of(session), method.begin(session)
    for number in range(60):
        state = method.step(session, state, number)
    lost = quadratic.losses(method.models(session, state))
    gram, cross, square = (each.mean(axis=0) for each in (quadratic.gram, quadratic.cross, quadratic.square))
    least = np.mean(
        quadratic.square - np.einsum("ia,iab,ib->i", quadratic.cross, np.linalg.inv(quadratic.gram), quadratic.cross)
    )
    together = square - cross @ np.linalg.solve(gram, cross)
    assert lost.mean() < least + 0.1 * (together - least), "far below the best model for all"


def test_settings() -> None:
    with pytest.raises(InputError, match="reach is -1; it must be a number, more than 0"):
        PFedHN(reach=-1)
    with pytest.raises(InputError, match="the width of a hypernetwork is 0; it must be 1 or more"):
        PFedHNPersonal(width=0).begin(small())
