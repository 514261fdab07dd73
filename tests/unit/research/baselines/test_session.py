"""Budgets and sessions of baselines: the choice of rounds, refits, and bad input."""

from dataclasses import replace

import numpy as np
import pytest

from comity.errors import InputError, TrainingError
from comity.research.baselines import METHODS, Budget, FedAvg, Local, refit, train
from comity.research.baselines.session import Session
from support.sessions import Quadratic, learners, small


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rounds": 0}, "rounds is 0; it must be a whole number, 1 or more"),
        ({"steps": 1.5}, "steps is 1.5; it must be a whole number, 1 or more"),
        ({"checks": True}, "checks is True; it must be a whole number, 1 or more"),
        ({"rate": 0}, "the rate is 0; it must be a positive number"),
        ({"rate": float("nan")}, "the rate is nan; it must be a positive number"),
        ({"rate": float("inf")}, "the rate is inf; it must be a positive number"),
    ],
)
def test_an_invalid_budget_is_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Budget(**settings)


def test_an_invalid_session_is_refused() -> None:
    session = small()
    with pytest.raises(InputError, match="the recipe has 3 folds; a baseline holds out one part of the rows"):
        replace(session, recipe=replace(session.recipe, folds=3))
    with pytest.raises(InputError, match="the number of rows of client 'c1' is missing"):
        replace(session, rows={"c0": 3, "c2": 4})


@pytest.mark.parametrize("steps", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("gradients", [1, 2, 4, 5])
def test_steps_of_several_gradients_spend_the_whole_budget_and_no_more(steps: int, gradients: int) -> None:
    budget = Budget(rounds=20, steps=steps)
    taken = np.cumsum([gradients * budget.steps_in_round(gradients, number) for number in range(20)])
    allowed = steps * np.arange(1, 21)
    assert (taken <= allowed).all()
    assert (allowed - taken < gradients).all()


@pytest.mark.parametrize(("steps", "rounds"), [(1, 60), (5, 12), (60, 1)])
def test_other_steps_a_round_spend_the_same_gradients(steps: int, rounds: int) -> None:
    budget = Budget(rounds=6, steps=10, rate=0.3, checks=7)
    assert budget.with_steps(steps) == replace(budget, rounds=rounds, steps=steps)


@pytest.mark.parametrize("steps", [0, 7, 120])
def test_steps_that_do_not_divide_the_budget_are_refused(steps: int) -> None:
    with pytest.raises(
        InputError, match=f"6 rounds of 10 steps cannot be divided into rounds of {steps}; give a divisor"
    ):
        Budget(rounds=6, steps=10).with_steps(steps)


@pytest.mark.parametrize(("rounds", "checks"), [(100, 20), (7, 3), (3, 20), (1, 1)])
def test_the_last_round_is_checked(rounds: int, checks: int) -> None:
    budget = Budget(rounds=rounds, checks=checks)
    checked = [number for number in range(1, rounds + 1) if budget.is_check(number)]
    assert checked[-1] == rounds
    assert min(rounds, checks) <= len(checked)


@pytest.mark.parametrize("name", METHODS)
def test_a_rate_that_is_too_high_is_an_error_that_names_client_and_round(name: str) -> None:
    session = small(Budget(rounds=60, steps=4, rate=1e100))
    with pytest.raises(TrainingError, match=r"the loss of client 'c\d' is not finite in round \d+; take a lower rate"):
        train(METHODS[name], session)


def test_the_best_round_is_chosen_for_each_client_or_for_all_if_they_share_a_model() -> None:
    session = small(Budget(rounds=10, steps=3, rate=0.2, checks=10))
    for method in (Local(), FedAvg()):
        state, lost, models = method.begin(session), [], []
        for number in range(10):
            state = method.step(session, state, number)
            models.append(method.models(session, state))
            lost.append(session.held_out_losses(models[-1], number + 1))
        trained = train(method, session)
        overall = np.array(lost) @ session.shares
        best = [int(overall.argmin())] * 3 if method.single_model else np.argmin(lost, axis=0).tolist()
        assert trained.rounds == tuple(each + 1 for each in best)
        for place, each in enumerate(best):
            np.testing.assert_array_equal(trained.models[place], models[each][place])
            assert trained.held_out_losses[place] == lost[each][place]


def test_a_refit_trains_to_the_same_round_with_the_held_out_rows_too() -> None:
    session = small(Budget(rounds=6, steps=1, rate=0.3, checks=6))
    trained = train(Local(), session)
    again = refit(Local(), trained)
    pools = [learner.training.size + learner.held[0].size for learner in learners(trained.session)]
    assert [learner.training.size for learner in learners(again.session)] == pools == [14, 20, 26]
    models = np.tile(session.base, (3, 1))
    for number in range(max(trained.rounds)):
        models = Quadratic.of(again.session).descended(models, 1, session.budget.rate_in(number))
        for place in np.flatnonzero(np.array(trained.rounds) == number + 1):
            np.testing.assert_allclose(again.models[place], models[place], atol=1e-9)
    np.testing.assert_array_equal(again.held_out_losses, trained.held_out_losses)


def test_progress_is_reported() -> None:
    reports: list[tuple[int, int, float]] = []
    session: Session = small(Budget(rounds=4, steps=1, checks=2))
    trained = train(FedAvg(), session, lambda *each: reports.append(each))
    assert [(number, total) for number, total, _ in reports] == [(2, 4), (4, 4)]
    assert min(lost for *_, lost in reports) <= trained.held_out_losses.mean() + 1e-12
    reports.clear()
    refit(FedAvg(), trained, lambda *each: reports.append(each))
    assert [number for number, *_ in reports] == list(range(1, trained.rounds[0] + 1))
