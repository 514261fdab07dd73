"""The seam: whatever is learned about rows is asked of clients, wherever these are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, final

from comity.checks import check_answer
from comity.core import check_names, unknown_client
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


@dataclass(frozen=True)
class Federation(ABC):
    """Clients that can be asked. A round, one `ask` to many, may take seconds: few rounds, with much in each."""

    traffic: Traffic = field(default_factory=Traffic, init=False)

    @property
    @abstractmethod
    def clients(self) -> tuple[str, ...]:
        """The names of the clients."""

    @abstractmethod
    def _carry(self, questions: Mapping[str, Packed]) -> Mapping[str, Packed]:
        """Carry each client its question, all at the same time, and bring back the answers."""

    def ask(self, question: object, clients: Iterable[str] | None = None) -> dict[str, Any]:
        """Ask clients (all, if not told) a question, or each its own by a mapping from client to question."""
        if isinstance(question, Mapping):
            asked = dict(question)
        else:
            asked = dict.fromkeys(self.clients if clients is None else clients, question)
        for name in asked:
            if name not in self.clients:
                raise unknown_client(name, self.clients)
        packed = {name: pack(each) for name, each in asked.items()}
        answers = self._carry(packed)
        self.traffic.rounds += 1
        self.traffic.sent += sum(each.size for each in packed.values())
        self.traffic.received += sum(each.size for each in answers.values())
        given = {name: unpack(answers[name]) for name in asked}
        for name, answer in given.items():
            check_answer(name, asked[name], answer)
        return given


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
