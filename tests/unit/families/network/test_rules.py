"""Local rules on a quadratic, against formulas."""

import numpy as np
import pytest
import torch

from comity.errors import InputError
from comity.families.network.answers.learner import Learner
from comity.families.network.rules import RULES, Descent, Meta, Moreau, Rule, record_of, rule_of
from comity.questions import TrainingRule
from support.sessions import Quadratic, learners, small

RATE = 0.03


def trained(rule: Rule) -> tuple[Quadratic, np.ndarray, np.ndarray, list[float]]:
    """Clients' losses as formulas, where their models began (N, d), where a rule took them, and the first losses."""
    session = small()
    start = np.random.default_rng(0).normal(size=(3, 4))
    ends = [
        rule.train(learner, torch.as_tensor(model[None]), 0)
        for learner, model in zip(learners(session), start, strict=True)
    ]
    reached = np.concatenate([place.numpy() for place, _ in ends])
    return Quadratic.of(session), start, reached, [first for _, first in ends]


@pytest.mark.parametrize(("momentum", "pull"), [(0.0, 0.0), (0.9, 0.0), (0.5, 2.0)])
def test_descent(momentum: float, pull: float) -> None:
    quadratic, start, reached, first = trained(Descent(4, RATE, momentum, pull))
    np.testing.assert_allclose(reached, quadratic.descended(start, 4, RATE, momentum, pull), atol=1e-12)
    np.testing.assert_allclose(first, quadratic.losses(start))


def test_the_first_order_meta_gradient_is_that_after_a_step() -> None:
    quadratic, start, reached, _ = trained(Meta(1, RATE, inner_rate=0.1))
    ahead = quadratic.slopes(start - 0.1 * quadratic.slopes(start))
    np.testing.assert_allclose(reached, start - RATE * ahead, atol=1e-12)


def test_the_hessian_free_meta_gradient_is_exact_on_a_quadratic() -> None:
    quadratic, start, reached, first = trained(Meta(2, RATE, inner_rate=0.1, curvature=True, momentum=0.5))
    model, speed = start, np.zeros_like(start)
    for _ in range(2):
        ahead = quadratic.slopes(model - 0.1 * quadratic.slopes(model))
        speed = 0.5 * speed + ahead - 0.1 * 2 * np.einsum("iab,ib->ia", quadratic.gram, ahead)  # (I - αH) ∇f(θ')
        model = model - RATE * speed
    np.testing.assert_allclose(reached, model, atol=1e-9)
    np.testing.assert_allclose(first, quadratic.losses(start))


def test_the_hessian_free_meta_gradient_is_the_slope_of_the_loss_after_a_step() -> None:
    quadratic, start, reached, _ = trained(Meta(1, RATE, inner_rate=0.1, curvature=True))
    after = lambda model: quadratic.losses(model - 0.1 * quadratic.slopes(model))  # noqa: E731
    for place in range(start.shape[1]):
        nearby = 1e-5 * np.eye(start.shape[1])[place]
        slope = (after(start + nearby) - after(start - nearby)) / 2e-5
        np.testing.assert_allclose((start - reached)[:, place] / RATE, slope, rtol=1e-6)


def test_an_envelope_with_many_inner_steps_is_the_exact_proximal_step() -> None:
    pull, rate = 1.5, 0.4
    quadratic, start, reached, _ = trained(Moreau(2, rate, pull, inner=120, inner_rate=0.1, momentum=0.5))
    model = start
    for _ in range(2):
        system = 2 * quadratic.gram + pull * np.eye(start.shape[1])
        nearest = np.linalg.solve(system, (2 * quadratic.cross + pull * model)[..., None])[..., 0]
        model = model - rate * pull * (model - nearest)
    np.testing.assert_allclose(reached, model, atol=1e-9)


def test_every_step_has_the_next_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    slopes = Learner.slopes
    monkeypatch.setattr(Learner, "slopes", lambda self, *args: asked.append(args[2]) or slopes(self, *args))
    (learner, *_) = learners(small(batch=4))
    start = torch.zeros(1, 4, dtype=torch.float64)
    for rule, expected in {
        Descent(3, RATE): [10, 11, 12],
        Meta(2, RATE, RATE): [10, 11, 12, 13],
        Meta(2, RATE, RATE, curvature=True): [10, 11, 12, 12, 14, 15, 16, 16],  # one batch for both sides
        Moreau(2, RATE, 1.0, 2, RATE): [10, 11, 12, 13],
    }.items():
        asked.clear()
        rule.train(learner, start, 10)
        assert asked == expected, rule


@pytest.mark.parametrize("rule", [Descent(3, 0.1), Meta(2, 0.1, 0.2, curvature=True), Moreau(2, 0.1, 1.0, 3, 0.05)])
def test_a_rule_survives_being_sent(rule: Rule) -> None:
    assert rule_of(record_of(rule)) == rule
    assert type(rule) in RULES.values()


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(InputError, match="no rule 'ascent' to train by; there are descent, meta, moreau"):
        rule_of(TrainingRule("ascent", {}))
    with pytest.raises(
        InputError, match=r"a Descent should be an object with the fields steps, rate, momentum, pull, not .'speed': 3"
    ):
        rule_of(TrainingRule("descent", {"speed": 3}))
    with pytest.raises(InputError, match=r"'steps' of a Descent should be a whole number, not 0.5"):
        rule_of(TrainingRule("descent", {"steps": 0.5, "rate": 0.1, "momentum": 0.9, "pull": 0.0}))
