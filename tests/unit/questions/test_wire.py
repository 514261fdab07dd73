"""The wire: questions and answers as plain values and arrays, and nothing else."""

import json
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.client.gate import ANSWERS
from comity.errors import InputError
from comity.families.network.hypernetworks import Hypernetwork
from comity.questions import (
    QUESTIONS,
    RECORDS,
    Description,
    EvaluateModels,
    LocalSteps,
    Moments,
    MomentsAnswer,
    Packed,
    Recipe,
    SearchFront,
    Split,
    from_plain,
    pack,
    to_plain,
    unpack,
)
from comity.questions.schema import CategoryColumn, ColumnSummary, NumberColumn, Schema, Target
from comity.questions.search import ClipRule, SearchSettings
from comity.search.collaborators import Search
from support.records import of_record

SCHEMA = Schema((NumberColumn("a", 0.5, 2.0, False), CategoryColumn("b", ("x", "ü"), True)), Target("y", "regression"))
MOMENTS = Moments(SCHEMA, Split(folds=3), np.zeros((2, 3)))


@pytest.mark.parametrize("kind", RECORDS)
@settings(max_examples=5, deadline=None)
@given(st.data())
def test_what_is_packed_comes_back(kind: str, data: st.DataObject) -> None:
    record = data.draw(of_record(RECORDS[kind]))
    packed = pack(record)
    again = unpack(packed)
    assert type(again) is type(record)
    for field in fields(record):
        value, other = getattr(record, field.name), getattr(again, field.name)
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(other, value)
        else:
            assert other == value
    assert pack(again).digest == packed.digest
    assert packed.size == len(packed.plain) + sum(array.nbytes for array in packed.arrays.values())


def test_a_float_may_be_infinite_or_no_number() -> None:
    column = ColumnSummary("a", "number", 1, 0, 1, squares=np.inf, mean=np.nan)
    (again,) = unpack(pack(Description(1, (column,)))).columns
    assert again.squares == np.inf
    assert np.isnan(again.mean)


def test_settings_with_behaviour_are_sent_as_the_plain_record() -> None:
    network, search = Hypernetwork(3, 4), Search(clip_rule=ClipRule(steps=3))
    begin, faces = np.zeros((1, network.parameters)), np.ones((1, 3))
    question = SearchFront(Recipe(), network, begin, np.ones(3), 0, 1.0, "best", search, 0.0, faces, faces, faces)
    again = unpack(pack(question))
    assert type(again.search) is SearchSettings
    assert Search.of(again.search) == search
    assert Hypernetwork.of(again.network) == network
    assert pack(again).digest == pack(question).digest


def test_nothing_else_can_be_sent() -> None:
    for thing in ("text", 3, object(), {"a": 1}, SCHEMA):
        with pytest.raises(InputError, match="neither a question nor an answer"):
            pack(thing)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (replace(MOMENTS, schema="{}"), "'schema' of a Moments should be a Schema, not '{}'"),
        (replace(MOMENTS, split=replace(MOMENTS.split, folds=2.5)), "'split.folds' of a Moments should be a whole nu"),
        (replace(MOMENTS, split=replace(MOMENTS.split, seed=True)), "'split.seed' of a Moments should be a whole nu"),
        (replace(MOMENTS, points=[[0.0]]), "'points' of a Moments should be an array of float64"),
        (replace(MOMENTS, points=np.zeros(2, int)), "should be an array of float64, not an array of int64"),
        (EvaluateModels(Recipe(), "rmse", np.zeros((1, 2)), '["alone"]'), "'heads' .* should be a list"),
        (EvaluateModels(Recipe(), "rmse", np.zeros((1, 2)), (3,)), "'heads.0' of a EvaluateModels should be text"),
        (LocalSteps(Recipe(), SCHEMA, np.zeros(1), np.zeros(1), 0, 0, 0.1), "should be a HypernetworkSpec"),
    ],
)
def test_a_record_with_other_types_is_not_sent(wrong: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        pack(wrong)


@pytest.mark.parametrize("kind", RECORDS)
@settings(max_examples=5, deadline=None)
@given(st.data())
def test_a_bad_message_is_refused(kind: str, data: st.DataObject) -> None:
    """A message with a field too few or too many, of another type, or that is no JSON object."""
    packed = pack(data.draw(of_record(RECORDS[kind])))
    plain = json.loads(packed.plain)
    bad = [
        replace(packed, plain="{"),
        replace(packed, plain="[" * 100_000),
        replace(packed, plain="[1]"),
        replace(packed, plain=json.dumps({**plain, "more": 1})),
        replace(packed, arrays={**packed.arrays, "more": np.zeros(1)}),
    ]
    for name in plain:
        bad.append(replace(packed, plain=json.dumps({key: value for key, value in plain.items() if key != name})))
        bad.append(replace(packed, arrays={**packed.arrays, name: np.zeros(1)}))
        bad.append(replace(packed, plain=json.dumps({**plain, name: ["__import__"]})))
    for name in packed.arrays:
        bad.append(replace(packed, arrays={key: value for key, value in packed.arrays.items() if key != name}))
        bad.append(replace(packed, plain=json.dumps({**plain, name: [1.0]})))
        for kind_of_numbers in ("U1", object, np.int64, np.complex128):
            wrong = {**packed.arrays, name: np.zeros(2, kind_of_numbers)}
            bad.append(replace(packed, arrays=wrong))
    for message in bad:
        if "__import__" in message.plain and any(type(each) is list for each in plain.values()):
            continue  # a list of text may be one
        with pytest.raises(InputError):
            unpack(message)


@pytest.mark.parametrize(
    ("packed", "message"),
    [
        (Packed("System", "{}", {}), "neither a question nor an answer"),
        (
            Packed("Describe", "{}", {}),
            r"has the fields \['categories', 'classes', 'most_levels', 'target'\] .* not \[\]",
        ),
        (Packed("MomentsAnswer", '{"gram": 1, "cross": 1, "square": 1, "rows": 1}', {}), "the arrays .*'gram'"),
        (
            Packed("MomentsAnswer", "{}", {name: np.array(["x"]) for name in ("gram", "cross", "square", "rows")}),
            "'gram' of a MomentsAnswer should be an array of float64, not an array of <U1",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(packed: Packed, message: str) -> None:
    with pytest.raises(InputError, match=message):
        unpack(packed)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("schema", "columns", 0, "mean"), "x", "'schema.columns.0.mean' of a Moments should be a number, not 'x'"),
        (("schema", "columns", 0, "mean"), 10**400, "'schema.columns.0.mean' of a Moments should be a number, not 1"),
        (("schema", "columns", 0, "kind"), "age", "'schema.columns.0' of a Moments should be an object with kind da"),
        (("schema", "columns", 0, "kind"), [], "'schema.columns.0' of a Moments should be an object with kind da"),
        (("schema", "columns", 1, "levels"), "xy", "'schema.columns.1.levels' of a Moments should be a list, not 'xy'"),
        (
            ("schema", "target", "task"),
            "guess",
            "'schema.target.task' .* should be one of regression, classes, counts, survival, not",
        ),
        (("schema", "target"), None, "'schema.target' of a Moments should be an object with the fields name, task"),
        (("split", "folds"), "5", "'split.folds' of a Moments should be a whole number, not '5'"),
        (("split",), {"folds": 5}, "'split' of a Moments should be an object with the fields folds, repeats"),
    ],
)
def test_what_does_not_fit_within_is_refused_with_where_it_is(path: tuple[Any, ...], value: Any, message: str) -> None:
    plain = json.loads(pack(MOMENTS).plain)
    *way, last = path
    inner = plain
    for step in way:
        inner = inner[step]
    inner[last] = value
    with pytest.raises(InputError, match=message):
        unpack(Packed("Moments", json.dumps(plain), {"points": MOMENTS.points}))


def test_settings_are_checked_when_they_are_unpacked() -> None:
    question = pack(EvaluateModels(Recipe(width=7), "rmse", np.zeros((1, 2)), ("alone",)))
    with pytest.raises(InputError, match="width is 0; it must be a whole number, 1 or more"):
        unpack(replace(question, plain=question.plain.replace('"width": 7', '"width": 0')))


def test_plain_values_for_files_come_back() -> None:
    plain = json.loads(json.dumps(to_plain(SCHEMA)))
    assert plain["columns"][0] == {"kind": "number", "name": "a", "mean": 0.5, "scale": 2.0, "indicator": False}
    assert from_plain(Schema, plain) == SCHEMA
    with pytest.raises(InputError, match="'columns' of a Schema should be a list, not 3"):
        from_plain(Schema, {**plain, "columns": 3})


def test_every_question_is_answered() -> None:
    assert set(ANSWERS) == set(QUESTIONS)
    assert set(RECORDS) == {record.__name__ for pair in QUESTIONS.values() for record in pair}
    of_tables = {"describe", "moments", "slopes", "fit-alone", "fit-own", "part-losses", "evaluate", "expand"}
    of_networks = {"gradients", "local-steps", "held-losses", "train-alone", "search-front", "evaluate-models"}
    of_baselines = {"train-locally", "evaluate-linear"}
    of_estimators = {"fit-estimator", "stack-moments", "stack-losses", "evaluate-stacks", "test-stacks"}
    assert set(QUESTIONS) == of_tables | of_networks | of_baselines | of_estimators | {"privacy"}


def test_arrays_keep_their_values() -> None:
    answer = MomentsAnswer(np.ones((2, 3, 3)), np.zeros((2, 3)), np.array([1.0, 2.0]), np.array([4.0, 4.0]))
    assert unpack(pack(answer)).square is answer.square, "they are not copied"
