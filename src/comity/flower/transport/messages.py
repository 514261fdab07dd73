"""Questions and answers as the content of Flower's messages."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict
from numpy.typing import NDArray

from comity.errors import FormatError
from comity.questions import Packed

HELLO, ASK, TAKE = "query.hello", "query.ask", "query.take"
REFUSED, FAILED = "refused", "failed"  # by the policy; by an error that may pass
_TEXTS, _VALUES = "texts", "values"
_MAX_INLINE_BYTES = 1 << 20
_NUMBER_TYPES = frozenset(np.dtype(each).str for each in ("f4", "f8", "i4", "i8", "u4", "u8", "?", "u1"))


def to_content(packed: Packed, **texts: str) -> RecordDict:
    """Return the content of a message with a question or an answer, and some texts beside it.

    All arrays are sent as one, and small ones within the texts: Flower sends every record and every array separately,
    and each takes several requests.
    """
    layout = json.dumps([[name, array.dtype.str, array.shape] for name, array in packed.arrays.items()])
    values = b"".join(array.tobytes() for array in packed.arrays.values())
    beside = ConfigRecord({**texts, "kind": packed.kind, "plain": packed.plain, "layout": layout})
    if len(values) < _MAX_INLINE_BYTES:
        beside[_VALUES] = values
        return RecordDict({_TEXTS: beside})
    return RecordDict({_TEXTS: beside, _VALUES: ArrayRecord({_VALUES: Array(np.frombuffer(values, np.uint8))})})


def from_content(content: RecordDict) -> Packed:
    """Return the question or the answer in a message; `unpack` checks that it is one."""
    texts = texts_in(content)
    for name in ("kind", "plain", "layout"):
        if not isinstance(texts.get(name), str):
            raise FormatError(f"the message has no {name}")
    try:
        values = texts[_VALUES] if _VALUES in texts else content.array_records[_VALUES][_VALUES].numpy().tobytes()
        return Packed(texts["kind"], texts["plain"], dict(_parts(json.loads(texts["layout"]), values)))
    except (KeyError, ValueError, TypeError, EOFError, OverflowError, RecursionError) as error:
        raise FormatError(f"the arrays of the message cannot be read ({error})") from None


def _parts(layout: Sequence[tuple[str, str, Sequence[int]]], values: bytes) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the named arrays that are stored one after the other in some bytes."""
    start = 0
    for name, kind, shape in layout:
        if kind not in _NUMBER_TYPES or min(shape, default=0) < 0:
            raise ValueError(f"an array has the type {kind!r} and the shape {shape}")
        part = np.frombuffer(values, np.dtype(kind), math.prod(shape), start)
        yield str(name), part.reshape(shape).copy()
        start += part.nbytes
    if start != len(values):
        raise ValueError(f"there are {len(values)} bytes, and the layout has {start}")


def text_content(**texts: str) -> RecordDict:
    """Return the content of a message with some texts."""
    return RecordDict({_TEXTS: ConfigRecord(dict(texts))})


def texts_in(content: RecordDict) -> dict[str, Any]:
    """Return the texts in a message."""
    if _TEXTS not in content.config_records:
        raise FormatError("the message is not one of comity's")
    return dict(content.config_records[_TEXTS])


def failure(reason: str, *, final: bool) -> RecordDict:
    """Return the content of a reply that says why there is no answer; unless that is final, one may ask again."""
    return text_content(**{REFUSED if final else FAILED: reason})


def reason_in(texts: Mapping[str, Any]) -> str:
    """Return why a site refused or failed to do what it was asked, empty if it did it.

    >>> reason_in({"client": "a"}), reason_in({FAILED: "its disk is full"})
    ('', 'its disk is full')
    """
    return str(texts.get(REFUSED) or texts.get(FAILED) or "")
