"""A baseline on a task: which rate is taken, what its models are trained with, and whose values are reported."""

from dataclasses import replace

import numpy as np
import pytest

from comity.errors import TrainingError
from comity.research.baselines import METHODS, Budget, Method, Session, Trained, refit, train
from comity.research.experiments import methods
from comity.research.experiments.cells import Outcome
from comity.research.experiments.methods import BaselineRun
from support.sessions import linear, of_tables

BUDGET = Budget(rounds=6, steps=2, checks=3)
SLOW, BETTER = 1e-4, 0.1
TRUTHS = np.random.default_rng(1).normal(size=(3, 3))


def misleading() -> Session:
    """Clients whose test rows follow the opposite of the truth, so that models that learn less do better there."""
    return of_tables(linear(TRUTHS, [30, 36, 42]), linear(-TRUTHS, [20] * 3, seed=1), BUDGET)


def run(name: str, session: Session, rates: tuple[float, ...], again: bool = False) -> Outcome:
    return BaselineRun(rates, again).run(name, session, "rmse", lambda stage, done, of: None)


@pytest.mark.parametrize("name", ["local", "fedavg", "afl"])
def test_the_rate_is_chosen_on_held_out_rows_and_not_on_test_rows(name: str) -> None:
    """The first rate, and the best rate on test rows, is the slow one."""
    session = misleading()
    slow, better = (run(name, session, (rate,)).values for rate in (SLOW, BETTER))
    assert all(slow[client] < better[client] for client in session.clients), "test rows prefer the slow rate"
    for rates in ((SLOW, BETTER), (BETTER, SLOW)):
        found = run(name, session, rates)
        assert found.settings["rate"] == BETTER
        assert found.values == better, "the values are those of the chosen rate"


@pytest.mark.parametrize("again", [False, True])
def test_models_are_refitted_with_the_held_out_rows_on_request(again: bool) -> None:
    session = misleading()
    first = train(METHODS["local"], replace(session, budget=replace(BUDGET, rate=BETTER)))
    once = first.session.judge(first.models, "rmse")
    more = refit(METHODS["local"], first)
    twice = more.session.judge(more.models, "rmse")
    assert all(once[client].values[0] != twice[client].values[0] for client in session.clients)
    values = run("local", session, (BETTER,), again).values
    assert values == {client: each.values[0] for client, each in (twice if again else once).items()}


def test_if_the_refit_fails_the_first_models_are_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    """If all were lost then, a method would have no value although it trained."""

    def fails(method: Method, trained: Trained) -> Trained:
        raise TrainingError("the loss is not a number")

    session = misleading()
    monkeypatch.setattr(methods, "refit", fails)
    found = run("local", session, (SLOW, BETTER), again=True)
    assert found.values == run("local", session, (BETTER,)).values
    assert found.details["refit failed"] == "the loss is not a number"
