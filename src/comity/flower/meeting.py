"""The first exchange: nodes have random numbers, and say which client each is."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from flwr.app import Message
from flwr.serverapp import Grid

from comity.errors import ComityError, FormatError, InputError, RefusedError
from comity.flower.messages import HELLO, reason_in, saying, told_in
from comity.flower.roster import Patience, Roster, Rules, Say

_TIMES = 10  # that a node may try in the grace period


@dataclass(eq=False)
class Meeting:
    """Who is there: every node is asked for its name, and believed if it is the node registered by that name."""

    grid: Grid
    roster: Roster
    patience: Patience
    say: Say
    nodes: dict[str, int] = field(default_factory=dict)
    rules: dict[str, Rules] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)
    _asked: dict[str, int] = field(default_factory=dict)
    _again: dict[int, float] = field(default_factory=dict)
    _said: set[str] = field(default_factory=set)

    def greet(self) -> None:
        """Ask new nodes for their names, and hear those that answer."""
        due = {node for node, since in self._again.items() if time.monotonic() >= since}
        for node in due:
            del self._again[node]
        self.seen -= due
        fresh = [node for node in self.grid.get_node_ids() if node not in self.seen]
        self.seen.update(fresh)
        messages = [
            Message(saying(), node, HELLO, ttl=self.patience.answer + self.patience.grace, group_id="hello")
            for node in fresh
        ]
        if messages:
            self._asked.update(zip(self.grid.push_messages(messages), fresh, strict=True))
        if not self._asked:
            return
        for reply in list(self.grid.pull_messages(list(self._asked))):
            node = self._asked.pop(reply.metadata.reply_to_message_id)
            try:
                self._hear(node, reply)
            except ComityError as error:
                if str(error) not in self._said:
                    self.say(f"a node is not taken for a client: {error}")
                self._said.add(str(error))
                self._again[node] = time.monotonic() + self.patience.grace / _TIMES  # it may be mended

    def _hear(self, node: int, reply: Message) -> None:
        if reply.has_error():
            raise FormatError(f"it cannot say its name ({reply.error.reason})")
        told = told_in(reply.content)
        name = str(told.get("client"))
        if why := reason_in(told):
            raise RefusedError(why)
        if name not in self.roster.clients:
            raise InputError(f"it says that it is {name!r}, who is not expected")
        if self.roster.nodes and self.roster.nodes.get(name) != node:
            raise InputError(f"it says that it is {name!r}, and does not have the key of {name!r}")
        if self.nodes.get(name, node) != node and self.nodes[name] in set(self.grid.get_node_ids()):
            raise InputError(f"it says that it is {name!r}, as another does who is there")
        self.nodes[name] = node
        questions = tuple(str(told.get("questions", "")).split(","))
        self.rules[name] = Rules(questions, told.get("shares") == "yes", str(told.get("rows", "")))
