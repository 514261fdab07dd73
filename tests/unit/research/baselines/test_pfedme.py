"""pFedMe: personal models that are pulled towards a common one."""

import numpy as np
import pytest

from comity.errors import InputError
from comity.research.baselines import Budget, PFedMe
from support.sessions import Quadratic, small

ROWS = np.array([14, 20, 26]) / 60


def test_a_round_goes_towards_the_personal_models_and_is_mixed() -> None:
    session = small(Budget(rounds=1, steps=6, rate=0.05))
    quadratic, method = Quadratic.of(session), PFedMe(pull=2.0, inner=3, reach=0.4, mixing=0.7)
    models = np.tile(session.base, (3, 1))
    for _ in range(2):
        personal = quadratic.descended(models, 3, 0.05, pull=2.0)
        models = models - 0.4 * (models - personal)  # η λ
    expected = 0.3 * session.base + 0.7 * ROWS @ models
    np.testing.assert_allclose(method.step(session, method.begin(session), 0), expected, atol=1e-12)


def test_in_later_rounds_the_rate_falls_and_gradients_left_over_are_spent() -> None:
    """With a rate that stays, common models would not settle; with steps that are lost, it would have less to spend."""
    session = small(Budget(rounds=3, steps=4, rate=0.05))
    quadratic, method = Quadratic.of(session), PFedMe(pull=2.0, inner=3, reach=0.4, mixing=0.7)
    state, common = method.begin(session), session.base
    for number, (left, steps) in enumerate(((1.0, 1), (0.75, 1), (0.25, 2))):  # along a cosine, of 32 bits
        models = np.tile(common, (3, 1))
        for _ in range(steps):
            models = models - 0.4 * (models - quadratic.descended(models, 3, left * 0.05, pull=2.0))
        common = 0.3 * common + 0.7 * ROWS @ models
        state = method.step(session, state, number)
        np.testing.assert_allclose(state, common, atol=1e-7)
    nearest = quadratic.descended(np.tile(common, (3, 1)), 4, 0.05, pull=2.0)
    np.testing.assert_allclose(method.models(session, state), nearest, atol=1e-7)


@pytest.mark.parametrize("pull", [0.5, 5.0])
def test_a_clients_model_is_the_proximal_point_of_the_common_one(pull: float) -> None:
    session = small(Budget(rounds=1, steps=300, rate=0.05))
    quadratic = Quadratic.of(session)
    system = 2 * quadratic.gram + pull * np.eye(4)
    nearest = np.linalg.solve(system, (2 * quadratic.cross + pull * session.base)[..., None])[..., 0]
    np.testing.assert_allclose(PFedMe(pull=pull).models(session, session.base), nearest, atol=1e-6)


def test_a_stronger_pull_keeps_models_nearer_to_the_common_one() -> None:
    session = small(Budget(rounds=1, steps=100, rate=0.02))
    near, far = (PFedMe(pull=pull).models(session, session.base) - session.base for pull in (20.0, 0.2))
    assert (np.linalg.norm(near, axis=1) < 0.5 * np.linalg.norm(far, axis=1)).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"pull": 0}, "pull is 0; it must be a number, more than 0"),
        ({"reach": -1}, "reach is -1; it must be a number, more than 0"),
        ({"mixing": float("nan")}, "mixing is nan; it must be a number, more than 0"),
        ({"inner": 1}, "inner is 1; it must be a whole number, 2 or more"),
    ],
)
def test_settings(settings: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        PFedMe(**settings)
