"""How broad arrows are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

import numpy as np

from comity.core import InputError, shown

Edge = tuple[str, str]
_THIN, _BROAD = 0.5, 3.2  # points
_MANY = 30


def widths_of(edges: Sequence[Edge], weights: Mapping[Edge, float] | None) -> dict[Edge, float]:
    """Return how broad each edge is, in points: the same for all, or by weight, thin for those of none.

    >>> widths_of([("a", "b"), ("b", "a")], {("a", "b"): 2.0})
    {('a', 'b'): 3.2, ('b', 'a'): 0.5}
    """
    if weights is None:
        return dict.fromkeys(edges, 1.0 if len(edges) <= _MANY else 0.7)
    found = {edge: max(weights.get(edge, 0.0), 0.0) for edge in edges}
    most = max(found.values(), default=0.0) or 1.0
    return {edge: _THIN + (_BROAD - _THIN) * weight / most for edge, weight in found.items()}


def check_weights(weights: Mapping[Edge, float] | None) -> None:
    """Check that every weight is a number."""
    for edge, weight in (weights or {}).items():
        if not _is_number(weight):
            raise InputError(f"the weight of edge {shown(edge)} is {shown(weight)}; it takes a finite number")


def _is_number(weight: object) -> bool:
    return isinstance(weight, int | float | np.number) and isfinite(weight)
