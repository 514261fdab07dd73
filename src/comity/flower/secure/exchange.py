"""One exchange of a secure sum: a message to every client, and the replies; lost clients are kept with the reason."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from flwr.app import ConfigRecord, Message, MessageType, RecordDict
from flwr.common.secure_aggregation.secaggplus_constants import RECORD_KEY_CONFIGS, Key
from flwr.common.serde import config_record_to_proto
from flwr.serverapp import Grid

from comity.errors import ComityError, InputError, NotFiniteError, RefusedError
from comity.federation import Traffic
from comity.flower.secure.payload import FORGOTTEN, REFUSED, SUM

T = TypeVar("T")


@dataclass(eq=False)
class Exchange:
    """The exchanges of the sum with this `number`, over a `grid`; `names` maps node ids to clients, `cost` adds up."""

    grid: Grid
    names: Mapping[int, str]
    number: str
    timeout: float
    missing: dict[str, str] = field(default_factory=dict)
    cost: Traffic = field(default_factory=Traffic)

    def send(
        self, stage: str, values: Mapping[int, Mapping[str, Any]], questions: Mapping[int, RecordDict] | None = None
    ) -> dict[int, RecordDict]:
        """Send nodes the values of a stage, and questions if it has any; return the replies, and lose silent nodes."""
        messages = []
        for node, sent in values.items():
            content = RecordDict() if questions is None else questions[node]
            content[RECORD_KEY_CONFIGS] = ConfigRecord({Key.STAGE: stage, **sent})
            content[SUM] = ConfigRecord({"number": self.number})
            self.cost.sent += _size(content)
            messages.append(Message(content, node, MessageType.TRAIN, ttl=self.timeout, group_id=self.number))
        self.cost.rounds += 1
        replies: dict[int, RecordDict] = {}
        for reply in self.grid.send_and_receive(messages, timeout=self.timeout):
            node = reply.metadata.src_node_id
            if node not in values:
                continue
            if reply.has_error():
                self.lose(node, stage, f"failed: {reply.error.reason}")
                continue
            self.cost.received += _size(reply.content)
            if FORGOTTEN in reply.content.config_records:
                self.lose(node, stage, "does not know this sum; it was probably restarted")
                continue
            if REFUSED in reply.content.config_records:
                raise self._refusal(node, reply.content.config_records[REFUSED])
            replies[node] = reply.content
        for node in values.keys() - replies.keys():
            self.lose(node, stage, f"did not answer within {self.timeout:g} s")
        return replies

    def lose(self, node: int, stage: str, reason: str) -> None:
        """Continue without a node, and keep the first reason."""
        self.missing.setdefault(self.names[node], f"{reason} (stage {stage.replace('_', ' ')!r})")

    @contextmanager
    def reading(self, node: int, stage: str, what: str) -> Iterator[None]:
        """Lose a node whose reply does not hold `what` it should."""
        try:
            yield
        except (KeyError, TypeError, ValueError) as error:
            self.lose(node, stage, f"sent no {what} ({type(error).__name__}: {error})")

    def _refusal(self, node: int, refusal: ConfigRecord) -> ComityError:
        """Return a client's refusal as an error."""
        name, reason = self.names[node], str(refusal.get("why", "it gives no reason"))
        if refusal.get("kind") == NotFiniteError.__name__:
            return NotFiniteError(name)
        error = InputError if refusal.get("kind") == InputError.__name__ else RefusedError
        return error(reason if repr(name) in reason else f"client {name!r}: {reason}")


def read_list(reply: RecordDict, key: str, item_type: type[T]) -> list[T]:
    """Return a list that Flower's client sent, or raise a `TypeError` if an item has another type."""
    values = reply.config_records[RECORD_KEY_CONFIGS][key]
    if not isinstance(values, list) or not all(isinstance(value, item_type) for value in values):
        raise TypeError(f"{key!r} is not a list of {item_type.__name__}")
    return [value for value in values if isinstance(value, item_type)]


def _size(content: RecordDict) -> int:
    """Return the size of records in bytes, without the overhead of the transport."""
    arrays = sum(record.count_bytes() for record in content.array_records.values())
    # ConfigRecord.count_bytes fails where a list is empty.
    return arrays + sum(int(config_record_to_proto(record).ByteSize()) for record in content.config_records.values())
