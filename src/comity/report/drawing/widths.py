"""The widths of arrows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

import numpy as np

from comity.core.names import shown
from comity.errors import InputError

Edge = tuple[str, str]
_MIN_WIDTH, _MAX_WIDTH = 0.5, 3.2  # points
_MAX_EDGES_AT_FULL_WIDTH = 30


def choose_widths(edges: Sequence[Edge], weights: Mapping[Edge, float] | None) -> dict[Edge, float]:
    """Return the width of each edge in points: proportional to its weight, or equal for all without weights.

    >>> choose_widths([("a", "b"), ("b", "a")], {("a", "b"): 2.0})
    {('a', 'b'): 3.2, ('b', 'a'): 0.5}
    """
    if weights is None:
        return dict.fromkeys(edges, 1.0 if len(edges) <= _MAX_EDGES_AT_FULL_WIDTH else 0.7)
    found = {edge: max(weights.get(edge, 0.0), 0.0) for edge in edges}
    most = max(found.values(), default=0.0) or 1.0
    return {edge: _MIN_WIDTH + (_MAX_WIDTH - _MIN_WIDTH) * weight / most for edge, weight in found.items()}


def check_weights(weights: Mapping[Edge, float] | None) -> None:
    """Check that every weight is a finite number."""
    for edge, weight in (weights or {}).items():
        if not _is_number(weight):
            raise InputError(f"the weight of edge {shown(edge)} is {shown(weight)}; give a finite number")


def _is_number(weight: object) -> bool:
    return isinstance(weight, int | float | np.number) and isfinite(weight)
