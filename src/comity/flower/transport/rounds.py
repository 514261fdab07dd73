"""One round over a Grid: clients are asked, and asked again, until each has answered or is given up."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flwr.app import Message, RecordDict

from comity.errors import AnswerError, DepartedError, FormatError, InputError
from comity.flower.transport.introduction import Introduction, Patience

if TYPE_CHECKING:
    from comity.flower.transport.federation import OverFlower

_SECONDS_BETWEEN_RESTART_CHECKS = 2.0
_MAX_BAD_ANSWERS = 3  # then a client counts as departed


@dataclass(eq=False)
class _Pending:
    """A client whose answer has not arrived: the messages sent to it, the deadline, and the last problem."""

    content: RecordDict
    deadline: float
    sent: set[str] = field(default_factory=set)
    active_since: str = ""
    bad_answers: int = 0
    ask_again_at: float = 0.0
    in_grace: bool = False
    problem: str = ""


class Round:
    """One message to each of some clients, and their answers as far as they arrive.

    `read` returns the answer that a reply holds, or raises an error that says why it cannot be used.
    """

    def __init__(self, federation: OverFlower, kind: str, read: Callable[[str, RecordDict], Any]) -> None:
        self.kind, self.read = kind, read
        self.grid, self.roster, self.nodes = federation.grid, federation.roster, federation.nodes
        self.patience, self.notify = federation.patience, federation.notify
        self.pending: dict[str, _Pending] = {}
        self.answers: dict[str, Any] = {}
        self.departed: dict[str, str] = {}
        self.checked_restarts_at = 0.0

    def run(self, contents: Mapping[str, RecordDict]) -> dict[str, Any]:
        """Send the messages and return all answers; a `DepartedError` names the clients that did not give one."""
        deadline = time.monotonic() + self.patience.answer
        self.pending = {client: _Pending(content, deadline) for client, content in contents.items()}
        self._push(self.pending)
        while self.pending:
            self._pull()
            self._ask_restarted()
            self._handle_deadlines()
            if self.pending:
                time.sleep(self.patience.poll)
        if self.departed:
            raise DepartedError(self.departed)
        return self.answers

    def _push(self, names: Collection[str]) -> None:
        """Send clients their message, once more if they had it before."""
        if not names:
            return
        lifetime = self.patience.answer + self.patience.grace
        messages = [
            Message(self.pending[name].content, self.nodes[name], self.kind, ttl=lifetime, group_id=self.kind)
            for name in names
        ]
        active_since = self._active_since()
        for name, message_id in zip(names, self.grid.push_messages(messages), strict=True):
            pending = self.pending[name]
            if message_id:
                pending.sent.add(message_id)
            pending.active_since = active_since.get(self.nodes[name], "")
            pending.ask_again_at = 0.0

    def _pull(self) -> None:
        """Read the replies that have arrived."""
        owners = {message_id: name for name, pending in self.pending.items() for message_id in pending.sent}
        if not owners:
            return
        for reply in self.grid.pull_messages(list(owners)):
            name = owners[reply.metadata.reply_to_message_id]
            if name not in self.pending:
                continue
            self.pending[name].sent.discard(reply.metadata.reply_to_message_id)
            try:
                if reply.has_error():
                    raise AnswerError(name, f"its node reports an error ({reply.error.reason})")
                self.answers[name] = self.read(name, reply.content)
                del self.pending[name]
            except (AnswerError, FormatError, InputError) as error:
                self._reject(name, error.reason if isinstance(error, AnswerError) else str(error))

    def _reject(self, name: str, reason: str) -> None:
        """Note an answer that cannot be used; the client is asked again later, or given up."""
        pending = self.pending[name]
        pending.bad_answers, pending.problem = pending.bad_answers + 1, reason
        self.notify(f"client {name!r}: {reason}")
        if pending.bad_answers >= _MAX_BAD_ANSWERS:
            self._give_up(name)
        else:
            pending.ask_again_at = time.monotonic() + self.patience.grace / (2 * _MAX_BAD_ANSWERS)

    def _ask_restarted(self) -> None:
        """Ask clients again whose node was restarted since they were asked: it has lost the question."""
        now = time.monotonic()
        if now < self.checked_restarts_at + _SECONDS_BETWEEN_RESTART_CHECKS:
            return
        self.checked_restarts_at = now
        active_since = self._active_since()
        restarted = []
        for name, pending in self.pending.items():
            since = active_since.get(self.nodes[name], "")
            if since and pending.active_since and since != pending.active_since:
                self.notify(f"client {name!r} was restarted, and is asked again")
                restarted.append(name)
            elif not pending.active_since:
                pending.active_since = since
        self._push(restarted)

    def _handle_deadlines(self) -> None:
        """Ask again where that is due; start the grace period of late clients, or give them up at its end."""
        now = time.monotonic()
        self._push([name for name, pending in self.pending.items() if 0 < pending.ask_again_at <= now])
        late = [name for name, pending in self.pending.items() if now >= pending.deadline]
        for name in late:
            pending = self.pending[name]
            if pending.in_grace:
                self._give_up(name)
                continue
            pending.in_grace, pending.deadline = True, now + self.patience.grace
            pending.problem = pending.problem or f"no answer after {self.patience.answer:g} seconds"
            more = f"it is asked again, and has {self.patience.grace:g} seconds more"
            self.notify(f"client {name!r}: {pending.problem}; {more}")
        if in_grace := [name for name in late if name in self.pending]:
            self._find_new_nodes(in_grace)
            self._push(in_grace)

    def _find_new_nodes(self, names: Iterable[str]) -> None:
        """Look for clients under new node ids: without keys, a restarted node gets a new id."""
        if self.roster.nodes:
            return
        short = Patience(self.patience.poll * 4, self.patience.poll * 4, self.patience.poll)
        known = dict.fromkeys(self.nodes.values(), math.inf)
        introduction = Introduction(self.grid, self.roster, short, lambda message: None, ask_at=known)
        for _ in range(4):
            introduction.greet()
            time.sleep(self.patience.poll)
        self.nodes.update({name: introduction.nodes[name] for name in names if name in introduction.nodes})

    def _give_up(self, name: str) -> None:
        self.departed[name] = self.pending.pop(name).problem

    def _active_since(self) -> dict[int, str]:
        """Return for each connected node when it was activated last."""
        return {info.node_id: str(info.last_activated_at) for info in self.grid.get_nodes()}
