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
def test_the_rate_that_is_best_on_rows_held_out_is_taken_whatever_is_tested_with(name: str) -> None:
    """If the first were taken, or the best on rows to test with, it would be the slow one."""
    session = misleading()
    slow, better = (run(name, session, (rate,)).values for rate in (SLOW, BETTER))
    assert all(slow[client] < better[client] for client in session.clients), "rows to test with prefer the slow one"
    for rates in ((SLOW, BETTER), (BETTER, SLOW)):
        found = run(name, session, rates)
        assert found.settings["rate"] == BETTER
        assert found.values == better, "the values are those of the chosen rate"


@pytest.mark.parametrize("again", [False, True])
def test_models_are_trained_once_more_with_the_rows_held_out_if_that_is_wanted(again: bool) -> None:
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
