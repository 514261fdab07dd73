"""A client's policy: which questions it answers, about how many rows, and how large its answers may be."""

import math
import numbers
from dataclasses import dataclass
from typing import Annotated, Any

from comity.core.settings import Declaration, check_settings, flag, name, names, whole
from comity.core.wording import mention
from comity.errors import RefusedError
from comity.questions import QUESTIONS, AskPrivacy, Describe, kind_of

OVER_A_NETWORK = 0.5
"""The limit of the disclosure of a site that sets none."""


def _is_limit(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return False
    return float(value) > 0


_LIMIT = Declaration("a number, more than 0, or inf for no limit", _is_limit, float)


@dataclass(frozen=True, slots=True)
class Policy:
    """What a client allows; it refuses everything else.

    Args:
        questions: The kinds of questions that it answers. Default: all.
        least_rows: With fewer rows than this, it answers as if it had none, or refuses. Default: 1.
        largest_answer: The maximum size of an answer, in bytes. Default: no limit.
        target: The only target that it answers questions about. Default: any.
        share_utilities: Whether other clients may see its utilities. Default: False.
        only_private: Whether it refuses every answer without noise. Default: False.
        least_part: The minimum number of rows in a fold; the clients of a table have 1. Default: 2.
        disclosure: The limit of its disclosure, the independent numbers that left it over the numbers in its rows
            (`comity.client.disclosure`). A `Site` that sets none has 0.5. Default: inf.

    Raises:
        InputError: A value is not allowed.

    >>> Policy(questions=("describe", "momints"))
    Traceback (most recent call last):
    comity.errors.InputError: there is no question 'momints'; did you mean 'moments'?
    """

    questions: Annotated[tuple[str, ...], names("question", QUESTIONS)] = tuple(QUESTIONS)
    least_rows: Annotated[int, whole(1)] = 1
    largest_answer: Annotated[int | None, whole(1)] = None
    target: Annotated[str | None, name("column")] = None
    share_utilities: Annotated[bool, flag()] = False
    only_private: Annotated[bool, flag()] = False
    least_part: Annotated[int, whole(1)] = 2
    disclosure: Annotated[float, _LIMIT] = math.inf

    def __post_init__(self) -> None:
        check_settings(self)

    def check_size(self, name: str, kind: str, size: int) -> None:
        """Refuse an answer that is too large.

        Args:
            name: The client's name.
            kind: The kind of the question.
            size: The size of the answer, in bytes.

        Raises:
            RefusedError: If the answer is larger than `largest_answer`.
        """
        if self.largest_answer is not None and size > self.largest_answer:
            raise RefusedError(
                f"client {name!r} does not answer the question {kind!r}: the answer has {size:,} bytes, and its policy "
                f"allows {self.largest_answer:,}; ask for less (fewer folds or judges), or ask it to allow more"
            )


def check_allowed(name: str, rows: int, policy: Policy, question: object, *, table: bool = True) -> str:
    """Check that a client with this number of rows may answer a question, and return the question's kind.

    A client with a `table` may have too few rows for some questions: it answers as if it had none.
    """
    kind = kind_of(question)
    if kind is None or kind not in policy.questions:
        asked = type(question).__name__ if kind is None else kind
        raise RefusedError(f"client {name!r} does not answer the question {asked!r}: its policy forbids it")
    if isinstance(question, AskPrivacy):  # it is answered without rows
        return kind
    if rows < policy.least_rows and not (table and may_lack_rows(question)):
        raise RefusedError(
            f"client {name!r} answers only if it has {policy.least_rows} rows or more, and has fewer; "
            f"leave it out ({mention('without', [name])}), or get more rows"
        )
    split = getattr(question, "split", None)
    if split is not None and split.judges and rows // max(split.folds, 1) < policy.least_part:
        raise RefusedError(
            f"client {name!r} answers only about folds of {policy.least_part} or more rows, and is asked about "
            f"{split.folds} folds; ask for fewer folds, or ask it to lower its least_part"
        )
    target = target_of(question)
    if policy.target is not None and target is not None and target != policy.target:
        raise RefusedError(
            f"client {name!r} answers questions about the target {policy.target!r} and not about {target!r}; "
            "ask about its target, or ask it to change the target"
        )
    return kind


def may_lack_rows(question: object) -> bool:
    """Return whether a client without rows can answer: a description, or what is asked where rows are dealt once."""
    split = getattr(question, "split", None)
    return isinstance(question, Describe) or (split is not None and not split.judges)


def target_of(question: Any) -> str | None:
    """Return the name of the target of a question, or None if the client's examples are not a table."""
    if isinstance(question, Describe):
        return question.target
    schema = question.schema if hasattr(question, "schema") else question.recipe.schema
    return None if schema is None else str(schema.target.name)
