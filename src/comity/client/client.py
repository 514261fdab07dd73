"""A client's side: private rows in, answers out; what it may be asked, and a log of what it gave."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import pandas as pd

from comity.client.alone import fit_alone
from comity.client.judging import evaluate, judge_linear
from comity.client.moments import expand, moments, slopes
from comity.client.rows import Rows
from comity.core import check_name
from comity.core.optional import require
from comity.encoding import summarise
from comity.errors import InputError, RefusedError
from comity.questions import QUESTIONS, Describe, Description, JudgeLinear, JudgeModels, pack


@dataclass(frozen=True, slots=True)
class Policy:
    """What a client allows: which questions, and not with fewer rows than `least_rows`."""

    questions: tuple[str, ...] = tuple(QUESTIONS)
    least_rows: int = 10


@dataclass(frozen=True, slots=True)
class Given:
    """One line of the audit log: the question, how many rows the answer is made of, and its size in bytes."""

    question: str
    rows: int
    size: int


@dataclass(frozen=True, eq=False)
class Client:
    """An owner of rows. The rows go nowhere; `answer` gives what the policy allows, and `log` keeps what was given.

    Rows to `test` with, if there are some, judge models that were trained on the others, and do nothing else.
    """

    name: str
    rows: pd.DataFrame = field(repr=False)
    policy: Policy = Policy()
    test: pd.DataFrame | None = field(default=None, repr=False)
    log: list[Given] = field(default_factory=list, repr=False)
    _rows: Rows = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_name(self.name)
        double = self.rows.columns[self.rows.columns.duplicated()]
        if len(double):
            raise InputError(f"client {self.name!r} has two columns {double[0]!r}; give every column one name")
        object.__setattr__(self, "_rows", Rows(self.name, self.rows, self.test))

    def answer(self, question: object) -> Any:
        """Answer a question, or refuse it."""
        about = len(self.rows if self.test is None or not judges(question) else self.test)
        kind = allowed(self.name, about, self.policy, question)
        given = ANSWERS[kind](self._rows, question) if kind in ANSWERS else _by_learner(self._rows, kind, question)
        self.log.append(Given(kind, about, pack(given).size))
        return given

    def learner(self, recipe: str) -> Any:
        """Return what trains networks by a recipe (JSON), with what it remembers from question to question."""
        return _learner(self._rows, recipe)


def allowed(name: str, rows: int, policy: Policy, question: object) -> str:
    """Return the kind of a question, having checked that a client with so many rows answers it."""
    kind = next((kind for kind, (asked, _) in QUESTIONS.items() if type(question) is asked), None)
    if kind is None or kind not in policy.questions:
        asked = type(question).__name__ if kind is None else kind
        raise RefusedError(f"client {name!r} does not answer the question {asked!r}: its policy forbids it")
    if rows < policy.least_rows:
        raise RefusedError(
            f"client {name!r} has {rows} rows and answers nothing about fewer than {policy.least_rows}; "
            "leave it out (--without), or ask it to lower its minimum"
        )
    return kind


def judges(question: object) -> bool:
    """Tell whether a question is about the rows to test with, where there are such."""
    return isinstance(question, JudgeLinear | JudgeModels)


def describe(rows: Rows, question: Describe) -> Description:
    """Answer what the columns are."""
    summaries = summarise(rows.frame, question.target, question.classes, question.most_levels)
    return Description(len(rows.frame), json.dumps([asdict(summary) for summary in summaries], ensure_ascii=False))


def _by_learner(rows: Rows, kind: str, question: Any) -> Any:
    """Answer a question about networks."""
    learner = _learner(rows, question.recipe)
    from comity.neural import answers

    return answers.ANSWERS[kind](learner, question)


def _learner(rows: Rows, recipe: str) -> Any:
    require("torch", "to train neural networks")
    from comity.client.learning import learner_of

    return learner_of(rows, recipe)


ANSWERS: dict[str, Callable[[Rows, Any], Any]] = {
    "describe": describe,
    "moments": moments,
    "expand": expand,
    "slopes": slopes,
    "fit-alone": fit_alone,
    "evaluate": evaluate,
    "judge-linear": judge_linear,
}
