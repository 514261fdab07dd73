"""The seam: whatever is learned about rows is asked of clients, wherever these are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, final

import numpy as np

from comity.checks import check_answer
from comity.core import check_names, unknown_client
from comity.errors import InputError, NotFiniteError
from comity.questions import Packed, pack, unpack


class Member(Protocol):
    """Who can be asked: a `Client` with a table, or one with examples for a torch module."""

    @property
    def name(self) -> str:
        """Its name."""

    def answer(self, question: object) -> Any:
        """Answer a question, or refuse it."""


@dataclass(slots=True)
class Traffic:
    """What asking has cost so far: rounds, and bytes to and from the clients."""

    rounds: int = 0
    sent: int = 0
    received: int = 0

    def add(self, cost: Traffic) -> None:
        """Count what more was spent."""
        self.rounds += cost.rounds
        self.sent += cost.sent
        self.received += cost.received


@dataclass(frozen=True)
class Federation(ABC):
    """Clients that can be asked. A round, one `ask` to many, may take seconds: few rounds, with much in each."""

    traffic: Traffic = field(default_factory=Traffic, init=False)

    @property
    @abstractmethod
    def clients(self) -> tuple[str, ...]:
        """The names of the clients."""

    @property
    def hides_terms(self) -> bool:
        """Whether `total` shows nobody a single term; then everybody should be asked, as few hide little."""
        return False

    @abstractmethod
    def _carry(self, questions: Mapping[str, Packed]) -> Mapping[str, Packed]:
        """Carry each client its question, all at the same time, and bring back the answers."""

    def _carry_total(self, questions: Mapping[str, Packed]) -> tuple[Packed, Traffic]:
        """Carry questions as `_carry` does, and bring back the sum of the answers and what that cost.

        It is for a federation to say how much of single answers is seen on the way: here, all.
        """
        answers = self._carry(questions)
        return summed(answers), _cost(questions, answers)

    def ask(self, question: object, clients: Iterable[str] | None = None) -> dict[str, Any]:
        """Ask clients (all, if not told) a question, or each its own by a mapping from client to question."""
        packed = self._packed(question, clients)
        answers = self._carry(packed)
        self.traffic.add(_cost(packed, answers))
        given = {name: unpack(answers[name]) for name in packed}
        for name, answer in given.items():
            check_answer(name, unpack(packed[name]), answer)
        return given

    def total(self, question: object, clients: Iterable[str] | None = None) -> Any:
        """Ask as `ask` does where only a sum is needed: return one answer, whose arrays are the sums of the clients'.

        Whatever weighs the clients is for them to multiply by. An answer with a value that is infinite or not a number
        is a `NotFiniteError`.
        """
        packed = self._packed(question, clients)
        if not packed:
            raise InputError("nobody is asked, and a sum of no answers has no shape; ask one client or more")
        answer, cost = self._carry_total(packed)
        self.traffic.add(cost)
        return unpack(answer)

    def _packed(self, question: object, clients: Iterable[str] | None) -> dict[str, Packed]:
        """Return what each client is asked, as it is sent."""
        if isinstance(question, Mapping):
            asked = dict(question)
        else:
            asked = dict.fromkeys(self.clients if clients is None else clients, question)
        for name in asked:
            if name not in self.clients:
                raise unknown_client(name, self.clients)
        return {name: pack(each) for name, each in asked.items()}


def _cost(questions: Mapping[str, Packed], answers: Mapping[str, Packed]) -> Traffic:
    """Return what one round of questions and answers costs."""
    return Traffic(1, *(sum(each.size for each in packed.values()) for packed in (questions, answers)))


def summed(answers: Mapping[str, Packed]) -> Packed:
    """Return the sum of clients' answers, array by array; they must be of one kind and hold arrays alone.

    >>> from comity.questions import HeldLossesAnswer
    >>> answers = {name: pack(HeldLossesAnswer(np.array([loss, 1.0]))) for name, loss in (("a", 2.0), ("b", 5.0))}
    >>> unpack(summed(answers))
    HeldLossesAnswer(losses=array([7., 2.]))
    """
    (first, like), *others = answers.items()
    total = dict(like.arrays)
    for name, answer in answers.items():
        check_summable(name, answer)
    for name, answer in others:
        if layout(answer) != layout(like):
            raise InputError(
                f"answers cannot be summed: that of client {first!r} has {layout(like)}, and that of {name!r} "
                f"{layout(answer)}"
            )
        total = {label: total[label] + array for label, array in answer.arrays.items()}
    return Packed(like.kind, like.plain, total)


def check_summable(client: str, answer: Packed) -> None:
    """Check that a client's answer holds arrays alone, and finite numbers in them."""
    if answer.plain != "{}":
        raise InputError(f"a {answer.kind} cannot be summed: beside arrays it has {answer.plain}")
    if not all(np.isfinite(array).all() for array in answer.arrays.values()):
        raise NotFiniteError(client)


def layout(answer: Packed) -> str:
    """Return what an answer's arrays are, without their values.

    >>> from comity.questions import HeldLossesAnswer
    >>> layout(pack(HeldLossesAnswer(np.zeros(3))))
    'a HeldLossesAnswer of losses (3,) float64'
    """
    arrays = ", ".join(f"{label} {array.shape} {array.dtype}" for label, array in sorted(answer.arrays.items()))
    return f"a {answer.kind} of {arrays}"


@final
@dataclass(frozen=True)
class InProcess(Federation):
    """Clients in this process. Questions and answers are packed and unpacked all the same, as on a wire."""

    members: tuple[Member, ...]

    def __post_init__(self) -> None:
        check_names(client.name for client in self.members)

    @property
    def clients(self) -> tuple[str, ...]:
        """The names of the clients."""
        return tuple(client.name for client in self.members)

    def _carry(self, questions: Mapping[str, Packed]) -> Mapping[str, Packed]:
        members = {client.name: client for client in self.members}
        return {name: pack(members[name].answer(unpack(question))) for name, question in questions.items()}
