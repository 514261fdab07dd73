"""Rows that are split each by itself, so that no row's place depends on the others.

Even folds (`comity.splits`) move many rows when one is added. With noise that must not be: the place of a row is drawn
by a digest of what is in it, and, of rows that are alike, by which of them it is. So a row more or less changes nothing
for the others, and `most_squares` says how much it can count itself. Parts are even only on average.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from comity.errors import InputError, UnfitError
from comity.questions import Split
from comity.splits import FOR_RESAMPLES, Splits

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_TWICE = 2.0  # a row of a resample counts so often, or not at all


def row_keys(columns: Sequence[NDArray[np.generic]], seed: int, owner: str) -> Keys:
    """Return a number for each row (n,), drawn by what is in the row; `columns` have n entries each, of any shape."""
    begin = hashlib.blake2b(json.dumps([seed, owner]).encode(), digest_size=8)
    seen: Counter[bytes] = Counter()
    keys = []
    flat = [np.ascontiguousarray(column) for column in columns]
    for place in range(len(flat[0])):
        content = b"".join(column[place].tobytes() for column in flat)
        drawn = begin.copy()
        drawn.update(content)
        drawn.update(seen[content].to_bytes(8, "big"))
        seen[content] += 1
        keys.append(int.from_bytes(drawn.digest(), "big"))
    return np.array(keys, np.uint64)


def drawn_parts(keys: Keys, parts: int, purpose: int) -> NDArray[np.intp]:
    """Return a part for each row, at random by its key and by what it is for."""
    return (_mixed(keys, purpose) % np.uint64(parts)).astype(np.intp)


def split_apart(keys: Keys, wanted: Split, owner: str) -> Splits:
    """Return an owner's rows split as `comity.splits.split_rows` does, but each by itself.

    In a resample a row counts twice or not at all (Owen and Eckles 2012), twice in half of them.
    """
    check_split(wanted)
    if len(keys) < max(wanted.folds, wanted.judges):
        raise UnfitError(
            f"client {owner!r} has {len(keys)} rows, too few for {max(wanted.folds, wanted.judges)} parts; "
            "leave it out, or take fewer folds"
        )
    folds = [drawn_parts(keys, wanted.folds, 1 + time) for time in range(wanted.repeats)]
    judge = drawn_parts(keys, max(wanted.judges, 1), 0)
    views = [np.ones(len(keys)), *((judge != part).astype(np.float64) for part in range(wanted.judges))]
    masks = [(each == fold).astype(np.float64) for each in folds for fold in range(wanted.folds)]
    return Splits(np.stack([*views, *_resampled(keys, wanted.resamples)]), np.stack(masks), judge)


def most_squares(split: Split, times: Floats) -> float:
    """Return the most that Σ times × count² over the views (V,) can be for a row, whatever is in it.

    A row is in the first view, in all but one of those that leave out a part, and twice in half of the resamples.
    """
    check_split(split)
    judged, drawn = times[1 : 1 + split.judges], np.sort(times[1 + split.judges :])[::-1]
    left = float(judged.min()) if judged.size else 0.0
    half = drawn[: math.ceil(split.resamples / 2)]
    return float(times[0] + judged.sum() - left + _TWICE**2 * half.sum())


def check_split(split: Split) -> None:
    """Check the settings of a split, which come from whoever asks."""
    for name, least in (("folds", 1), ("repeats", 1), ("judges", 0), ("resamples", 0)):
        value: object = getattr(split, name)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InputError(f"{name} of a split is {value!r}; it must be a whole number, {least} or more")


def _resampled(keys: Keys, resamples: int) -> Floats:
    """Return how often each row counts in each of the resamples (R, n)."""
    if not resamples:
        return np.empty((0, len(keys)))
    drawn = np.stack([_mixed(keys, FOR_RESAMPLES + number) for number in range(resamples)])
    rank = drawn.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable")
    # Of an odd number, half of the rows have the smaller half.
    chosen = (resamples + drawn_parts(keys, 2, FOR_RESAMPLES - 1)) // 2
    return np.asarray(_TWICE * (rank < chosen))


def _mixed(keys: Keys, purpose: int) -> Keys:
    """Return random bits for each key and a purpose (the finaliser of splitmix64)."""
    with np.errstate(over="ignore"):
        mixed = keys + _GOLDEN * np.uint64(purpose + 1)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return mixed ^ (mixed >> np.uint64(31))
