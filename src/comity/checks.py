"""What fits as an answer: arrays of the shapes that were asked for, and finite numbers.

Shapes are told by letters, as the questions' docstrings name them: one that stands for a number in the question stands
for the same in the answer.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from comity.errors import AnswerError
from comity.questions import QUESTIONS, Description, Evaluation, PrivacyTold, Split
from comity.schema import ColumnSummary, Schema

_ASKED = {
    "Expand": {"points": "VNd"},
    "Slopes": {"parameters": "Md"},
    "Evaluate": {"parameters": "MJd"},
    "JudgeLinear": {"parameters": "Md"},
    "Gradients": {"parameters": "MD"},
    "LocalSteps": {"parameters": "KP", "rays": "SRN"},
    "HeldLosses": {"networks": "M"},
    "SearchFront": {"faces": "FN"},
    "JudgeModels": {"parameters": "MD"},
    "TrainLocally": {"parameters": "D"},
}
_GIVEN = {
    "MomentsAnswer": {"gram": "VKdd", "cross": "VKd", "square": "VK", "rows": "VK"},
    "Expansion": {
        "gram": "VKdd",
        "cross": "VKd",
        "square": "VK",
        "rows": "VK",
        "whole_gram": "VNdd",
        "whole_cross": "VNd",
    },
    "SlopesAnswer": {"losses": "M", "slopes": "Md", "curvatures": "Mdd", "rows": "M"},
    "FitAloneAnswer": {"parameters": "Vd", "penalties": "V", "losses": "V"},
    "Evaluation": {"values": "M", "errors": "M", "gains": "M", "gain_errors": "M"},
    "GradientsAnswer": {"losses": "M", "gradients": "MD"},
    "LocalStepsAnswer": {"change": "KP", "objective": "1"},
    "HeldLossesAnswer": {"losses": "M"},
    "TrainAloneAnswer": {"parameters": "D", "loss": "1"},
    "Found": {"sets": "FN", "weights": "3FN", "losses": "3F", "tolerance": "F", "errors": "F"},
    "TrainedLocally": {"parameters": "D", "loss": "1"},
}
_LOSSES_OF_NETWORKS = {"GradientsAnswer", "LocalStepsAnswer", "HeldLossesAnswer", "TrainedLocally"}
_PAIR = 2


def check_answer(client: str, question: Any, answer: Any) -> None:
    """Check that an answer is what a question asks for.

    What is not a number is an error, but where a figure cannot be said, and in losses of networks: these grow beyond
    all bounds when the rate is too large, which the training tells.
    """
    kind, record = next((kind, pair[1]) for kind, pair in QUESTIONS.items() if pair[0] is type(question))
    if type(answer) is not record:
        raise AnswerError(client, f"it answers {kind!r} with {type(answer).__name__}, not with {record.__name__}")
    if (check := _TOLD.get(record)) is not None:
        try:
            check(answer)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise AnswerError(client, f"its answer to {kind!r} makes no sense ({type(error).__name__})") from None
    known = _dimensions(question)
    for field, letters in _GIVEN.get(record.__name__, {}).items():
        array = getattr(answer, field)
        sizes = [int(each) if each.isdigit() else known.get(each) for each in letters]
        if len(sizes) != array.ndim or any(
            size is not None and size != here for size, here in zip(sizes, array.shape, strict=True)
        ):
            expected = " × ".join(
                letter if size is None else str(size) for letter, size in zip(letters, sizes, strict=True)
            )
            given = " × ".join(map(str, array.shape))
            raise AnswerError(client, f"its answer to {kind!r} has {field!r} of the shape {given}, not {expected}")
        known |= {letter: here for letter, here in zip(letters, array.shape, strict=True) if letter.isalpha()}
        if record is not Evaluation and record.__name__ not in _LOSSES_OF_NETWORKS and not np.isfinite(array).all():
            raise AnswerError(client, f"its answer to {kind!r} has a value in {field!r} that is not a number")


def _check_description(answer: Description) -> None:
    for column in json.loads(answer.columns):
        ColumnSummary(**column)
    rows: object = answer.rows
    if type(rows) is not int or rows < 0:
        raise ValueError("rows are not counted")


def _check_privacy(answer: PrivacyTold) -> None:
    stated = json.loads(answer.stated)
    if not 0 <= float(stated["epsilon"]) < math.inf:
        raise ValueError("epsilon cannot be")


_TOLD: dict[type[Any], Callable[[Any], None]] = {Description: _check_description, PrivacyTold: _check_privacy}


def _dimensions(question: Any) -> dict[str, int]:
    """Return what letters stand for in a question."""
    name = type(question).__name__
    known: dict[str, int] = {}
    if hasattr(question, "split"):
        split = Split.from_json(question.split)
        known |= {"V": split.views, "K": split.folds * split.repeats}
    if name in ("Moments", "FitAlone"):
        schema = Schema.from_json(question.schema)
        classes = len(schema.target.classes)
        known["d"] = (len(schema.features) + 1) * (classes if classes > _PAIR else 1)
    for field, letters in _ASKED.get(name, {}).items():
        known |= dict(zip(letters, getattr(question, field).shape, strict=True))
    if name == "TrainAlone":
        known["D"] = question.parameters.shape[-1]
    return known
