"""Methods that share one part of the model only, and personal parameters in general."""

import numpy as np
import pytest
import torch
from torch import nn

from comity.families.network.modules import perceptron
from comity.research.baselines import Budget, FedPer, LGFedAvg, Method, PFedHNPersonal, refit, train
from comity.research.baselines.session import personal_pattern
from support.sessions import Quadratic, learners, small

BUDGET = Budget(rounds=4, steps=2, rate=0.05, checks=4)
ROWS = np.array([14, 20, 26]) / 60


@pytest.mark.parametrize(("method", "personal"), [(FedPer(), [3]), (LGFedAvg(), [0, 1, 2])])
def test_one_part_is_averaged_and_the_other_is_personal(method: Method, personal: list[int]) -> None:
    session = small(BUDGET)
    start = np.tile(session.base, (3, 1))
    ends = Quadratic.of(session).descended(start, 2, 0.05)
    session = session.with_personal(method.personal)
    session.reset_personal()
    state = method.step(session, method.begin(session), 0)
    shared = [place for place in range(4) if place not in personal]
    np.testing.assert_allclose(state, ROWS @ ends[:, shared], atol=1e-12)
    own = np.concatenate([learner.personal.parameters.numpy() for learner in learners(session)])
    np.testing.assert_allclose(own, ends[:, personal], atol=1e-12)


@pytest.mark.parametrize("method", [FedPer(), LGFedAvg(), PFedHNPersonal()])
def test_the_best_models_have_the_personal_parameters_of_their_round(method: Method) -> None:
    session = small(Budget(rounds=12, steps=3, rate=0.2, checks=12), depth=1, width=3)
    trained = train(method, session)
    assert len(set(trained.rounds)) > 1, "clients are best after different rounds"
    again = trained.session.held_out_losses(trained.models, 99)
    np.testing.assert_array_equal(again, trained.held_out_losses)


@pytest.mark.parametrize("method", [FedPer(), LGFedAvg(), PFedHNPersonal()])
def test_a_second_training_starts_from_the_module(method: Method) -> None:
    session = small(BUDGET, depth=1, width=3)
    one, other = (train(method, session) for _ in range(2))
    assert one.models.tobytes() == other.models.tobytes()
    assert one.held_out_losses.tobytes() == other.held_out_losses.tobytes()


def test_a_refit_has_the_personal_parameters_of_the_refit() -> None:
    session = small(BUDGET, depth=1, width=3)
    trained = train(FedPer(), session)
    again = refit(FedPer(), trained)
    by_hand = again.session.with_personal("head")
    by_hand.reset_personal()
    state, found = session.with_personal("head").base, {}
    for number in range(4):
        state = FedPer().step(by_hand, state, number)
        heads = [learner.personal.parameters.clone() for learner in learners(by_hand)]
        found[number + 1] = state, heads
    again.session.reset_personal()
    again = refit(FedPer(), trained)
    for place, (learner, number) in enumerate(zip(learners(again.session), trained.rounds, strict=True)):
        state, heads = found[number]
        np.testing.assert_array_equal(again.models[place], state)
        assert torch.equal(learner.personal.parameters, heads[place])


def test_the_head_is_the_last_layer() -> None:
    deep = perceptron(4, 1, width=3, depth=2, seed=0)
    assert personal_pattern(deep, "head") == r"^(?:4\.weight|4\.bias)$"
    assert personal_pattern(deep, "body") == r"^(?!(?:4\.weight|4\.bias)$)"
    assert personal_pattern(deep, "") is None
    frozen = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2))
    frozen[2].requires_grad_(requires_grad=False)
    assert personal_pattern(frozen, "head") == r"^(?:1\.weight|1\.bias)$", "what is frozen is nobody's"
