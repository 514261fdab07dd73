"""Checks that an answer fits its question: arrays of the right shapes, and finite numbers.

The letters that annotate the arrays of questions and answers name their dimensions: a letter that stands for a number
in the question stands for the same number in the answer.
"""

import math
from typing import Any

import numpy as np

from comity.core.arrays import Tensors
from comity.errors import AnswerError
from comity.questions.networks import GradientsAnswer, HeldLossesAnswer, LocalStepsAnswer, TrainLocallyAnswer
from comity.questions.privacy import PrivacyAnswer
from comity.questions.registry import QUESTIONS, kind_of
from comity.questions.tables import Description, Evaluation, FitAlone, FitOwn, Moments, Split
from comity.questions.wire import array_letters

# A metric may be undefined; losses of networks diverge when the rate is too large, which the training reports.
_MAY_NOT_BE_FINITE = (Evaluation, GradientsAnswer, HeldLossesAnswer, LocalStepsAnswer, TrainLocallyAnswer)


def check_answer(client: str, question: object, answer: object) -> None:
    """Raise an `AnswerError` if a client's answer does not fit the question."""
    kind = kind_of(question)
    assert kind is not None, "only questions are asked"
    record: Any = QUESTIONS[kind][1]
    arrays = array_letters(record)
    if type(answer) is not record:
        raise AnswerError(client, f"it answers {kind!r} with {type(answer).__name__}, not with {record.__name__}")
    its_answer = f"its answer to {kind!r} has"
    if isinstance(answer, Description) and answer.rows < 0:
        raise AnswerError(client, f"{its_answer} {answer.rows} rows; it must be 0 or more")
    if isinstance(answer, PrivacyAnswer) and not 0 <= answer.statement.epsilon < math.inf:
        raise AnswerError(client, f"{its_answer} an epsilon of {answer.statement.epsilon}; it must be 0 or more")
    if isinstance(answer, PrivacyAnswer) and not 0 <= answer.statement.disclosed < math.inf:
        raise AnswerError(client, f"{its_answer} a disclosure of {answer.statement.disclosed}; it must be 0 or more")
    sizes = _dimensions(question)
    for field, letters in arrays.items():
        array: Tensors = getattr(answer, field)
        expected = [int(letter) if letter.isdigit() else sizes.get(letter, letter) for letter in letters]
        if len(expected) != array.ndim or any(
            isinstance(size, int) and size != found for size, found in zip(expected, array.shape, strict=True)
        ):
            found, fitting = (" × ".join(map(str, shape)) for shape in (array.shape, expected))
            raise AnswerError(client, f"{its_answer} {field!r} of the shape {found}, not {fitting}")
        sizes |= dict(zip(letters, array.shape, strict=True))
        if not isinstance(answer, _MAY_NOT_BE_FINITE) and not np.isfinite(array).all():
            raise AnswerError(client, f"{its_answer} a value in {field!r} that is not a number")


def _dimensions(question: Any) -> dict[str, int]:
    """Return the numbers that the letters stand for in a question."""
    sizes: dict[str, int] = {}
    split: Split | None = getattr(question, "split", None)
    if split is not None:
        sizes |= {"V": split.views, "K": split.folds * split.repeats, "W": split.folds + 1}
    if isinstance(question, Moments | FitAlone | FitOwn):
        sizes["d"] = question.schema.parameters
    record: Any = type(question)
    for field, letters in array_letters(record).items():
        shape = getattr(question, field).shape
        if letters.startswith("*"):
            letters = letters[1:]
            shape = shape[len(shape) - len(letters) :]
        sizes |= dict(zip(letters, shape, strict=True))
    return sizes
