"""What leaves a client is counted, and limited for each part of its rows."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest

import comity
from comity.client import Client, Policy
from comity.client.disclosure import Plan, hide_rare, numbers_in_sum, plan
from comity.core.likelihood import LogLoss
from comity.errors import RefusedError
from comity.questions import Describe, Evaluate, FitOwn, Moments, Slopes, Split
from comity.questions.schema import CategoryColumn, NumberColumn, Schema, Target
from comity.rows.encoding import encode, encode_target
from comity.rows.rows import Encoded, Rows
from support.small_client import ask_moments, rows, schema

COLUMNS = (
    NumberColumn("x", 0.0, 1.0, False),
    NumberColumn("z", 0.0, 1.0, True),
    CategoryColumn("ward", ("A", "B", "C"), False),
)
SITE = Policy(disclosure=0.5)
DEALT = Split(5, 1, 0)


def table(count: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = rows(count).assign(ward=rng.choice(list("ABCD"), count), kind=rng.choice(["p", "q", "r"], count))
    return frame.assign(z=frame["z"].where(rng.uniform(size=count) > 0.2))


@pytest.mark.parametrize("classes", [(), ("p", "q"), ("p", "q", "r")])
def test_independent_numbers_of_a_sum_are_counted(classes):
    """As many as the dimension of what rows can add to a sum, but for the number of rows."""
    frame = table(1000)
    if not classes:
        agreed = Schema(COLUMNS, Target("y", "regression"))
        z = np.column_stack([encode(frame, agreed), encode_target(frame, agreed)])
        added = (z[:, :, None] * z[:, None, :]).reshape(len(z), -1)
        assert np.linalg.matrix_rank(added) == numbers_in_sum(agreed) + 1
        return
    frame = frame[frame["kind"].isin(classes)]
    agreed = Schema(COLUMNS, Target("kind", "classes", classes))
    loss = LogLoss(encode(frame, agreed), encode_target(frame, agreed), len(classes))
    point = np.random.default_rng(1).normal(size=loss.size)
    single = np.eye(len(frame))
    added = np.column_stack(
        [
            loss.losses(point),
            [loss.slope(point, row) for row in single],
            [loss.curvature(point, row).ravel() for row in single],
        ]
    )
    assert np.linalg.matrix_rank(added, tol=1e-8) == numbers_in_sum(agreed)


@pytest.mark.parametrize("task", ["counts", "survival"])
def test_independent_numbers_of_an_expansion_are_counted(task):
    """Loss, slope and curvature of tables that differ, and of survival the number of events."""
    target = {
        "counts": Target("y", "counts", mean=1.0, exposure="e"),
        "survival": Target("d", "survival", time="e"),
    }[task]
    agreed, seen = Schema(COLUMNS, target), []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        frame = table().sample(30, random_state=seed)
        frame = frame.assign(y=rng.poisson(2, 30), d=rng.integers(0, 2, 30), e=rng.uniform(1, 9, 30))
        loss = Rows("a", frame).encoded(agreed).loss
        point = np.random.default_rng(1).normal(size=loss.size)
        slope, curvature = loss.derivatives(point, np.ones(30))
        events = [loss.observations(np.ones(30))] if task == "survival" else []
        seen.append(np.concatenate([[loss.total(point, np.ones(30))], slope, curvature.ravel(), events]))
    assert np.linalg.matrix_rank(np.array(seen), tol=1e-8) == numbers_in_sum(agreed)


@pytest.mark.parametrize("task", ["counts", "survival"])
def test_a_site_keeps_its_limit_with_other_tasks(task):
    rng = np.random.default_rng(0)
    members = []
    for name, count in (("a", 40), ("b", 300), ("c", 900)):
        frame = pd.DataFrame(rng.normal(size=(count, 2)), columns=["x", "z"])
        frame = frame.assign(y=rng.poisson(2, count), e=rng.uniform(1, 9, count), d=rng.integers(0, 2, count))
        members.append(Client(name, frame.drop(columns="d" if task == "counts" else "y"), SITE))
    settings = {"counts": {"target": "y", "exposure": "e"}, "survival": {"time": "e", "event": "d"}}[task]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        comity.solve(comity.InProcess(tuple(members)), task=task, **settings)
    assert all(0 < member.disclosed <= SITE.disclosure for member in members)


def test_events_are_never_few_in_a_part():
    """With one event in a part, its sums would show that row."""
    frame = pd.DataFrame({"x": np.arange(600.0) % 17, "e": np.arange(1.0, 601.0), "d": 0})
    agreed = Schema((NumberColumn("x", 8.0, 5.0, False),), Target("d", "survival", time="e"))
    for events, parts in ((2, 0), (3, 1), (6, 2), (300, 5)):
        client = Client("a", frame.assign(d=(np.arange(600) % (600 // events) == 0).astype(int)), SITE)
        answer = client.answer(Moments(agreed, DEALT, np.zeros((1, 1))))
        assert (answer.rows > 0).sum() == parts
        assert (answer.rows[answer.rows > 0] >= 3).all()


@pytest.mark.parametrize("limit", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("classes", [(), ("p", "q")])
def test_a_plan_keeps_every_part_within_the_limit(limit, classes):
    agreed = Schema(COLUMNS, Target("t", "classes" if classes else "regression", classes))
    before = 0
    for count in range(1, 3000, 7):
        found = plan(agreed, count, 5, limit, 8)
        assert found.parts >= before, "more rows, no fewer parts"
        before = found.parts
        if found.parts:
            assert found.parts * numbers_in_sum(agreed) + 8 <= limit * count * 4
            assert numbers_in_sum(agreed) <= limit * (count // found.parts) * 4
    assert before == 5
    assert plan(agreed, 10**6, 5, limit, 8) == Plan(5, slopes=True)


def test_what_a_client_counts_it_logs_and_an_answer_again_adds_nothing():
    client = Client("a", rows(400), SITE)
    client.answer(Describe("y"))
    for _ in range(2):
        client.answer(Moments(schema(), DEALT, np.empty((0, 2))))
    numbers = [(entry.question, entry.numbers) for entry in client.log]
    assert numbers == [("describe", 6), ("moments", 5 * 5), ("moments", 0)]
    assert [entry.disclosed for entry in client.log] == [6 / (400 * 3), 25 / (400 * 2), 0.0]
    assert client.disclosed == pytest.approx(6 / 1200 + 25 / 800)


def test_clients_without_a_limit_answer_as_before_and_count_too():
    client = Client("a", rows(40))
    assert not client.answer(Describe("y")).limited
    assert (client.answer(Moments(schema(), DEALT, np.empty((0, 2)))).rows == 8).all()
    assert client.disclosed == pytest.approx(6 / 120 + 25 / 80)
    client.answer(ask_moments())  # with judges, which is not counted
    assert client.log[-1].numbers == 0


def test_slopes_are_counted_by_point_and_withheld_where_they_are_too_many():
    agreed = Schema(COLUMNS[:1], Target("kind", "classes", ("p", "q")))
    frame = table()[lambda frame: frame["kind"] != "r"]
    points, views = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]]), np.zeros(3)
    large, small = Client("a", frame, SITE), Client("a", frame.head(60), SITE)
    assert large.answer(Slopes(agreed, DEALT, points, views)).rows[0] == len(frame)
    assert large.log[-1].numbers == 2 * (1 + 2 + 3)
    assert small.answer(Slopes(agreed, DEALT, points, views)).rows.sum() == 0
    assert small.answer(Moments(agreed, DEALT, np.zeros((1, 2)))).rows.sum() == 60
    assert small.answer(FitOwn(agreed, DEALT)).parameters.any()
    assert small.disclosed <= 0.5


def test_models_are_evaluated_on_all_parts_or_none():
    """A part alone would be asked about again and again."""
    client = Client("a", rows(400), SITE)
    models = np.zeros((2, 6, 2))
    for counted in (np.ones((2, 5)), np.zeros((2, 5))):
        client.answer(Evaluate(schema(), DEALT, "rmse", models, counted))
    assert [entry.numbers for entry in client.log] == [5, 0]
    with pytest.raises(RefusedError, match="evaluates models on all parts of its rows, not on some of them"):
        client.answer(Evaluate(schema(), DEALT, "rmse", models, np.eye(2, 5)))


def test_many_small_questions_end_at_the_limit():
    client = Client("a", rows(400), SITE)

    def ask(number: int) -> None:
        models = np.full((1, 6, 2), float(number))
        client.answer(Evaluate(schema(), DEALT, "rmse", models, np.ones((1, 5))))

    for number in range(200):  # each tells a value and its error: half of 400 rows of two numbers
        ask(number)
    with pytest.raises(RefusedError, match="it would have disclosed 50% of the numbers in its rows, 50% by earlier"):
        ask(200)


def test_groups_of_rows_make_parts_that_are_large_enough():
    frame = rows(300).assign(patient=[0] * 180 + list(range(1, 121)))
    client = Client("a", frame, SITE, group="patient")
    parts = client.answer(Moments(schema(), Split(40, 1, 0), np.empty((0, 2)))).rows[0]
    assert parts.sum() == 300
    assert parts[parts > 0].min() * 2 * 0.5 >= numbers_in_sum(schema())


@pytest.mark.parametrize("seed", range(5))
def test_no_part_has_a_rare_level_class_or_missing_value(seed):
    rng = np.random.default_rng(seed)
    count, least = 60, 3
    frame = pd.DataFrame(
        {
            "x": rng.choice([0.0, 1.0], count, p=[0.9, 0.1]),
            "z": np.where(rng.uniform(size=count) < 0.1, np.nan, rng.normal(size=count)),
            "ward": rng.choice(list("ABCD"), count, p=[0.05, 0.15, 0.2, 0.6]),
            "kind": rng.choice(["p", "q", "r"], count, p=[0.1, 0.2, 0.7]),
        }
    )
    agreed = Schema(COLUMNS, Target("kind", "classes", ("p", "q", "r")))
    parts = np.eye(4)[rng.integers(4, size=count)].T
    before = Encoded(encode(frame, agreed), encode_target(frame, agreed), agreed.target, np.ones(len(frame)))
    hidden = hide_rare(before, agreed, parts, least)
    for part in parts:
        features, target = hidden.features[part > 0], hidden.target[part > 0]
        columns = (features[:, :1], features[:, 2:3], features[:, 3:6], target[:, None])
        for column in columns:
            assert np.unique(column, axis=0, return_counts=True)[1].min() >= least
    assert (hidden.features[:, 1] == before.features[:, 1]).all(), "numbers with many values stay"


def test_a_limit_that_is_never_reached_changes_nothing():
    frame = table(60)
    agreed = Schema(COLUMNS, Target("y", "regression"))
    question = Moments(agreed, DEALT, np.empty((0, agreed.parameters)))
    free, wide = (Client("a", frame, Policy(disclosure=limit)).answer(question) for limit in (math.inf, 1e6))
    assert (free.gram == wide.gram).all()
