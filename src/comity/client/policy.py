"""A client's policy: which questions it answers, about how many rows, and how large its answers may be."""

from dataclasses import dataclass
from typing import Annotated, Any

from comity.core.settings import check_settings, flag, name, names, whole
from comity.core.text import count
from comity.core.wording import mention
from comity.errors import RefusedError
from comity.questions import QUESTIONS, AskPrivacy, Describe, kind_of


@dataclass(frozen=True, slots=True)
class Policy:
    """What a client allows; it refuses everything else.

    Args:
        questions: The kinds of questions that it answers. Default: all.
        least_rows: With fewer rows than this, it answers nothing. Default: 10.
        largest_answer: The maximum size of an answer, in bytes. Default: no limit.
        target: The only target that it answers questions about. Default: any.
        share_utilities: Whether other clients may see its utilities. Default: False.
        only_private: Whether it refuses every answer without noise. Default: False.
        least_part: The minimum number of rows in a fold. Default: 2.

    Raises:
        InputError: A value is not allowed.

    >>> Policy(questions=("describe", "momints"))
    Traceback (most recent call last):
    comity.errors.InputError: there is no question 'momints'; did you mean 'moments'?
    """

    questions: Annotated[tuple[str, ...], names("question", QUESTIONS)] = tuple(QUESTIONS)
    least_rows: Annotated[int, whole(1)] = 10
    largest_answer: Annotated[int | None, whole(1)] = None
    target: Annotated[str | None, name("column")] = None
    share_utilities: Annotated[bool, flag()] = False
    only_private: Annotated[bool, flag()] = False
    least_part: Annotated[int, whole(1)] = 2

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


def check_allowed(name: str, rows: int, policy: Policy, question: object) -> str:
    """Check that a client with this number of rows may answer a question, and return the question's kind."""
    kind = kind_of(question)
    if kind is None or kind not in policy.questions:
        asked = type(question).__name__ if kind is None else kind
        raise RefusedError(f"client {name!r} does not answer the question {asked!r}: its policy forbids it")
    if isinstance(question, AskPrivacy):  # it is answered without rows
        return kind
    if rows < policy.least_rows:
        raise RefusedError(
            f"client {name!r} has {count(rows, 'row')} and answers only if it has {policy.least_rows} or more; "
            f"leave it out ({mention('without', [name])}), or get more rows"
        )
    split = getattr(question, "split", None)
    folds = 1 if split is None or not split.judges else max(split.folds, 1)  # without judges, it deals as it can
    if rows // folds < policy.least_part:
        raise RefusedError(
            f"client {name!r} is asked about {folds} folds of its {rows} rows, and answers only about folds of "
            f"{policy.least_part} or more rows; ask for fewer folds, or ask it to lower its least_part"
        )
    target = target_of(question)
    if policy.target is not None and target is not None and target != policy.target:
        raise RefusedError(
            f"client {name!r} answers questions about the target {policy.target!r} and not about {target!r}; "
            "ask about its target, or ask it to change the target"
        )
    return kind


def target_of(question: Any) -> str | None:
    """Return the name of the target of a question, or None if the client's examples are not a table."""
    if isinstance(question, Describe):
        return question.target
    schema = question.schema if hasattr(question, "schema") else question.recipe.schema
    return None if schema is None else str(schema.target.name)
