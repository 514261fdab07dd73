"""The whole way through a federation: rounds, honesty, what is learned."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

import comity.solving.findings
from comity.client import Client, Policy
from comity.core.kinds import ModelKind
from comity.errors import InputError, RefusedError
from comity.families.family import Request
from comity.federation import InProcess
from comity.solving.findings import Findings, learn
from comity.study import Study


def federation(clients: int, rows: int = 40, classes: int = 0, seed: int = 0, features: int = 4) -> InProcess:
    """Two groups with opposite effects; the target is a number, or one of several classes."""
    rng = np.random.default_rng(seed)
    names = [f"x{number}" for number in range(features)]
    effects = rng.normal(size=(features, max(classes, 1))) * 2 / np.sqrt(features)
    members = []
    for number in range(clients):
        x = rng.normal(size=(rows, features))
        scores = x @ (effects if number % 2 else -effects)
        y = scores[:, 0] + rng.normal(size=rows) * 0.5
        if classes:
            y = np.array([f"k{k}" for k in (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)])
        members.append(Client(f"c{number}", pd.DataFrame(x, columns=names).assign(y=y)))
    return InProcess(tuple(members))


def found(federation: InProcess, study: Study) -> Findings:
    return learn(Request(federation, study))


@pytest.mark.parametrize("clients", [5, 40])
def test_a_number_takes_at_most_eight_rounds(clients: int) -> None:
    members = federation(clients, rows=24)
    learned = found(members, Study("y", folds=2, judges=2, repeats=1))
    assert members.traffic.rounds <= 8
    assert len(learned.evaluated.evaluations) == clients


@pytest.mark.parametrize("clients", [5, 20])
def test_classes_take_at_most_thirty_rounds(clients: int) -> None:
    members = federation(clients, rows=40, classes=2)
    learned = found(members, Study("y", folds=2, judges=2, repeats=1))
    assert members.traffic.rounds <= 30
    assert len(learned.evaluated.evaluations) == clients


def test_many_clients_decide_in_several_views_at_once_and_as_few_do_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    study = Study("y", folds=2, judges=2, repeats=1)
    one_by_one = found(federation(5, rows=24), study)
    pools: list[int] = []

    def pool(threads: int) -> ThreadPoolExecutor:
        pools.append(threads)
        return ThreadPoolExecutor(threads)

    monkeypatch.setattr(comity.solving.findings, "_MIN_CLIENTS_FOR_THREADS", 5)
    monkeypatch.setattr(comity.solving.findings, "ThreadPoolExecutor", pool)
    at_once = found(federation(5, rows=24), study)
    assert pools, "views were decided in threads"
    assert at_once.decision.equilibrium.coalitions == one_by_one.decision.equilibrium.coalitions
    np.testing.assert_equal(at_once.evaluated.models, one_by_one.evaluated.models)
    for client, each in one_by_one.evaluated.evaluations.items():
        np.testing.assert_array_equal(at_once.evaluated.evaluations[client].values, each.values)


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_groups_are_found_and_gain(classes: int) -> None:
    learned = found(
        federation(6, rows=60, classes=classes, features=12, seed=4),
        Study("y", judges=3, repeats=1, metric="log-loss" if classes else "rmse"),
    )
    groups = {frozenset(f"c{n}" for n in range(6) if n % 2 == side) for side in (0, 1)}
    coalitions = learned.decision.equilibrium.coalitions
    assert all(any(coalition <= group for group in groups) for coalition in coalitions)
    assert learned.certificate.proved
    assert {kind: len(models) for kind, models in learned.evaluated.models.items()} == dict.fromkeys(ModelKind, 6)
    assert np.mean([learned.evaluated.evaluations[client].gains[1] for client in learned.problem.rows]) < 0  # less loss


def test_it_is_the_same_again_and_differs_with_the_seed() -> None:
    one, again, other = (found(federation(4), Study("y", judges=2, seed=seed)) for seed in (0, 0, 1))
    np.testing.assert_equal(one.evaluated.models, again.evaluated.models)
    assert list(one.game.records()) == list(again.game.records())
    assert not np.array_equal(one.decision.points["best"].losses, other.decision.points["best"].losses)


def test_who_stays_alone_gets_in_its_coalition_what_it_has_alone() -> None:
    learned = found(federation(3, rows=200), Study("y"))
    for place, client in enumerate(learned.decision.clients):
        if len(learned.decision.equilibrium.coalition_of(client)) == 1:
            models = learned.evaluated.models
            np.testing.assert_array_equal(models[ModelKind.ALONE][place], models[ModelKind.COALITION][place])
            assert (
                learned.evaluated.evaluations[client].gains[1]
                == learned.evaluated.evaluations[client].gain_errors[1]
                == 0
            )
    assert {len(c) for c in learned.decision.equilibrium.coalitions} <= {1, 2}


def test_a_client_may_be_best_served_by_another_alone() -> None:
    """Its own twenty rows are noise; the other's thousand show what it wants: then its model is the other's."""
    rng = np.random.default_rng(0)
    large, small = rng.normal(size=(1000, 3)), rng.normal(size=(40, 3))
    frames = [pd.DataFrame(x, columns=list("abc")) for x in (large, small)]
    scores = [frame.sum(axis=1) + rng.logistic(size=len(frame)) * 0.5 for frame in frames]
    members = [f.assign(y=np.where(s > 0, "yes", "no")) for f, s in zip(frames, scores, strict=True)]
    learned = found(InProcess((Client("large", members[0]), Client("small", members[1]))), Study("y", judges=2))
    models = learned.evaluated.models
    for kind, at in learned.decision.points.items():
        for client in range(2):
            shared = at.weights[client].sum() > at.weights[client, client]
            same = np.array_equal(models[ModelKind(kind)][client], models[ModelKind.ALONE][client])
            assert shared != same


@pytest.mark.parametrize(("folds", "judges"), [(5, 10), (5, 2), (3, 2), (2, 5)])
def test_few_rows_leave_no_fold_of_a_view_empty(folds: int, judges: int) -> None:
    for seed in range(2):  # by the seed and their names, clients split their rows
        study = Study("y", folds=folds, judges=judges, resamples=2, seed=seed)
        learned = found(federation(2, rows=10, seed=seed), study)
        assert all(np.isfinite(models).all() for models in learned.evaluated.models.values())


def test_resamples_are_decided_too() -> None:
    learned = found(federation(4), Study("y", judges=2, resamples=3))
    assert len(learned.resampled) == 3


@pytest.mark.parametrize("options", [{"weights": "client"}, {"rule": "clip"}, {"penalty": 0.01}, {"confidence": 3.0}])
@pytest.mark.parametrize("classes", [0, 2])
def test_options_work(options: dict, classes: int) -> None:
    learned = found(federation(4, classes=classes), Study("y", judges=2, repeats=1, **options))
    assert all(np.isfinite(models).all() for models in learned.evaluated.models.values())
    if "penalty" in options:
        np.testing.assert_allclose(list(learned.evaluated.penalties.values()), 0.01)


def test_too_few_rows_one_client_and_refusals_are_said() -> None:
    few = federation(3, rows=40)
    small = InProcess((*few.members[:2], Client("small", few.members[2].rows.head(9), Policy(least_rows=5))))
    with pytest.raises(InputError, match="client 'small' has 9 rows, too few for 5 folds and 10 judges"):
        found(small, Study("y"))
    with pytest.raises(InputError, match="one client only"):
        found(InProcess(few.members[:1]), Study("y"))
    silent = InProcess((*few.members[:2], Client("silent", few.members[2].rows, Policy(questions=("describe",)))))
    with pytest.raises(RefusedError, match="'silent' does not answer the question 'moments'"):
        found(silent, Study("y"))
