"""One exchange of a secure sum: a message to every client, and what comes back; who is lost is kept with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from flwr.app import ConfigRecord, Message, MessageType, RecordDict
from flwr.common.secure_aggregation.secaggplus_constants import RECORD_KEY_CONFIGS, Key
from flwr.common.serde import config_record_to_proto
from flwr.serverapp import Grid

from comity.errors import ComityError, InputError, NotFiniteError, RefusedError
from comity.federation import Traffic
from comity.flower.secure.carrying import FORGOTTEN, REFUSED, SUM

T = TypeVar("T")


@dataclass(eq=False)
class Exchange:
    """The exchanges of the sum of a `number`, over a `grid` with the nodes of these `names`; they are counted."""

    grid: Grid
    names: Mapping[int, str]
    number: str
    timeout: float
    missing: dict[str, str] = field(default_factory=dict)
    cost: Traffic = field(default_factory=Traffic)

    def send(self, stage: str, contents: Mapping[int, RecordDict]) -> dict[int, RecordDict]:
        """Send each node a message of a stage, and return what comes back; who does not answer is lost."""
        messages = []
        for node, content in contents.items():
            content.config_records[RECORD_KEY_CONFIGS][Key.STAGE] = stage
            content[SUM] = ConfigRecord({"number": self.number})
            self.cost.sent += _size(content)
            messages.append(Message(content, node, MessageType.TRAIN, ttl=self.timeout, group_id=self.number))
        self.cost.rounds += 1
        replies: dict[int, RecordDict] = {}
        for reply in self.grid.send_and_receive(messages, timeout=self.timeout):
            node = reply.metadata.src_node_id
            if node not in contents:
                continue
            if reply.has_error():
                self.lose(node, stage, f"failed: {reply.error.reason}")
                continue
            self.cost.received += _size(reply.content)
            if FORGOTTEN in reply.content.config_records:
                self.lose(node, stage, "knows nothing of this sum, as if it had been started again")
                continue
            if REFUSED in reply.content.config_records:
                raise self._refusal(node, reply.content.config_records[REFUSED])
            replies[node] = reply.content
        for node in contents.keys() - replies.keys():
            self.lose(node, stage, f"did not answer within {self.timeout:g} s")
        return replies

    def lose(self, node: int, stage: str, why: str) -> None:
        """Go on without a node, and keep why; what happened first counts."""
        self.missing.setdefault(self.names[node], f"{why} (stage {stage.replace('_', ' ')!r})")

    @contextmanager
    def reading(self, node: int, stage: str, what: str) -> Iterator[None]:
        """Lose a node whose reply cannot be read as `what` it should be."""
        try:
            yield
        except (KeyError, TypeError, ValueError) as error:
            self.lose(node, stage, f"gave no {what} ({type(error).__name__}: {error})")

    def _refusal(self, node: int, told: ConfigRecord) -> ComityError:
        """Return why a client refuses, as an error."""
        name, why = self.names[node], str(told.get("why", "it gives no reason"))
        if told.get("kind") == NotFiniteError.__name__:
            return NotFiniteError(name)
        error = InputError if told.get("kind") == InputError.__name__ else RefusedError
        return error(why if repr(name) in why else f"client {name!r}: {why}")


def told(reply: RecordDict) -> ConfigRecord:
    """Return the values of a reply, in a record of the name that Flower gives it."""
    return reply.config_records[RECORD_KEY_CONFIGS]


def listed(record: ConfigRecord, key: str, of: type[T]) -> list[T]:
    """Return a list of values of one type."""
    values = record[key]
    if not isinstance(values, list) or not all(isinstance(each, of) for each in values):
        raise TypeError(f"{key!r} is not a list of {of.__name__}")
    return [each for each in values if isinstance(each, of)]


def single(record: ConfigRecord, key: str, of: type[T]) -> T:
    """Return a value of a type."""
    value = record[key]
    if not isinstance(value, of):
        raise TypeError(f"{key!r} is not of the type {of.__name__}")
    return value


def _size(content: RecordDict) -> int:
    """Return how many bytes records take, without what a transport adds."""
    arrays = sum(record.count_bytes() for record in content.array_records.values())
    # A ConfigRecord cannot count its own when a list in it is empty.
    return arrays + sum(int(config_record_to_proto(record).ByteSize()) for record in content.config_records.values())
