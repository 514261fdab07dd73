"""From a federation to coalitions, models and their evaluation: rounds, repeatability, refusals."""

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
    """Return clients of two groups with opposite effects; the target is a number, or one of several classes."""
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


def findings_of(federation: InProcess, study: Study) -> Findings:
    return learn(Request(federation, study))


@pytest.mark.parametrize("clients", [5, 40])
def test_regression_takes_three_rounds(clients: int) -> None:
    members = federation(clients, rows=24)
    learned = findings_of(members, Study("y"))
    assert members.traffic.rounds == 3
    assert len(learned.evaluated.evaluations) == clients


@pytest.mark.parametrize(("search", "most"), [("borrow", 12), ("spo", 30)])
@pytest.mark.parametrize("clients", [5, 20])
def test_classification_takes_few_rounds(clients: int, search: str, most: int) -> None:
    members = federation(clients, rows=40, classes=2)
    learned = findings_of(members, Study("y", search=search))
    assert members.traffic.rounds <= most
    assert len(learned.evaluated.evaluations) == clients


def test_threads_for_many_clients_give_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    study = Study("y", search="spo", folds=2, judges=2, repeats=1)
    without_threads = findings_of(federation(5, rows=24), study)
    pools: list[int] = []

    def pool(threads: int) -> ThreadPoolExecutor:
        pools.append(threads)
        return ThreadPoolExecutor(threads)

    monkeypatch.setattr(comity.solving.findings, "_MIN_CLIENTS_FOR_THREADS", 5)
    monkeypatch.setattr(comity.solving.findings, "ThreadPoolExecutor", pool)
    with_threads = findings_of(federation(5, rows=24), study)
    assert pools, "no thread was started"
    assert with_threads.decision.equilibrium.coalitions == without_threads.decision.equilibrium.coalitions
    np.testing.assert_equal(with_threads.evaluated.models, without_threads.evaluated.models)
    for client, each in without_threads.evaluated.evaluations.items():
        np.testing.assert_array_equal(with_threads.evaluated.evaluations[client].values, each.values)


@pytest.mark.parametrize("search", ["borrow", "spo"])
@pytest.mark.parametrize("classes", [0, 2, 3])
def test_coalitions_lie_within_groups_and_losses_fall(classes: int, search: str) -> None:
    learned = findings_of(
        federation(6, rows=60, classes=classes, features=12, seed=4),
        Study("y", search=search, metric="log-loss" if classes else "rmse"),
    )
    groups = {frozenset(f"c{n}" for n in range(6) if n % 2 == side) for side in (0, 1)}
    coalitions = learned.decision.equilibrium.coalitions
    assert all(any(coalition <= group for group in groups) for coalition in coalitions)
    assert learned.certificate.proved
    assert {kind: len(models) for kind, models in learned.evaluated.models.items()} == dict.fromkeys(ModelKind, 6)
    assert np.mean([learned.evaluated.evaluations[client].gains[1] for client in learned.problem.rows]) < 0


@pytest.mark.parametrize("search", ["borrow", "spo"])
def test_the_seed_determines_the_result(search: str) -> None:
    one, same, other = (findings_of(federation(4), Study("y", search=search, seed=seed)) for seed in (0, 0, 1))
    np.testing.assert_equal(one.evaluated.models, same.evaluated.models)
    assert list(one.game.records()) == list(same.game.records())
    assert list(one.game.records()) != list(other.game.records())


def test_the_coalition_model_of_a_client_alone_is_its_model_alone() -> None:
    learned = findings_of(federation(3, rows=200), Study("y"))
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


def test_models_differ_from_those_alone_if_and_only_if_others_have_weight() -> None:
    """One client has 1,000 rows and the other 40 rows with the same effects."""
    rng = np.random.default_rng(0)
    large, small = rng.normal(size=(1000, 3)), rng.normal(size=(40, 3))
    frames = [pd.DataFrame(x, columns=list("abc")) for x in (large, small)]
    scores = [frame.sum(axis=1) + rng.logistic(size=len(frame)) * 0.5 for frame in frames]
    members = [f.assign(y=np.where(s > 0, "yes", "no")) for f, s in zip(frames, scores, strict=True)]
    learned = findings_of(
        InProcess((Client("large", members[0]), Client("small", members[1]))), Study("y", search="spo", judges=2)
    )
    models = learned.evaluated.models
    for kind, point in learned.decision.points.items():
        for client in range(2):
            shared = point.weights[client].sum() > point.weights[client, client]
            same = np.array_equal(models[ModelKind(kind)][client], models[ModelKind.ALONE][client])
            assert shared != same


@pytest.mark.parametrize(("folds", "judges"), [(5, 10), (5, 2), (3, 2), (2, 5)])
def test_ten_rows_leave_no_fold_empty(folds: int, judges: int) -> None:
    for seed in range(2):  # clients split their rows by the seed and their names
        study = Study("y", search="spo", folds=folds, judges=judges, resamples=2, seed=seed)
        learned = findings_of(federation(2, rows=10, seed=seed), study)
        assert all(np.isfinite(models).all() for models in learned.evaluated.models.values())


def test_every_resample_has_a_decision() -> None:
    learned = findings_of(federation(4), Study("y", search="spo", judges=2, resamples=3))
    assert len(learned.resampled) == 3


@pytest.mark.parametrize("options", [{"weights": "client"}, {"rule": "clip"}, {"penalty": 0.01}, {"confidence": 3.0}])
@pytest.mark.parametrize("classes", [0, 2])
def test_models_are_finite_with_every_option(options: dict, classes: int) -> None:
    learned = findings_of(federation(4, classes=classes), Study("y", search="spo", judges=2, repeats=1, **options))
    assert all(np.isfinite(models).all() for models in learned.evaluated.models.values())
    if "penalty" in options:
        np.testing.assert_allclose(list(learned.evaluated.penalties.values()), 0.01)


def test_errors_name_too_few_rows_a_single_client_and_refusals() -> None:
    few = federation(3, rows=40)
    small = InProcess((*few.members[:2], Client("small", few.members[2].rows.head(9), Policy(least_rows=5))))
    with pytest.raises(InputError, match="client 'small' has 9 rows, too few for 5 folds and 10 judges"):
        findings_of(small, Study("y", search="spo"))
    with pytest.raises(InputError, match="one client only"):
        findings_of(InProcess(few.members[:1]), Study("y"))
    silent = InProcess((*few.members[:2], Client("silent", few.members[2].rows, Policy(questions=("describe",)))))
    with pytest.raises(RefusedError, match="'silent' does not answer the question 'moments'"):
        findings_of(silent, Study("y"))
