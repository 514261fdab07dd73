"""Questions and answers as the content of Flower's messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict

from comity.errors import FormatError
from comity.questions import Packed

HELLO, ASK, TAKE = "query.hello", "query.ask", "query.take"
REFUSED, FAILED = "refused", "failed"  # it will not; it cannot now
_TOLD, _ARRAYS = "told", "arrays"


def to_content(packed: Packed, **told: str) -> RecordDict:
    """Return what is sent for a question or an answer, with some texts beside it."""
    arrays = ArrayRecord({name: Array(np.ascontiguousarray(each)) for name, each in packed.arrays.items()})
    return RecordDict({_TOLD: ConfigRecord({**told, "kind": packed.kind, "plain": packed.plain}), _ARRAYS: arrays})


def from_content(content: RecordDict) -> Packed:
    """Return the question or the answer that was sent; that it is one, and which, is for `unpack` to check."""
    told = told_in(content)
    try:
        arrays = {name: each.numpy() for name, each in content.array_records[_ARRAYS].items()}
    except (KeyError, ValueError, TypeError, EOFError) as error:
        raise FormatError(f"its arrays cannot be read ({error})") from None
    for name in ("kind", "plain"):
        if not isinstance(told.get(name), str):
            raise FormatError(f"it does not say its {name}")
    return Packed(told["kind"], told["plain"], arrays)


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
