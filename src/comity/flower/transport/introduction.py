"""The first exchange of a job: Flower's nodes have random ids, and each states which client it is."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from flwr.app import Message
from flwr.serverapp import Grid

from comity.core.progress import Notify
from comity.errors import ComityError, FormatError, InputError, RefusedError
from comity.flower.transport.messages import HELLO, reason_in, saying, told_in
from comity.flower.transport.roster import Patience, Roster, Rules

_ATTEMPTS_IN_GRACE = 10  # how often a node whose introduction failed is asked again during the grace period


@dataclass(eq=False)
class Introduction:
    """The clients found so far. A node is accepted as a client if it is the node registered under that name."""

    grid: Grid
    roster: Roster
    patience: Patience
    notify: Notify
    nodes: dict[str, int] = field(default_factory=dict)
    rules: dict[str, Rules] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)
    _asked: dict[str, int] = field(default_factory=dict)
    _ask_again_at: dict[int, float] = field(default_factory=dict)
    _reported: set[str] = field(default_factory=set)

    def greet(self) -> None:
        """Ask new nodes for their names, and accept those that have answered."""
        due = {node for node, moment in self._ask_again_at.items() if time.monotonic() >= moment}
        for node in due:
            del self._ask_again_at[node]
        self.seen -= due
        new = [node for node in self.grid.get_node_ids() if node not in self.seen]
        self.seen.update(new)
        messages = [
            Message(saying(), node, HELLO, ttl=self.patience.answer + self.patience.grace, group_id="hello")
            for node in new
        ]
        if messages:
            self._asked.update(zip(self.grid.push_messages(messages), new, strict=True))
        if not self._asked:
            return
        for reply in list(self.grid.pull_messages(list(self._asked))):
            node = self._asked.pop(reply.metadata.reply_to_message_id)
            try:
                self._accept(node, reply)
            except ComityError as error:
                if str(error) not in self._reported:
                    self.notify(f"a node was not accepted as a client: {error}")
                self._reported.add(str(error))
                # Its owner may correct the error meanwhile.
                self._ask_again_at[node] = time.monotonic() + self.patience.grace / _ATTEMPTS_IN_GRACE

    def _accept(self, node: int, reply: Message) -> None:
        """Take a node for the client that it names, if it may use that name."""
        if reply.has_error():
            raise FormatError(f"it cannot state its name ({reply.error.reason})")
        stated = told_in(reply.content)
        name = str(stated.get("client"))
        if reason := reason_in(stated):
            raise RefusedError(reason)
        if name not in self.roster.clients:
            raise InputError(f"it gives the name {name!r}, which is not expected")
        if self.roster.nodes and self.roster.nodes.get(name) != node:
            raise InputError(f"it gives the name {name!r}, but does not have the key of {name!r}")
        if self.nodes.get(name, node) != node and self.nodes[name] in set(self.grid.get_node_ids()):
            raise InputError(f"it gives the name {name!r}, which another connected node already has")
        self.nodes[name] = node
        questions = tuple(str(stated.get("questions", "")).split(","))
        self.rules[name] = Rules(questions, stated.get("shares") == "yes", str(stated.get("rows", "")))
