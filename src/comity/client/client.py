"""A client's side: private rows in, answers out."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import pandas as pd

from comity.client.alone import fit_alone
from comity.client.audit import Given
from comity.client.desk import Desk, judges
from comity.client.judging import evaluate, judge_linear
from comity.client.moments import expand, moments, slopes
from comity.client.policy import Policy
from comity.client.privacy import Privacy
from comity.client.rows import Rows
from comity.core import check_name
from comity.core.optional import require
from comity.encoding import summarise
from comity.errors import InputError
from comity.questions import Describe, Description

_MOST_LEVELS = 100  # of a column that are told, however many are asked for


@dataclass(frozen=True, eq=False)
class Client:
    """An owner of rows. The rows go nowhere; `answer` gives what the policy allows, and `log` keeps what was given.

    Rows to `test` with, if there are some, judge models that were trained on the others, and do nothing else. With
    `privacy`, answers that can be are clipped and noisy. With a `log_file`, the log is also appended to it, and what
    stands in it already counts as spent.
    """

    name: str
    rows: pd.DataFrame = field(repr=False)
    policy: Policy = field(default_factory=Policy)
    test: pd.DataFrame | None = field(default=None, repr=False)
    log: list[Given] = field(default_factory=list, repr=False)
    privacy: Privacy | None = None
    log_file: str | os.PathLike[str] | None = None
    _rows: Rows = field(init=False, repr=False)
    _desk: Desk = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_name(self.name)
        double = self.rows.columns[self.rows.columns.duplicated()]
        if len(double):
            raise InputError(f"client {self.name!r} has two columns {double[0]!r}; give every column one name")
        desk = Desk.open(self.name, self.policy, self.privacy, self.log, self.log_file)
        object.__setattr__(self, "_desk", desk)
        object.__setattr__(self, "_rows", Rows(self.name, self.rows, self.test, desk.noise))

    def answer(self, question: object) -> Any:
        """Answer a question, or refuse it."""
        about = len(self.rows if self.test is None or not judges(question) else self.test)
        return self._desk.answer(question, about, self._reply)

    def learner(self, recipe: str) -> Any:
        """Return what trains networks by a recipe (JSON), with what it remembers from question to question."""
        return _learner(self._rows, recipe)

    def _reply(self, kind: str, question: Any) -> Any:
        if kind in ANSWERS:
            return ANSWERS[kind](self._rows, question)
        return _by_learner(self._rows, kind, question)


def describe(rows: Rows, question: Describe) -> Description:
    """Answer what the columns are."""
    summaries = summarise(rows.frame, question.target, question.classes, min(question.most_levels, _MOST_LEVELS))
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
