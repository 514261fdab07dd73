"""Methods on a table: the same rows for all, and values that follow from them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from comity.client import Client
from comity.errors import ComityError
from comity.research.baselines import METHODS, Budget, Session
from comity.research.experiments.methods import ALL_METHODS, BaselineRun
from comity.research.experiments.table_task import TableTask, digest, divide
from comity.study import Study
from support.small_tables import classes, numbers

BUDGET = Budget(rounds=4, steps=2, checks=2)


def clients(frame: pd.DataFrame) -> tuple[Client, ...]:
    return tuple(Client(name, part.drop(columns="site")) for name, part in frame.groupby("site"))


def task(frame: pd.DataFrame, target: str, seed: int = 0, **study) -> TableTask:
    divided = divide(clients(frame), target, 4, seed)
    return TableTask(divided, Study(target, seed=seed, **study), BUDGET, BaselineRun((0.05,)))


def quiet(stage: str, done: int, of: int) -> None:
    pass


@pytest.mark.parametrize(("make", "target"), [(numbers, "effect"), (classes, "cured")])
def test_every_method_has_a_value_for_every_client(make, target: str) -> None:
    made = task(make(rows=60), target)
    for method in ALL_METHODS:
        found = made.run(method, quiet)
        assert list(found.values) == [client.name for client in made.clients]
        assert all(np.isfinite(value) for value in found.values.values()), method
    assert set(ALL_METHODS) == {*METHODS, "alone", "spo", "ce"}


def test_perceptrons_are_compared_too() -> None:
    made = task(classes(rows=60), "cured", model="mlp", width=4, steps=20)
    for method in ("local", "fedper", "spo", "ce"):
        assert all(np.isfinite(value) for value in made.run(method, quiet).values.values())


def test_rows_are_divided_by_the_seed_and_no_row_both_trains_and_tests() -> None:
    frame = classes(rows=60)
    one, same, other = (divide(clients(frame), "cured", 4, seed) for seed in (0, 0, 1))
    assert digest(one) == digest(same) != digest(other)
    for client, whole in zip(one, clients(frame), strict=True):
        assert sorted([*client.rows.index, *client.test.index]) == sorted(whole.rows.index)
        share = client.test["cured"].value_counts() / whole.rows["cured"].value_counts()
        assert share.between(0.15, 0.35).all(), "every class is among the test rows"


@pytest.mark.parametrize(
    ("make", "target", "study"),
    [
        (numbers, "effect", {}),
        (numbers, "effect", {"search": "spo", "folds": 2, "repeats": 1, "judges": 2}),
        (classes, "cured", {"model": "mlp", "width": 4, "steps": 20, "fine_tune": 10}),
    ],
)
def test_test_rows_neither_train_nor_choose_models(make, target: str, study, monkeypatch) -> None:
    """With other test rows, values change; models must not."""
    judged: list[bytes] = []
    judge = Session.judge

    def overheard(session: Session, models, metric: str):
        judged.append(models.tobytes())
        return judge(session, models, metric)

    monkeypatch.setattr(Session, "judge", overheard)
    made = task(make(rows=60), target, **study)
    turned = tuple(replace(client, test=_turned(client.test), log=[]) for client in made.clients)
    seen = []
    for members in (made.clients, turned):
        judged.clear()
        each = TableTask(members, made.study, BUDGET, BaselineRun((0.05, 0.2)))
        found = {method: each.run(method, quiet) for method in ("local", "fedavg", "alone", "spo", "ce")}
        learned = each._kept[0].learned
        rates = [found[method].settings["rate"] for method in ("local", "fedavg")]
        values = {method: outcome.values for method, outcome in found.items()}
        seen.append(
            (
                values,
                rates,
                [*judged],
                [each.tobytes() for each in learned.evaluated.models.values()],
                learned.decision.graph,
            )
        )
    (one, *same), (other, *again) = seen
    assert len(same[1]) >= 4, "models of two methods are judged, and again after the refit"
    assert same == again
    assert all(one[method][client] != other[method][client] for method in one for client in one[method])


def _turned(frame: pd.DataFrame) -> pd.DataFrame:
    """Return rows with the opposite effects."""
    if "cured" in frame:
        return frame.assign(dose=10 - frame["dose"], cured=frame["cured"].map({"yes": "no", "no": "yes"}))
    return frame.assign(dose=10 - frame["dose"], effect=-10 * frame["effect"])


def test_a_digest_is_of_all_rows_and_of_whether_they_train_or_test() -> None:
    """Otherwise cells of other rows would be taken for those of a job."""
    (one, *rest) = divide(clients(numbers(rows=60)), "effect", 4, 0)
    moved = one.test.assign(effect=one.test["effect"] + 1e-3)
    others = (
        replace(one, test=moved, log=[]),
        replace(one, test=None, log=[]),
        replace(one, rows=one.rows.assign(effect=one.rows["effect"] + 1e-3), log=[]),
        replace(one, rows=one.test, test=one.rows, log=[]),
        replace(one, name="East", log=[]),
    )
    assert len({digest([each, *rest]) for each in (one, *others)}) == 6


def test_a_client_with_too_few_rows_is_named() -> None:
    with pytest.raises(ComityError, match="client 'a' has 9 rows; to test on one part in 4, it needs 20"):
        divide([Client("a", pd.DataFrame({"x": range(9), "y": range(9)}))], "y", 4, 0)
    with pytest.raises(ComityError, match="client 'a' has no column 'z'"):
        divide([Client("a", pd.DataFrame({"x": range(40), "y": range(40)}))], "z", 4, 0)


def test_heads_go_with_the_rate_that_was_chosen() -> None:
    """Clients keep the personal parameters of the last training; a rate tried after the best one must not matter."""
    divided = divide(clients(numbers(rows=60)), "effect", 4, 0)
    study, budget = Study("effect"), Budget(rounds=10, steps=5)
    for method in ("fedper", "lg-fedavg", "pfedhn-pc"):
        for again in (False, True):
            values = []
            for rates in ((0.05,), (0.05, 1e-5)):
                made = TableTask(divided, study, budget, BaselineRun(rates, again))
                found = made.run(method, quiet)
                assert found.settings["rate"] == 0.05
                values.append(found.values)
            assert values[0] == values[1], method


def test_a_method_that_does_not_train_reports_why_and_the_others_continue() -> None:
    made = task(numbers(rows=60), "effect")
    wild = TableTask(made.clients, made.study, BUDGET, BaselineRun((1e9,)))
    failed = wild.run("local", quiet)
    assert all(np.isnan(value) for value in failed.values.values())
    assert "take a lower rate" in failed.details["failed"]
    one_is_enough = TableTask(made.clients, made.study, BUDGET, BaselineRun((1e9, 0.05)))
    assert one_is_enough.run("local", quiet).settings["rate"] == 0.05


def test_a_class_with_few_rows_is_learned_before_it_is_tested() -> None:
    frame = pd.DataFrame({"x": range(40), "y": ["a"] * 20 + ["b"] * 18 + ["c"] * 2})
    for seed in range(10):
        (divided,) = divide([Client("one", frame)], "y", 4, seed)
        assert set(divided.rows["y"]) == {"a", "b", "c"}
        assert set(divided.test["y"]) == {"a", "b"}


def test_comitys_methods_report_their_gradients_and_the_time_of_their_common_search() -> None:
    made = task(classes(rows=60), "cured", model="mlp", width=4)
    ce, spo = (made.run(method, quiet) for method in ("ce", "spo"))
    assert spo.settings == {"gradients": 16, "front gradients": 8, "alone gradients": 8, "fine-tuning gradients": 0}
    assert ce.seconds == spo.seconds > 0


def test_a_method_may_have_rates_and_steps_of_its_own_and_spends_the_same() -> None:
    made = task(numbers(rows=60), "effect")
    plain = made.run("fedavg", quiet)
    own = {"fedavg": {"rates": (0.2,), "steps": 1}}
    made = TableTask(made.clients, made.study, BUDGET, BaselineRun((0.05,), settings=own))
    other, local = (made.run(name, quiet) for name in ("fedavg", "local"))
    assert (plain.settings["rate"], other.settings["rate"], local.settings["rate"]) == (0.05, 0.2, 0.05)
    assert plain.settings["gradients"] == other.settings["gradients"] == 8
    assert plain.values != other.values
