"""Columns held compactly while a table is read part by part, with the kind that the whole column would get.

A part alone does not tell: a column may be whole numbers for a million rows and then hold a text. What every part is
gets noted, and only a column whose parts do not go together has to be read again, as text.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Values = Any  # a numpy array or a pandas array: both have a length, slices and take()


class Column:
    """A column that grows by parts. Numbers take eight bytes; text takes four, and each different text once.

    It is one array that grows in place. A list of parts, joined at the end, would take twice the memory: what small
    arrays leave behind when they are freed is no room for a large one.
    """

    def __init__(self) -> None:
        self._kinds: set[str] = set()
        self._values: NDArray[Any] = np.empty(0)
        self._filled = 0
        self._levels: dict[str, int] = {}

    @property
    def torn(self) -> bool:
        """Whether the parts do not go together: as one column they would have been text."""
        return _together(self._kinds) == "torn"

    def add(self, values: pd.Series) -> None:
        """Add the next part; of a torn column nothing is kept."""
        kind = _kind(values)
        before = _together(self._kinds) if self._kinds else ""
        self._kinds.add(kind)
        became = _together(self._kinds)
        if became != before:
            self._become(became)
        if became == "torn":
            return
        start, self._filled = self._filled, self._filled + len(values)
        if self._filled > len(self._values):
            # Small steps, since numpy fills what is new; the system moves a large array without a copy.
            self._values.resize(max(self._filled, len(self._values) * 9 // 8), refcheck=False)
        if became == "text":
            self._values[start : self._filled] = self._codes(values) if kind == "text" else -1
        else:
            self._values[start : self._filled] = np.nan if kind == "empty" else values.to_numpy()

    def _become(self, kind: str) -> None:
        """Turn what is there into values of another kind."""
        if kind == "torn":
            self._values, self._filled, self._levels = np.empty(0), 0, {}
        elif kind == "text":  # whatever came before is missing
            self._values = np.full(self._filled, -1, np.int32)
        else:
            self._values = self._values[: self._filled].astype(_DTYPES[kind])

    def _codes(self, values: pd.Series) -> NDArray[Any]:
        codes, different = pd.factorize(values)
        levels = self._levels
        known = [levels.setdefault(level, len(levels)) for level in different]
        told: NDArray[Any] = np.array([*known, -1], np.int32)[codes]  # a missing value is -1, the last of them
        return told

    def finish(self) -> Values:
        """Return the whole column, and forget it."""
        values, self._values = self._values, np.empty(0)
        values.resize(self._filled, refcheck=False)
        if "text" not in self._kinds:
            return values
        return pd.Categorical.from_codes(values, categories=pd.Index(list(self._levels), dtype=object))


_DTYPES = {"whole": np.int64, "large": np.uint64, "number": np.float64, "bool": np.bool_, "flags": np.object_}


def _together(parts: set[str]) -> str:
    """Return the kind of a column whose parts are of these kinds."""
    kinds = parts - {"empty"}
    missing = "empty" in parts
    if kinds == {"text"}:
        return "text"
    if kinds and kinds <= {"bool", "flags"}:  # true and false have no missing value, nor have whole numbers
        return "flags" if missing or "flags" in kinds else "bool"
    if len(kinds) == 1 and not missing:
        return "torn" if "odd" in kinds else kinds.pop()
    return "number" if kinds <= {"whole", "number"} or kinds == {"large"} else "torn"


def _kind(values: pd.Series) -> str:
    """Return what the values of a part are."""
    dtype = values.dtype
    if dtype == np.bool_:
        return "bool"
    if dtype == np.int64:
        return "whole"
    if dtype == np.uint64:
        return "large"
    if dtype == np.float64:
        return "number" if values.notna().any() else "empty"
    return {"string": "text", "boolean": "flags", "empty": "empty"}.get(
        pd.api.types.infer_dtype(values, skipna=True), "odd"
    )
