"""Columns of a table that is read in parts, held compactly, with the type that the whole column would get.

One part does not determine the type: a column may have whole numbers for a million rows and then a text. The kind of
every part is recorded, and only a column whose parts do not fit together has to be read again, as text.
"""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from comity.rows.columns import recognise

Values = Any  # a numpy or pandas array: both have a length, slices and take()
_VALUES_IN_PART = 200_000


def rows_in_part(columns: int) -> int:
    """Return how many rows to read at a time, so that parts of narrow and wide tables take about the same memory."""
    return max(1, _VALUES_IN_PART // columns)


class Column:
    """A column read in parts. A number takes eight bytes; a text takes four, and each distinct text is kept once.

    It is one array that grows in place. A list of parts, joined at the end, would take twice the memory, because the
    freed parts leave gaps that are too small for the whole array.
    """

    def __init__(self) -> None:
        self._kinds: set[str] = set()
        self._values: NDArray[Any] = np.empty(0)
        self._filled = 0
        self._levels: dict[str, int] = {}

    @property
    def inconsistent(self) -> bool:
        """Whether the kinds of the parts do not fit together, so that the whole column is text."""
        return _common_kind(self._kinds) == "inconsistent"

    def add(self, values: pd.Series) -> None:
        """Add the next part; an inconsistent column keeps no values."""
        kind = _kind(values)
        before = _common_kind(self._kinds) if self._kinds else ""
        self._kinds.add(kind)
        now = _common_kind(self._kinds)
        if now == "inconsistent":
            self._values, self._filled, self._levels = np.empty(0), 0, {}
            return
        if now != before and now == "text":  # all values so far are missing
            self._values = np.full(self._filled, -1, np.int32)
        elif now != before:
            self._values = self._values[: self._filled].astype(_DTYPES[now])
        start, self._filled = self._filled, self._filled + len(values)
        if self._filled > len(self._values):
            # It grows in small steps, since numpy fills new memory; the system moves a large array without a copy.
            self._values.resize(max(self._filled, len(self._values) * 9 // 8), refcheck=False)
        if now == "text":
            self._values[start : self._filled] = self._codes(values) if kind == "text" else -1
        else:
            self._values[start : self._filled] = np.nan if kind == "empty" else values.to_numpy()

    def _codes(self, values: pd.Series) -> NDArray[Any]:
        """Return the position of each text among the column's levels, or -1 if it is missing."""
        codes, distinct = pd.factorize(values)
        known = [self._levels.setdefault(level, len(self._levels)) for level in distinct]
        positions: NDArray[Any] = np.array([*known, -1], np.int32)[codes]  # code -1, of a missing value, picks the last
        return positions

    def finish(self, *, recognised: bool = True) -> Values:
        """Return the whole column and release it; text is read as dates or numbers if it is `recognised`."""
        values, self._values = self._values, np.empty(0)
        values.resize(self._filled, refcheck=False)
        if "text" not in self._kinds:
            return values
        text = pd.Categorical.from_codes(values, categories=pd.Index(list(self._levels), dtype=object))
        return recognise(text) if recognised else text


_DTYPES = {"whole": np.int64, "large": np.uint64, "number": np.float64, "bool": np.bool_, "flags": np.object_}


def _common_kind(parts: set[str]) -> str:
    """Return the kind of a column whose parts are of these kinds."""
    kinds = parts - {"empty"}
    missing = "empty" in parts
    if kinds == {"text"}:
        return "text"
    if kinds and kinds <= {"bool", "flags"}:  # arrays of bool, like those of int, hold no missing values
        return "flags" if missing or "flags" in kinds else "bool"
    if len(kinds) == 1 and not missing:
        return "inconsistent" if "other" in kinds else kinds.pop()
    return "number" if kinds <= {"whole", "number"} or kinds == {"large"} else "inconsistent"


def _kind(values: pd.Series) -> str:
    """Return the kind of a part's values."""
    if values.dtype == np.float64:
        return "number" if values.notna().any() else "empty"
    for kind in ("bool", "whole", "large"):
        if values.dtype == _DTYPES[kind]:
            return kind
    inferred = pd.api.types.infer_dtype(values, skipna=True)
    return {"string": "text", "boolean": "flags", "empty": "empty"}.get(inferred, "other")
