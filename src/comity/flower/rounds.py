"""One round over a Grid: a message to each of some clients, and their answers, as far as they come."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from flwr.app import Message, RecordDict
from flwr.serverapp import Grid

from comity.errors import AnswerError, DepartedError, FormatError, InputError
from comity.flower.meeting import Meeting
from comity.flower.roster import Patience, Roster, Say

_LOOK = 2.0  # seconds between looks at which nodes are there
_TRIES = 3  # to understand a site's answer

Answer = TypeVar("Answer")


class Carrier(Protocol):
    """What a round needs to know of a federation."""

    @property
    def grid(self) -> Grid:
        """The grid."""

    @property
    def roster(self) -> Roster:
        """The clients that were expected."""

    @property
    def nodes(self) -> dict[str, int]:
        """The node of each client."""

    @property
    def patience(self) -> Patience:
        """How long anybody is waited for."""

    @property
    def say(self) -> Say:
        """Tells people what happens."""


@dataclass(eq=False)
class _Waited:
    """A client that is waited for: the messages sent to it, until when, and what went wrong last."""

    content: RecordDict
    until: float
    sent: set[str] = field(default_factory=set)
    active: str = ""
    tries: int = 0
    again: float = 0.0
    in_grace: bool = False
    wrong: str = ""


class Round(Generic[Answer]):
    """One message to some clients, and their answers, as far as they come."""

    def __init__(
        self,
        carrier: Carrier,
        kind: str,
        contents: Mapping[str, RecordDict],
        understood: Callable[[str, RecordDict], Answer],
    ) -> None:
        self.carrier, self.kind, self.understood = carrier, kind, understood
        self.grid, self.patience = carrier.grid, carrier.patience
        until = time.monotonic() + self.patience.answer
        self.waited = {client: _Waited(content, until) for client, content in contents.items()}
        self.answers: dict[str, Answer] = {}
        self.gone: dict[str, str] = {}
        self.looked = 0.0

    def finish(self) -> dict[str, Answer]:
        """Wait for all answers, and return them; clients that are gone are an error that names all of them."""
        self._push(self.waited)
        while self.waited:
            self._pull()
            self._look()
            self._be_patient()
            if self.waited:
                time.sleep(self.patience.poll)
        if self.gone:
            raise DepartedError(self.gone)
        return self.answers

    def _push(self, clients: Iterable[str]) -> None:
        names = list(clients)
        if not names:
            return
        whole = self.patience.answer + self.patience.grace
        messages = [
            Message(self.waited[name].content, self.carrier.nodes[name], self.kind, ttl=whole, group_id=self.kind)
            for name in names
        ]
        active = self._active()
        for name, sent in zip(names, self.grid.push_messages(messages), strict=True):
            waited = self.waited[name]
            if sent:
                waited.sent.add(sent)
            waited.active = active.get(self.carrier.nodes[name], "")
            waited.again = 0.0

    def _pull(self) -> None:
        owners = {sent: name for name, waited in self.waited.items() for sent in waited.sent}
        if not owners:
            return
        for reply in self.grid.pull_messages(list(owners)):
            name = owners[reply.metadata.reply_to_message_id]
            if name not in self.waited:
                continue
            waited = self.waited[name]
            waited.sent.discard(reply.metadata.reply_to_message_id)
            try:
                if reply.has_error():
                    raise AnswerError(name, f"its node reports an error ({reply.error.reason})")
                self.answers[name] = self.understood(name, reply.content)
                del self.waited[name]
            except (AnswerError, FormatError, InputError) as error:
                self._misunderstood(name, error.reason if isinstance(error, AnswerError) else str(error))

    def _misunderstood(self, name: str, reason: str) -> None:
        waited = self.waited[name]
        waited.tries, waited.wrong = waited.tries + 1, reason
        self.carrier.say(f"client {name!r}: {reason}")
        if waited.tries >= _TRIES:
            self._give_up(name)
        else:
            waited.again = time.monotonic() + self.patience.grace / (2 * _TRIES)

    def _look(self) -> None:
        """Ask again whoever was started anew since it was asked: what it was asked is lost."""
        now = time.monotonic()
        if now < self.looked + _LOOK:
            return
        self.looked = now
        active = self._active()
        again = []
        for name, waited in self.waited.items():
            since = active.get(self.carrier.nodes[name], "")
            if since and waited.active and since != waited.active:
                self.carrier.say(f"client {name!r} was started anew, and is asked again")
                again.append(name)
            elif not waited.active:
                waited.active = since
        self._push(again)

    def _be_patient(self) -> None:
        now = time.monotonic()
        self._push([name for name, waited in self.waited.items() if waited.again and now >= waited.again])
        late = [name for name, waited in self.waited.items() if now >= waited.until]
        for name in late:
            waited = self.waited[name]
            if waited.in_grace:
                self._give_up(name)
                continue
            waited.in_grace, waited.until = True, now + self.patience.grace
            waited.wrong = waited.wrong or f"there is no answer after {self.patience.answer:g} seconds"
            self.carrier.say(
                f"client {name!r}: {waited.wrong}; it is asked again, and waited for {self.patience.grace:g} more"
            )
        if fresh := [name for name in late if name in self.waited]:
            self._find_anew(fresh)
            self._push(fresh)

    def _find_anew(self, names: Iterable[str]) -> None:
        """Look whether clients are there as other nodes: without keys, a node that is started anew is a new one."""
        if self.carrier.roster.nodes:
            return
        short = Patience(self.patience.poll * 4, self.patience.poll * 4, self.patience.poll)
        met = Meeting(self.grid, self.carrier.roster, short, lambda told: None)
        met.seen.update(self.carrier.nodes.values())
        for _ in range(4):
            met.greet()
            time.sleep(self.patience.poll)
        self.carrier.nodes.update({name: met.nodes[name] for name in names if name in met.nodes})

    def _give_up(self, name: str) -> None:
        self.gone[name] = self.waited.pop(name).wrong

    def _active(self) -> dict[int, str]:
        """Return since when each node that is there was active last."""
        return {info.node_id: str(info.last_activated_at) for info in self.grid.get_nodes()}
