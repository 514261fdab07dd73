"""Questions and answers as the content of Flower's messages."""

from __future__ import annotations

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
REFUSED, FAILED = "refused", "failed"  # it will not; it cannot now
_TOLD, _VALUES = "told", "values"
_LITTLE = 1 << 20  # bytes
_KINDS = frozenset(np.dtype(each).str for each in ("f4", "f8", "i4", "i8", "u4", "u8", "?", "u1"))


def to_content(packed: Packed, **told: str) -> RecordDict:
    """Return what is sent for a question or an answer, with some texts beside it.

    All arrays are sent as one, and little ones within the texts: Flower carries every record and every array by itself,
    and each takes several requests on its way.
    """
    layout = json.dumps([[name, each.dtype.str, each.shape] for name, each in packed.arrays.items()])
    values = b"".join(each.tobytes() for each in packed.arrays.values())
    beside = ConfigRecord({**told, "kind": packed.kind, "plain": packed.plain, "layout": layout})
    if len(values) < _LITTLE:
        beside[_VALUES] = values
        return RecordDict({_TOLD: beside})
    return RecordDict({_TOLD: beside, _VALUES: ArrayRecord({_VALUES: Array(np.frombuffer(values, np.uint8))})})


def from_content(content: RecordDict) -> Packed:
    """Return the question or the answer that was sent; that it is one, and which, is for `unpack` to check."""
    told = told_in(content)
    for name in ("kind", "plain", "layout"):
        if not isinstance(told.get(name), str):
            raise FormatError(f"it does not say its {name}")
    try:
        values = told[_VALUES] if _VALUES in told else content.array_records[_VALUES][_VALUES].numpy().tobytes()
        return Packed(told["kind"], told["plain"], dict(_parts(json.loads(told["layout"]), values)))
    except (KeyError, ValueError, TypeError, EOFError, OverflowError, RecursionError) as error:
        raise FormatError(f"its arrays cannot be read ({error})") from None


def _parts(layout: Sequence[tuple[str, str, Sequence[int]]], values: bytes) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the arrays that lie in some bytes one after the other, by name."""
    start = 0
    for name, kind, shape in layout:
        if kind not in _KINDS or min(shape, default=0) < 0:
            raise ValueError(f"an array is {kind!r} of the shape {shape}")
        part = np.frombuffer(values, np.dtype(kind), math.prod(shape), start)
        yield str(name), part.reshape(shape).copy()
        start += part.nbytes
    if start != len(values):
        raise ValueError(f"there are {len(values)} bytes for {start}")


def saying(**told: str) -> RecordDict:
    """Return what is sent for some texts."""
    return RecordDict({_TOLD: ConfigRecord(dict(told))})


def told_in(content: RecordDict) -> dict[str, Any]:
    """Return the texts that were sent."""
    if _TOLD not in content.config_records:
        raise FormatError("there is nothing of comity's in it")
    return dict(content.config_records[_TOLD])


def reason_in(told: Mapping[str, Any]) -> str:
    """Return why a site does not do what it was asked, empty if it does: it will not, or it cannot now.

    >>> reason_in({"client": "a"}), reason_in({FAILED: "its disk is full"})
    ('', 'its disk is full')
    """
    return str(told.get(REFUSED) or told.get(FAILED) or "")
