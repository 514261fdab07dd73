"""Splits in which each row is assigned independently of the others, for answers with noise.

Even folds (`comity.rows.splits`) move many rows when one is added, which would make the sensitivity unbounded. Here a
row's part depends on a hash of its content (and, among equal rows, on its order), so adding or removing a row moves no
other row, and `max_squared_count` bounds how much one row can count. Parts are even only on average.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from comity.core.arrays import Floats
from comity.errors import InputError
from comity.questions import Split
from comity.rows.splits import FOR_RESAMPLES, Splits, check_row_count

Keys = NDArray[np.uint64]
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_COUNT_IN_RESAMPLE = 2.0  # a row counts this often in a resample, or not at all


def row_keys(columns: Sequence[NDArray[np.generic]], seed: int, owner: str) -> Keys:
    """Return a hash of each row's content (n,); `columns` have n entries each, of any shape."""
    start = hashlib.blake2b(json.dumps([seed, owner]).encode(), digest_size=8)
    seen: Counter[bytes] = Counter()
    keys = []
    flat = [np.ascontiguousarray(column) for column in columns]
    for row in range(len(flat[0])):
        content = b"".join(column[row].tobytes() for column in flat)
        digest = start.copy()
        digest.update(content)
        digest.update(seen[content].to_bytes(8, "big"))
        seen[content] += 1
        keys.append(int.from_bytes(digest.digest(), "big"))
    return np.array(keys, np.uint64)


def assign_parts(keys: Keys, parts: int, purpose: int) -> NDArray[np.intp]:
    """Return each row's part (n,), at random by its key and the purpose of the parts."""
    return (_mix(keys, purpose) % np.uint64(parts)).astype(np.intp)


def split_independently(keys: Keys, wanted: Split, owner: str) -> Splits:
    """Return splits as `comity.rows.splits.split_rows` does, but with each row assigned independently.

    In a resample a row counts twice or not at all (Owen and Eckles 2012); it counts twice in half of the resamples.
    """
    check_split(wanted)
    check_row_count(len(keys), wanted, owner)
    folds = [assign_parts(keys, wanted.folds, 1 + repeat) for repeat in range(wanted.repeats)]
    judge = assign_parts(keys, max(wanted.judges, 1), 0)
    return Splits.of(wanted, folds, judge, _resample(keys, wanted.resamples))


def max_squared_count(split: Split, factors: Floats) -> float:
    """Return the largest Σ factors × count² over the views (V,) that a row can have, whatever it contains.

    A row counts once in the first view, once in all but one of the views that leave out a part, and twice in half of
    the resamples.
    """
    check_split(split)
    judged, resampled = factors[1 : 1 + split.judges], np.sort(factors[1 + split.judges :])[::-1]
    left_out = float(judged.min()) if judged.size else 0.0
    half = resampled[: math.ceil(split.resamples / 2)]
    return float(factors[0] + judged.sum() - left_out + _COUNT_IN_RESAMPLE**2 * half.sum())


def check_split(split: Split) -> None:
    """Check the settings of a split, which come with a question from another machine."""
    for name, minimum in (("folds", 1), ("repeats", 1), ("judges", 0), ("resamples", 0)):
        value: object = getattr(split, name)
        if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
            raise InputError(f"{name} of a split is {value!r}; it must be a whole number, {minimum} or more")


def _resample(keys: Keys, resamples: int) -> Floats:
    """Return how often each row counts in each of B resamples (B, n)."""
    if not resamples:
        return np.empty((0, len(keys)))
    bits = np.stack([_mix(keys, FOR_RESAMPLES + number) for number in range(resamples)])
    rank = bits.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable")
    # If their number is odd, half of the rows count in one resample more than the others.
    chosen = (resamples + assign_parts(keys, 2, FOR_RESAMPLES - 1)) // 2
    return np.asarray(_COUNT_IN_RESAMPLE * (rank < chosen))


def _mix(keys: Keys, purpose: int) -> Keys:
    """Return random bits for each key and a purpose (the finaliser of splitmix64)."""
    with np.errstate(over="ignore"):
        mixed = keys + _GOLDEN * np.uint64(purpose + 1)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return mixed ^ (mixed >> np.uint64(31))
