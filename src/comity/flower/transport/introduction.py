"""The first exchange of a job: Flower's nodes have random ids, and each states which client it is."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from flwr.app import Message
from flwr.serverapp import Grid

from comity.core.progress import Notify
from comity.errors import ComityError, FormatError, InputError, RefusedError
from comity.flower.transport.messages import HELLO, reason_in, text_content, texts_in

_ATTEMPTS_IN_GRACE = 10  # how often a node whose introduction failed is asked again during the grace period


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait, in seconds: for an answer, then for a site to come back, and between polls."""

    answer: float = 600.0
    grace: float = 300.0
    poll: float = 0.5

    def __post_init__(self) -> None:
        for name in ("answer", "grace", "poll"):
            if not getattr(self, name) > 0:
                raise InputError(f"the time {name!r} is {getattr(self, name)}; it must be a positive number of seconds")


@dataclass(frozen=True, slots=True)
class Roster:
    """The expected clients and, so that none can pose as another, the node id of each whose key is registered."""

    clients: tuple[str, ...]
    nodes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rules:
    """What a client states of itself."""

    questions: tuple[str, ...]  # the kinds that its policy allows
    shares: bool  # whether others may see its utilities
    rows_mark: str  # a text that changes when its rows change


@dataclass(eq=False)
class Introduction:
    """The clients found so far. A node is accepted as a client if it is the node registered under that name.

    `ask_at` has the time from which a node may be asked (again); a node that is not in it has not been asked.
    """

    grid: Grid
    roster: Roster
    patience: Patience
    notify: Notify
    nodes: dict[str, int] = field(default_factory=dict)
    rules: dict[str, Rules] = field(default_factory=dict)
    ask_at: dict[int, float] = field(default_factory=dict)
    _asked: dict[str, int] = field(default_factory=dict)
    _reported: set[str] = field(default_factory=set)

    def greet(self) -> None:
        """Ask new nodes for their names, and accept those that have answered."""
        now = time.monotonic()
        new = [node for node in self.grid.get_node_ids() if now >= self.ask_at.get(node, now)]
        self.ask_at.update(dict.fromkeys(new, math.inf))
        lifetime = self.patience.answer + self.patience.grace
        messages = [Message(text_content(), node, HELLO, ttl=lifetime, group_id="hello") for node in new]
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
                self.ask_at[node] = time.monotonic() + self.patience.grace / _ATTEMPTS_IN_GRACE

    def _accept(self, node: int, reply: Message) -> None:
        """Take a node for the client that it names, if it may use that name."""
        if reply.has_error():
            raise FormatError(f"it cannot state its name ({reply.error.reason})")
        stated = texts_in(reply.content)
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
