"""A Flower Grid in memory: nodes are client apps that are called directly, with Flower's own wire format in between.

Each node has its own `Context`, which like every message is serialised and read back, as between two processes. Nodes
can be made to fail, to stay silent or to reply with garbage: see `failing`, `silent` and `garbled`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager
from itertools import count

from flwr.app import Context, Error, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.common.constant import SUPERLINK_NODE_ID, ErrorCode
from flwr.common.serde import context_from_proto, context_to_proto, message_from_proto, message_to_proto
from flwr.proto.message_pb2 import Context as ContextOnWire
from flwr.proto.message_pb2 import Message as MessageOnWire
from flwr.serverapp import Grid
from flwr.supercore.run import Run
from flwr.supercore.task_identity import TaskIdentity

RUN = 7
Answer = Callable[[Message], Message]
Fault = Callable[[Message, Answer], Message | None]
When = Callable[[Message], bool]


def always(_: Message) -> bool:
    return True


def after(messages: int) -> When:
    """From the message after this number on."""
    seen = count(1)
    return lambda _: next(seen) > messages


def failing(reason: str = "it broke", when: When = always) -> Fault:
    """A node whose app raises: the reply is one of Flower's errors."""

    def fault(message: Message, answer: Answer) -> Message:
        if when(message):
            return Message(Error(ErrorCode.CLIENT_APP_RAISED_EXCEPTION, reason), reply_to=message)
        return answer(message)

    return fault


def silent(when: When = always, *, works: bool = False) -> Fault:
    """A node that does not reply. If it `works`, it processes the message, and dies before it has replied."""

    def fault(message: Message, answer: Answer) -> Message | None:
        if when(message):
            if works:
                answer(message)
            return None
        return answer(message)

    return fault


def garbled(garble: Callable[[Message], Message | None], when: When = always) -> Fault:
    """A node whose replies are changed on the way."""

    def fault(message: Message, answer: Answer) -> Message | None:
        now = when(message)  # before the app changes the message
        reply = answer(message)
        return garble(reply) if now else reply

    return fault


class InMemoryGrid(Grid):
    """Nodes by id, with one client app for all or one each; `configs` are their node configurations.

    `faults` has the nodes that misbehave and how. `sent` and `received` keep every message, as the coordinator has it.
    """

    def __init__(
        self,
        apps: ClientApp | Mapping[int, ClientApp],
        nodes: Iterable[int] = (),
        configs: Mapping[int, dict[str, bool | float | int | str]] | None = None,
        run_config: dict[str, bool | float | int | str] | None = None,
    ) -> None:
        self.apps = dict(apps) if isinstance(apps, Mapping) else dict.fromkeys(nodes, apps)
        self._configs, self._run_config = configs or {}, run_config or {}
        self.contexts: dict[int, Context] = {}
        for node in self.apps:
            self.restart(node)
        self.faults: dict[int, Fault] = {}
        self.sent: list[Message] = []
        self.received: list[Message] = []
        self._replies: dict[str, Message] = {}
        self._numbers = count(1)
        self._run = Run.create_empty(RUN)
        self._be(SUPERLINK_NODE_ID)

    def restart(self, node: int) -> None:
        """Restart a node, as after it was killed: its `context.state` is lost."""
        self.contexts[node] = Context(RUN, node, self._configs.get(node, {}), RecordDict(), self._run_config)

    @staticmethod
    def _be(node: int) -> None:
        TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, RUN, node

    @contextmanager
    def _at(self, node: int):
        self._be(node)
        try:
            yield
        finally:
            self._be(SUPERLINK_NODE_ID)

    def set_run(self, run: Run) -> None:
        self._run = run

    @property
    def run(self) -> Run:
        return self._run

    def create_message(
        self, content: RecordDict, message_type: str, dst_node_id: int, group_id: str, ttl: float | None = None
    ) -> Message:
        return Message(content, dst_node_id, message_type, ttl=ttl, group_id=group_id)

    def get_node_ids(self) -> Iterable[int]:
        return list(self.apps)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        numbers = []
        for message in messages:
            number = str(next(self._numbers))
            message.metadata.__dict__["_message_id"] = number
            numbers.append(number)
            self.sent.append(_carried(message))
            node = message.metadata.dst_node_id
            with self._at(node):
                fault = self.faults.get(node)
                arrived = _carried(message)
                reply = self._answer(arrived) if fault is None else fault(arrived, self._answer)
            if reply is not None:
                reply.metadata.__dict__["_message_id"] = f"{number}.reply"
                self._replies[number] = _carried(reply)
        return numbers

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        replies = [self._replies.pop(number) for number in message_ids if number in self._replies]
        self.received += [_carried(reply) for reply in replies]
        return replies

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Iterable[Message]:
        numbers = list(self.push_messages(messages))
        replies = list(self.pull_messages(numbers))
        if len(replies) < len(numbers) and timeout is None:
            raise AssertionError("a node is silent and there is no timeout: on a real grid this waits for ever")
        return replies

    def _answer(self, message: Message) -> Message:
        """Call the app of a node as a process started for one message does."""
        node = message.metadata.dst_node_id
        if node not in self.apps:
            return Message(Error(ErrorCode.NODE_UNAVAILABLE, "there is no such node"), reply_to=message)
        context = _reloaded(self.contexts[node])
        try:
            reply = self.apps[node](message, context)
        except Exception as error:  # noqa: BLE001 - Flower sends the coordinator any error of an app
            reason = f"{type(error)}:<'{error}'>"
            reply = Message(Error(ErrorCode.CLIENT_APP_RAISED_EXCEPTION, reason), reply_to=message)
        self.contexts[node] = _reloaded(context)
        return reply


def _carried(message: Message) -> Message:
    """Return a message as it arrives: serialised and read back."""
    return message_from_proto(MessageOnWire.FromString(message_to_proto(message).SerializeToString()))


def _reloaded(context: Context) -> Context:
    """Return a context as the next process has it: serialised and read back."""
    return context_from_proto(ContextOnWire.FromString(context_to_proto(context).SerializeToString()))
