"""A client's side: private rows in, answers out; what it may be asked, and a log of what it gave."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from comity.core import check_name
from comity.encoding import encode, encode_target, summarise
from comity.errors import InputError, RefusedError
from comity.questions import QUESTIONS, Describe, Description, Moments, MomentsAnswer, pack
from comity.schema import Schema

Floats = NDArray[np.float64]


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
    """An owner of rows. The rows go nowhere; `answer` gives what the policy allows, and `log` keeps what was given."""

    name: str
    rows: pd.DataFrame = field(repr=False)
    policy: Policy = Policy()
    log: list[Given] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        check_name(self.name)
        double = self.rows.columns[self.rows.columns.duplicated()]
        if len(double):
            raise InputError(f"client {self.name!r} has two columns {double[0]!r}; give every column one name")

    def answer(self, question: object) -> Any:
        """Answer a question, or refuse it."""
        kind = next((kind for kind, (asked, _) in QUESTIONS.items() if type(question) is asked), None)
        if kind is None or kind not in self.policy.questions:
            asked = type(question).__name__ if kind is None else kind
            raise RefusedError(f"client {self.name!r} does not answer the question {asked!r}: its policy forbids it")
        if len(self.rows) < self.policy.least_rows:
            raise RefusedError(
                f"client {self.name!r} has {len(self.rows)} rows and answers nothing about fewer than "
                f"{self.policy.least_rows}; leave it out, or ask it to lower its minimum"
            )
        given = _ANSWERS[kind](self, question)
        self.log.append(Given(kind, len(self.rows), pack(given).size))
        return given


def _describe(client: Client, question: Describe) -> Description:
    summaries = summarise(client.rows, question.target, question.classes, question.most_levels)
    return Description(len(client.rows), json.dumps([asdict(summary) for summary in summaries], ensure_ascii=False))


def _moments(client: Client, question: Moments) -> MomentsAnswer:
    encoded = _encoded(client, question.schema)
    folds = assign_folds(len(client.rows), question.folds, question.seed, client.name)
    parts = [encoded.take(folds == fold) for fold in range(question.folds)]
    return MomentsAnswer(
        gram=np.stack([x.T @ x for x, _ in parts]),
        cross=np.stack([x.T @ y for x, y in parts]),
        square=np.array([y @ y for _, y in parts]),
        rows=np.array([float(len(y)) for _, y in parts]),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Encoded:
    features: Floats
    target: Floats

    def take(self, chosen: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        return self.features[chosen], self.target[chosen]


@lru_cache(maxsize=256)
def _encoded(client: Client, schema: str) -> _Encoded:
    """Return the client's rows as numbers; questions of one job have the same schema, so it is done once."""
    agreed = Schema.from_json(schema)
    try:
        return _Encoded(encode(client.rows, agreed), encode_target(client.rows, agreed))
    except InputError as error:
        raise InputError(f"client {client.name!r}: {error}") from None


def assign_folds(rows: int, folds: int, seed: int, name: str) -> NDArray[np.intp]:
    """Return each row's fold: as even as can be, in an order that the seed and the client's name determine.

    >>> assign_folds(7, 3, seed=0, name="a")
    array([0, 1, 0, 0, 2, 2, 1])
    """
    generator = np.random.default_rng([seed, zlib.crc32(name.encode())])
    assigned: NDArray[np.intp] = generator.permutation(rows) % folds
    return assigned


_ANSWERS: dict[str, Callable[[Client, Any], Any]] = {"describe": _describe, "moments": _moments}
