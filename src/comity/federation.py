"""The federation: everything that is learned about rows is asked of clients through `Federation.ask`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Protocol, TypeVar, final

import numpy as np

from comity.core.arrays import Tensors
from comity.core.names import check_names, unknown_client
from comity.errors import AnswerError, InputError, NotFiniteError
from comity.questions import Packed, pack, unpack
from comity.questions.checks import check_answer

T = TypeVar("T")


class Member(Protocol):
    """A client that can be asked: a `Client` with a table, or a `DatasetClient` with examples for a torch module."""

    @property
    def name(self) -> str:
        """The client's name."""

    def reply(self, packed: Packed) -> Packed:
        """Answer a question, both as they are sent, or refuse it."""


@dataclass(slots=True)
class Traffic:
    """The cost of questions and answers: rounds, and bytes to and from the clients."""

    rounds: int = 0
    sent: int = 0
    received: int = 0

    def add(self, cost: Traffic) -> None:
        """Add the cost of a round."""
        self.rounds += cost.rounds
        self.sent += cost.sent
        self.received += cost.received


@dataclass(slots=True)
class Read:
    """Unpacks answers, checks that each fits its client's question, and counts the bytes of those that do."""

    questions: Mapping[str, object]
    received: int = 0

    def __call__(self, client: str, packed: Packed) -> Any:
        """Return the answer of a client; one that does not fit its question is an `AnswerError`."""
        try:
            answer = unpack(packed)
        except InputError as error:
            raise AnswerError(client, str(error)) from None
        check_answer(client, self.questions[client], answer)
        self.received += packed.size
        return answer

    def cost(self, packed: Mapping[str, Packed]) -> Traffic:
        """Return the cost of a round in which these questions were sent."""
        return Traffic(1, sum(question.size for question in packed.values()), self.received)


@dataclass(frozen=True)
class Federation(ABC):
    """Clients that can be asked questions. A round, one `ask` of many clients, may take seconds: ask much in each."""

    traffic: Traffic = field(default_factory=Traffic, init=False)

    @property
    @abstractmethod
    def clients(self) -> tuple[str, ...]:
        """The names of the clients."""

    @property
    def hides_terms(self) -> bool:
        """Whether `total` hides the answers of single clients; then ask all, as few hide each other badly."""
        return False

    @abstractmethod
    def _carry(self, questions: Mapping[str, Packed], read: Read) -> dict[str, Any]:
        """Send each client its question, all at the same time, and return the answers, each read once by `read`."""

    def _carry_total(self, questions: Mapping[str, Packed], read: Read) -> tuple[Any, Traffic]:
        """Send questions as `_carry` does, and return the sum of the answers and the cost.

        Here all answers are seen on the way; a federation with secure sums overrides this.
        """
        answers = self._carry(questions, read)
        in_order = {client: answers[client] for client in questions}  # answers come as they arrive; sums are rounded
        return sum_answers(in_order), read.cost(questions)

    def ask(self, question: object, clients: Iterable[str] | None = None) -> dict[str, Any]:
        """Ask clients, and wait for their answers.

        Args:
            question: A question for all clients, or a mapping from each client to its own question.
            clients: The names of the clients to ask; by default all.

        Returns:
            The answer of each client.

        Raises:
            UnknownClientError: If a name is not a client's.
            RefusedError: If a client's policy does not allow the answer.
            AnswerError: If an answer does not fit its question.
        """
        packed, read = self._prepare(question, clients)
        answers = self._carry(packed, read)
        self.traffic.add(read.cost(packed))
        return {name: answers[name] for name in packed}

    def total(self, question: object, clients: Iterable[str] | None = None) -> Any:
        """Ask as `ask` does, where only the sum of the answers is needed.

        Args:
            question: A question for all clients, or a mapping from each client to its own question. Weights of the
                clients must be part of the questions.
            clients: The names of the clients to ask; by default all.

        Returns:
            One answer, whose arrays are the sums of those of the clients.

        Raises:
            NotFiniteError: If an answer holds a value that is infinite or not a number.
            InputError: If nobody is asked, or the answers cannot be summed.
        """
        packed, read = self._prepare(question, clients)
        if not packed:
            raise InputError("nobody is asked, and a sum of no answers has no shape; ask one client or more")
        answer, cost = self._carry_total(packed, read)
        self.traffic.add(cost)
        return answer

    def _prepare(self, question: object, clients: Iterable[str] | None) -> tuple[dict[str, Packed], Read]:
        """Return the question of each client as it is sent, and what reads the answers.

        A question that goes to several clients is packed once.
        """
        if isinstance(question, Mapping):
            questions = dict(question)
        else:
            questions = dict.fromkeys(self.clients if clients is None else clients, question)
        for name in questions:
            if name not in self.clients:
                raise unknown_client(name, self.clients)
        different = {id(each): each for each in questions.values()}
        packed = {number: pack(each) for number, each in different.items()}
        return {name: packed[id(each)] for name, each in questions.items()}, Read(questions)


def sum_answers(answers: Mapping[str, T]) -> T:
    """Return the sum of clients' answers, array by array; they must be of one kind and hold only arrays.

    >>> from comity.questions import HeldLossesAnswer
    >>> sum_answers({name: HeldLossesAnswer(np.array([loss, 1.0])) for name, loss in (("a", 2.0), ("b", 5.0))})
    HeldLossesAnswer(losses=array([7., 2.]))
    """
    terms = {client: _arrays_to_sum(client, answer) for client, answer in answers.items()}
    (first, like), *others = terms.items()
    total = dict(like)
    for client, arrays in others:
        if _layout(arrays) != _layout(like):
            raise InputError(
                f"answers cannot be summed: that of client {first!r} has {_layout(like)}, and that of {client!r} "
                f"{_layout(arrays)}"
            )
        total = {name: total[name] + array for name, array in arrays.items()}
    return type(answers[first])(**total)


def _arrays_to_sum(client: str, answer: object) -> dict[str, Tensors]:
    """Return the arrays of a client's answer, or raise an error if it holds anything else or is not finite."""
    values = {each.name: getattr(answer, each.name) for each in fields(answer)}  # type: ignore[arg-type]
    if rest := [name for name, value in values.items() if not isinstance(value, np.ndarray)]:
        raise InputError(f"a {type(answer).__name__} cannot be summed: beside arrays it has {', '.join(rest)}")
    if not all(np.isfinite(array).all() for array in values.values()):
        raise NotFiniteError(client)
    return values


def _layout(arrays: Mapping[str, Tensors]) -> str:
    """Return the names, shapes and types of arrays, for a message."""
    return ", ".join(f"{name} {array.shape} {array.dtype}" for name, array in sorted(arrays.items()))


@final
@dataclass(frozen=True)
class InProcess(Federation):
    """A federation of clients in this process; questions and answers are packed and unpacked as on a network.

    Args:
        members: The clients.

    >>> import pandas as pd
    >>> from comity.client import Client
    >>> from comity.questions import Describe
    >>> federation = InProcess(tuple(Client(name, pd.DataFrame({"y": range(20)})) for name in ("a", "b")))
    >>> {name: answer.rows for name, answer in federation.ask(Describe("y")).items()}
    {'a': 20, 'b': 20}
    """

    members: tuple[Member, ...]

    def __post_init__(self) -> None:
        check_names(client.name for client in self.members)

    @cached_property
    def clients(self) -> tuple[str, ...]:
        """The names of the clients."""
        return tuple(client.name for client in self.members)

    def _carry(self, questions: Mapping[str, Packed], read: Read) -> dict[str, Any]:
        members = {client.name: client for client in self.members}
        return {name: read(name, members[name].reply(question)) for name, question in questions.items()}
