"""Clients, what they refuse and log, and the federation that asks them."""

import numpy as np
import pandas as pd
import pytest

from comity.client import AuditEntry, Client, Policy
from comity.core.likelihood import LogLoss, penalty_factors
from comity.errors import InputError, RefusedError, UnknownClientError
from comity.federation import InProcess
from comity.questions import Describe, Evaluate, FitAlone, Moments, Slopes, Split, from_plain, pack, to_plain
from comity.questions.schema import ColumnSummary, Schema, Target, agree
from comity.rows.encoding import encode, encode_target, summarise
from comity.rows.splits import assign_folds

NOWHERE = np.empty((0, 0))


def rows(seed: int, count: int = 30) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(60, 10, count),
            "ward": rng.choice(["A", "B", "C"], count),
            "smoker": rng.choice([True, False], count),
            "stay": rng.normal(5, 2, count),
        }
    )
    frame.loc[2, "age"] = np.nan
    frame.loc[3, "ward"] = None
    return frame


def federation(clients: int = 3) -> InProcess:
    return InProcess(tuple(Client(f"h{number}", rows(number)) for number in range(clients)))


def agreed(asked: InProcess, target: str = "stay", **options: object) -> Schema:
    answers = asked.ask(Describe(target))
    summaries = {name: answer.columns for name, answer in answers.items()}
    return agree(summaries, target, **options).schema


def test_a_job_from_description_to_moments() -> None:
    asked = federation()
    schema = agreed(asked)
    assert schema.features == (
        "age", "age (missing)", "ward=A", "ward=B", "ward=C", "ward=(missing)", "smoker"
    )  # fmt: skip
    split = Split(folds=4, repeats=2, judges=3, seed=1)
    answers = asked.ask(Moments(schema, split, NOWHERE))
    for number, name in enumerate(asked.clients):
        x, y = encode(rows(number), schema), encode_target(rows(number), schema)
        given, zeros = answers[name], np.zeros(30)
        np.testing.assert_allclose(given.gram[0].sum(axis=0), 2 * x.T @ x)
        np.testing.assert_allclose(given.cross[0].sum(axis=0), 2 * x.T @ y)
        np.testing.assert_allclose(given.square[0].sum(), 2 * y @ y)
        judge = assign_folds(assign_folds(zeros, 4, 1, name, 1).astype(float), 3, 1, name)
        folds = assign_folds(zeros, 4, 1, name, 2)
        here = (folds == 1) & (judge != 2)
        np.testing.assert_allclose(given.gram[3, 5], x[here].T @ x[here])
        np.testing.assert_array_equal(given.rows[0, :4], np.bincount(assign_folds(zeros, 4, 1, name, 1)))
    everything = np.concatenate([encode(rows(number), schema) for number in range(3)])
    np.testing.assert_allclose(everything[:, 0].mean(), 0.0, atol=1e-12)
    assert asked.traffic.rounds == 2
    assert asked.traffic.received > asked.traffic.sent > 0


def test_the_log_has_all_that_was_given_and_no_answer_has_a_row() -> None:
    asked = federation()
    schema = agreed(asked)
    answer = asked.ask(Moments(schema, Split(folds=3), NOWHERE), ["h1"])
    assert list(answer) == ["h1"]
    (described, given) = asked.members[1].log
    assert (described.question, described.rows) == ("describe", 30)
    sealed = pack(answer["h1"]).digest
    assert given == AuditEntry("moments", 30, given.size, given.when, given.asked, sealed)
    assert given.size == sum(getattr(answer["h1"], name).nbytes for name in ("gram", "cross", "square", "rows")) + 2
    assert len(asked.members[0].log) == 1
    ages = rows(1)["age"].dropna()
    summaries = str(asked.ask(Describe("stay"), ["h1"])["h1"].columns)
    assert not any(repr(float(age)) in summaries for age in ages)


def test_names_and_identifiers_are_not_told() -> None:
    frame = rows(0).assign(patient=[f"Ms {number}" for number in range(30)], number=range(30))
    answer = Client("a", frame).answer(Describe("stay"))
    assert "Ms 7" not in str(answer.columns)
    levels = {column.name: column.levels for column in answer.columns}
    assert [name for name in levels if levels[name]] == ["ward"]
    assert set(levels["ward"]) == {"A", "B", "C"}
    classes = Client("a", rows(0).assign(grade=[1, 2, 3] * 10)).answer(Describe("grade", classes=True))
    assert {column.name: column.levels for column in classes.columns}["grade"] == {"1": 10, "2": 10, "3": 10}


def test_a_policy_is_kept() -> None:
    secretive = Client("s", rows(0), Policy(questions=("describe",)))
    small = Client("t", rows(0, 8), Policy(least_rows=10))
    secretive.answer(Describe("stay"))
    with pytest.raises(RefusedError, match="client 's' does not answer the question 'moments'"):
        secretive.answer(Moments(Schema((), Target("stay", "regression")), Split(), NOWHERE))
    assert small.answer(Describe("stay")).rows == 0, "with too few rows it has none"
    with pytest.raises(RefusedError, match="client 't' answers only if it has 10 rows or more, and has fewer"):
        small.answer(Moments(Schema((), Target("stay", "regression")), Split(), NOWHERE))
    with pytest.raises(RefusedError, match="does not answer the question 'str'"):
        secretive.answer("give me your rows")
    assert [(line.question, bool(line.given)) for line in secretive.log] == [
        ("describe", True),
        ("moments", False),
        ("str", False),
    ]
    assert [line.size > 0 for line in small.log] == [True, False], "what was refused is in the log as well"


def test_names_are_checked() -> None:
    with pytest.raises(UnknownClientError, match="unknown client 'x'"):
        federation().ask(Describe("stay"), ["x"])
    with pytest.raises(InputError, match="listed twice"):
        InProcess((Client("a", rows(0)), Client("a", rows(1))))
    with pytest.raises(InputError, match="two columns 'age'"):
        Client("a", pd.DataFrame([[1, 2]], columns=["age", "age"]))


def test_each_client_can_be_asked_its_own() -> None:
    asked = federation(2)
    answers = asked.ask({"h0": Describe("stay"), "h1": Describe("ward")})
    assert set(answers) == {"h0", "h1"}
    assert asked.traffic.rounds == 1


def test_folds_are_even_and_fixed_by_seed_name_and_time() -> None:
    for count in (7, 30, 31):
        sizes = np.bincount(assign_folds(np.zeros(count), 5, 0, "a"), minlength=5)
        assert sizes.max() - sizes.min() <= 1
    one = assign_folds(np.zeros(30), 5, 0, "a")
    np.testing.assert_array_equal(one, assign_folds(np.zeros(30), 5, 0, "a"))
    for other in ((0, "b", 0), (1, "a", 0), (0, "a", 1)):
        assert (one != assign_folds(np.zeros(30), 5, *other)).any()


def test_folds_hold_every_class_alike() -> None:
    strata = np.repeat([0.0, 1.0], [40, 10])
    folds = assign_folds(strata, 5, 0, "a")
    np.testing.assert_array_equal(np.bincount(folds[strata == 1]), [2] * 5)


def labelled() -> tuple[InProcess, Schema]:
    asked = federation(2)
    return asked, agreed(asked, "smoker")


def test_the_expansion_of_a_loss_is_right_to_second_order() -> None:
    asked, schema = labelled()
    split = Split(folds=3, repeats=1, judges=2, resamples=2)
    size = len(schema.features) + 1
    rng = np.random.default_rng(0)
    points = rng.normal(size=(split.views, size)) / 3
    given = asked.ask(Moments(schema, split, points))["h1"]
    loss = LogLoss(encode(rows(1), schema), encode_target(rows(1), schema), 2)
    judge = assign_folds(loss.target * 3 + assign_folds(loss.target, 3, 0, "h1", 1), 2, 0, "h1")
    for view, kept in ((0, np.ones(30)), (2, (judge != 1).astype(float))):
        for far, allowed in ((0.0, 1e-12), (1e-3, 1e-6)):
            at = points[view] + far * rng.normal(size=size)
            gram, cross = given.gram[view].sum(axis=0), given.cross[view].sum(axis=0)
            predicted = given.square[view].sum() - 2 * cross @ at + at @ gram @ at
            assert predicted == pytest.approx(loss.losses(at) @ kept, rel=allowed)
    assert given.rows[3].sum() == given.rows[4].sum() == 30
    assert not np.array_equal(given.cross[3], given.cross[4])
    np.testing.assert_array_equal(given.rows[3], given.rows[0])


def test_slopes_are_those_of_a_view() -> None:
    asked, schema = labelled()
    split = Split(judges=4)
    size = len(schema.features) + 1
    models = np.random.default_rng(0).normal(size=(3, size))
    given = asked.ask(Slopes(schema, split, models, np.array([0.0, 2.0, 0.0])))["h0"]
    loss = LogLoss(encode(rows(0), schema), encode_target(rows(0), schema), 2)
    cells = loss.target * 5 + assign_folds(loss.target, 5, 0, "h0", 1)
    kept = (assign_folds(cells, 4, 0, "h0") != 1).astype(float)
    np.testing.assert_allclose(given.slopes[1], loss.slope(models[1], kept))
    np.testing.assert_allclose(given.curvatures[2], loss.curvature(models[2], np.ones(30)))
    np.testing.assert_allclose(given.losses[1], loss.losses(models[1]) @ kept)
    np.testing.assert_array_equal(given.rows, [30, kept.sum(), 30])


def test_a_model_of_its_own_is_tuned_by_the_folds() -> None:
    """Noise alone asks for a large penalty, and a strong effect for a small one."""
    rng = np.random.default_rng(0)
    strong = pd.DataFrame({"x": rng.normal(size=200), "z": rng.normal(size=200)})
    noise = strong.assign(y=rng.choice(["no", "yes"], 200))
    strong = strong.assign(y=np.where(strong["x"] + rng.normal(size=200) > 0, "yes", "no"))
    asked = InProcess((Client("strong", strong), Client("noise", noise)))
    schema = agreed(asked, "y")
    split = Split(judges=3)
    penalties = np.logspace(-6, 1, 8)
    given = asked.ask(FitAlone(schema, split, penalties))
    assert given["strong"].penalties[0] < 0.1 <= given["noise"].penalties[0]
    loss = LogLoss(encode(strong, schema), encode_target(strong, schema), 2)
    costs = given["strong"].penalties[0] * penalty_factors(loss.size, 1)
    slope = loss.slope(given["strong"].parameters[0], np.ones(200)) / 200 + 2 * costs * given["strong"].parameters[0]
    np.testing.assert_allclose(slope, 0.0, atol=1e-5)
    assert given["strong"].parameters.shape == (4, 3)


def test_rows_are_judged_by_models_that_left_them_out() -> None:
    """The models of a view are perfect on rows they know and useless elsewhere: what they know must not show."""
    asked = federation(1)
    schema = agreed(asked, "stay")
    target = encode_target(rows(0), schema)
    split = Split(judges=3)
    judge = assign_folds(assign_folds(np.zeros(30), 5, 0, "h0", 1).astype(float), 3, 0, "h0")
    size = len(schema.features) + 1
    models = np.zeros((2, 4, size))
    for view in range(3):
        models[1, 1 + view, -1] = target[judge != view].mean()
    given = asked.ask(Evaluate(schema, split, "rmse", models, np.ones((2, 3))))["h0"]
    held = np.array([models[1, 1 + part, -1] for part in judge])
    on_all = [((models[1, 1 + view, -1] - target) ** 2).mean() for view in range(3)]
    scale = rows(0)["stay"].std(ddof=0)
    expected = np.sqrt(((held - target) ** 2).mean() + (target**2).mean() - np.mean(on_all)) * scale
    assert given.values[1] == pytest.approx(expected)
    assert given.values[0] == pytest.approx(scale)
    np.testing.assert_allclose(given.gains, given.values - given.values[0])
    assert given.errors[0] > 0 == given.gain_errors[0]
    first = asked.ask(Evaluate(schema, split, "rmse", models, np.array([[1.0] * 3, [1.0, 0, 0]])))
    here = judge == 0
    alone = np.sqrt((target[here] ** 2).mean()) * scale
    corrected = np.sqrt(((held[here] - target[here]) ** 2).mean() + (target**2).mean() - on_all[0]) * scale
    assert first["h0"].gains[1] == pytest.approx(corrected - alone)
    assert first["h0"].values[1] == pytest.approx(scale + corrected - alone)


def test_a_schema_survives_json() -> None:
    schema = agreed(federation())
    assert from_plain(Schema, to_plain(schema)) == schema


def test_the_target_tells_the_task() -> None:
    asked = federation()
    assert agreed(asked).target.task == "regression"
    flag = agreed(asked, "smoker").target
    assert (flag.task, flag.classes) == ("classes", ("False", "True"))
    with pytest.raises(InputError, match="text, which regression cannot predict"):
        agree({"a": summarise(rows(0).dropna(), "ward", False, 50)}, "ward", task="regression")


def one(name: str = "a", **columns: list) -> dict[str, tuple[ColumnSummary, ...]]:
    return {name: summarise(pd.DataFrame(columns), "y", False, 20)}


Y = [0.5, 1.5, 2.5, 3.5]


@pytest.mark.parametrize(
    ("summaries", "message"),
    [
        (one(x=[1, 2, 3, 4]), "there is no column 'y'; the columns are 'x'"),
        (one(y=Y), "no column is left"),
        (one(x=[1, 2, 3, 4], y=[1.0, None, 2.0, 3.0]), "the target 'y' is missing in 1 row of client 'a'"),
        (one(x=[1, 2, 3, 4], y=[2.0] * 4), "is '2' in every row"),
        (one(x=[1, 2, 3, 4], y=["u"] * 4), "'u' in every row"),
        (one(x=[1.0, np.inf, 2, 3], y=Y), "column 'x' of client 'a' has an infinite value"),
        (one(x=[1, 2, 3, 4], y=[1.0, np.inf, 2, 3]), "the target 'y' has an infinite value at client 'a'"),
        ({**one(x=[1, 2, 3, 4], y=Y), **one("b", y=Y)}, "column 'x' is missing at client 'b'"),
        ({**one(x=[1, 2, 3, 4], y=Y), **one("b", x=[1, 2, 3, 4])}, "client 'b' has no column 'y'"),
        ({**one(x=[1, 2, 3, 4], y=Y), **one("b", x=list("uvwx"), y=Y)}, "numbers at client 'a' and text at 'b'"),
        (one(x=[*map(str, range(60)), "n/a"], y=[float(v) + 0.5 for v in range(61)]), "has numbers and text"),
    ],
)
def test_what_cannot_be_agreed_on_is_said(summaries: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        agree(summaries, "y")


@pytest.mark.parametrize(
    ("column", "warning"),
    [
        ([None] * 60, "is empty everywhere"),
        ([7] * 60, "has the same value everywhere"),
        (list(range(1000, 1060)), "looks like an identifier"),
        ([f"id{number}" for number in range(60)], "like an identifier"),
        ([f"word{number % 25}" for number in range(60)], "too many different values"),
    ],
)
def test_what_is_left_out_is_said(column: list, warning: str) -> None:
    summaries = one(x=column, z=[float(v) + 0.5 for v in range(60)], y=[float(v) + 0.5 for v in range(60)])
    agreement = agree(summaries, "y")
    assert agreement.schema.features == ("z",)
    assert warning in agreement.warnings[0]


def test_unseen_levels_and_missing_columns_when_encoding() -> None:
    schema = agreed(federation())
    new = rows(9).assign(ward="Z")
    assert (encode(new, schema)[:, 2:5] == 0).all()
    with pytest.raises(InputError, match="there is no column 'age'"):
        encode(new.drop(columns="age"), schema)
    with pytest.raises(InputError, match="column 'age' has 'old'"):
        encode(new.astype({"age": object}).assign(age="old"), schema)
