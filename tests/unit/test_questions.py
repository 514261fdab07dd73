"""The wire: questions and answers as plain values and arrays, and nothing else."""

from dataclasses import fields

import numpy as np
import pytest

from comity.errors import InputError
from comity.questions import QUESTIONS, RECORDS, Describe, Moments, MomentsAnswer, Packed, pack, unpack

ANSWER = MomentsAnswer(np.ones((2, 3, 3)), np.zeros((2, 3)), np.array([1.0, 2.0]), np.array([4.0, 4.0]))


@pytest.mark.parametrize(
    "record", [Describe("y"), Moments("{}", "{}", np.zeros((2, 3))), ANSWER], ids=lambda r: type(r).__name__
)
def test_what_is_packed_comes_back(record: object) -> None:
    packed = pack(record)
    again = unpack(packed)
    assert type(again) is type(record)
    assert pack(again).plain == packed.plain
    for name, array in packed.arrays.items():
        np.testing.assert_array_equal(getattr(again, name), array)
    assert packed.size >= sum(array.nbytes for array in packed.arrays.values())


def test_nothing_else_can_be_sent() -> None:
    for thing in ("text", 3, object(), {"a": 1}):
        with pytest.raises(InputError, match="neither a question nor an answer"):
            pack(thing)


@pytest.mark.parametrize(
    ("packed", "message"),
    [
        (Packed("System", "{}", {}), "neither a question nor an answer"),
        (Packed("Describe", "{}", {}), "has the fields"),
        (Packed("Moments", '{"schema": "", "split": "", "points": 0, "more": 1}', {}), "has the fields"),
        (Packed("MomentsAnswer", '{"gram": 1, "cross": 1, "square": 1, "rows": 1}', {}), "'gram' of a MomentsAnswer"),
        (
            Packed("MomentsAnswer", "{}", {name: np.array(["x"]) for name in ("gram", "cross", "square", "rows")}),
            "should hold float64",
        ),
    ],
)
def test_what_does_not_fit_is_refused(packed: Packed, message: str) -> None:
    with pytest.raises(InputError, match=message):
        unpack(packed)


def test_every_record_is_on_the_list() -> None:
    assert set(RECORDS) == {record.__name__ for pair in QUESTIONS.values() for record in pair}
    of_tables = {"describe", "moments", "slopes", "fit-alone", "evaluate", "expand"}
    of_networks = {"gradients", "local-steps", "held-losses", "train-alone", "search-front", "judge-models"}
    of_baselines = {"train-locally", "judge-linear"}
    assert set(QUESTIONS) == of_tables | of_networks | of_baselines | {"tell-privacy"}
    for record in RECORDS.values():
        assert {field.type for field in fields(record)} <= {"str", "int", "float", "bool", "Floats", "Tensors"}
