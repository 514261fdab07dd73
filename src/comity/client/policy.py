"""What a client allows: which questions, about what, with how many rows, and how much it gives at a time."""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass
from typing import Any

from comity.core import shown
from comity.errors import InputError, RefusedError
from comity.questions import QUESTIONS, Describe, Split, TellPrivacy
from comity.writing import count


@dataclass(frozen=True, slots=True)
class Policy:
    """What a client allows.

    It answers these `questions` only, and nothing if it has fewer rows than `least_rows`, or about folds of fewer rows
    than `least_part`; no answer is larger than `largest_answer` bytes, if that is told. A client that says its `target`
    refuses questions about another. Others may see its utilities if it says so by `share_utilities`. With
    `only_private` it refuses what leaves without noise.

    >>> Policy(questions=("describe", "momints"))
    Traceback (most recent call last):
    comity.errors.InputError: there is no question 'momints'; did you mean 'moments'?
    """

    questions: tuple[str, ...] = tuple(QUESTIONS)
    least_rows: int = 10
    largest_answer: int | None = None
    target: str | None = None
    share_utilities: bool = False
    only_private: bool = False
    least_part: int = 2

    def __post_init__(self) -> None:
        questions: object = self.questions
        if not isinstance(questions, list | tuple) or not all(isinstance(each, str) for each in questions):
            raise InputError(f"questions is {shown(questions)}; it must be a list of kinds: {', '.join(QUESTIONS)}")
        for kind in questions:
            if kind not in QUESTIONS:
                close = difflib.get_close_matches(kind, QUESTIONS, n=1)
                hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(QUESTIONS)}"
                raise InputError(f"there is no question {shown(kind)}; {hint}")
        object.__setattr__(self, "questions", tuple(questions))
        for name in ("least_rows", "least_part", "largest_answer"):
            value: object = getattr(self, name)
            optional = name == "largest_answer" and value is None
            if not optional and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise InputError(f"{name} is {shown(value)}; it must be a whole number, 1 or more")
        target: object = self.target
        if target is not None and (not isinstance(target, str) or not target):
            raise InputError(f"target is {shown(target)}; it must be the name of a column")
        for name in ("share_utilities", "only_private"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name} is {shown(getattr(self, name))}; it must be true or false")

    def check_size(self, name: str, kind: str, size: int) -> None:
        """Refuse an answer that is too large."""
        if self.largest_answer is not None and size > self.largest_answer:
            raise RefusedError(
                f"client {name!r} does not answer the question {kind!r}: the answer has {size:,} bytes, and its policy "
                f"allows {self.largest_answer:,}; ask for less (fewer folds or judges), or ask it to allow more"
            )


def kind_of(question: object) -> str | None:
    """Return the kind of a question, if it is one of the closed list."""
    return next((kind for kind, (asked, _) in QUESTIONS.items() if type(question) is asked), None)


def allowed(name: str, rows: int, policy: Policy, question: object) -> str:
    """Return the kind of a question, having checked that a client with so many rows answers it."""
    kind = kind_of(question)
    if kind is None or kind not in policy.questions:
        asked = type(question).__name__ if kind is None else kind
        raise RefusedError(f"client {name!r} does not answer the question {asked!r}: its policy forbids it")
    if isinstance(question, TellPrivacy):  # it is about no rows
        return kind
    if rows < policy.least_rows:
        raise RefusedError(
            f"client {name!r} has {count(rows, 'row')} and answers nothing about fewer than {policy.least_rows}; "
            "leave it out (--without), or get more rows"
        )
    folds = folds_of(question)
    if rows // folds < policy.least_part:
        raise RefusedError(
            f"client {name!r} is asked about {folds} folds of its {rows} rows, and tells nothing of fewer than "
            f"{policy.least_part}; ask for fewer folds, or ask it to lower its least_part"
        )
    if policy.target is not None:
        about = target_of(question)
        if about is not None and about != policy.target:
            raise RefusedError(
                f"client {name!r} answers questions about the target {policy.target!r} and not about {about!r}; "
                "ask for that one, or ask it to change its target"
            )
    return kind


def folds_of(question: Any) -> int:
    """Return into how many folds rows fall by what is asked, 1 if into none."""
    split = getattr(question, "split", None)
    return 1 if split is None else max(int(Split.from_json(split).folds), 1)


def target_of(question: Any) -> str | None:
    """Return the target that a question is about; one about examples that are no table has none."""
    if isinstance(question, Describe):
        return question.target
    try:
        schema = question.schema if hasattr(question, "schema") else json.loads(question.recipe)["schema"]
        return str(json.loads(schema)["target"]["name"]) if schema else None
    except (AttributeError, LookupError, TypeError, ValueError):
        raise InputError(f"a question of the kind {kind_of(question)!r} does not say what its target is") from None
