"""How a client splits its rows into views, folds and parts that evaluate (`Split`).

Without noise, folds are as even as possible (`split_rows`). With noise, each row is assigned by itself
(`split_independently`): even folds move many rows when one is added, which would make the sensitivity unbounded. The
part of a row then depends on a hash of its content (and, among equal rows, on its order), so that adding or removing a
row moves no other row, and `max_squared_count` bounds how much one row can count. Such parts are even only on average.

Rows of one group, such as those of one patient, are always in the same part.
"""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from comity.core.arrays import Floats
from comity.core.likelihood import Dealing
from comity.core.text import count
from comity.errors import InputError, UnfitError
from comity.questions import Split

Keys = NDArray[np.uint64]
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_COUNT_IN_RESAMPLE = 2.0  # a row counts this often in a resample, or not at all
FOR_RESAMPLES, FOR_ERRORS = 1_000_001, 1_000_002  # purposes of random numbers; smaller ones are repeats of folds


@dataclass(frozen=True, slots=True, eq=False)
class Splits:
    """A client's n rows, split as a `Split` with V views describes.

    `counts` (V, n) says how often each row counts in each view, `masks` (K, n) is 1 for the rows of each of the K folds
    of all repeats, and `judge` (n,) is the part in which each row evaluates models that were trained without it.
    """

    counts: Floats
    masks: Floats
    judge: NDArray[np.intp]

    @classmethod
    def of(
        cls, split: Split, folds: Sequence[NDArray[np.intp]], judge: NDArray[np.intp], resamples: Iterable[Floats]
    ) -> Splits:
        """Return the splits by the fold of each row in every repeat, its part that evaluates, and the resamples."""
        views = [np.ones(len(judge)), *((judge != part).astype(np.float64) for part in range(split.judges))]
        masks = [(assigned == fold).astype(np.float64) for assigned in folds for fold in range(split.folds)]
        return cls(np.stack([*views, *resamples]), np.stack(masks), judge)

    @classmethod
    def dealt(cls, split: Split, part: NDArray[np.intp]) -> Splits:
        """Return rows that are dealt once, each into a part (n,) that is its fold and evaluates what others train."""
        return cls.of(split, [part], part, ())


def split_rows(
    strata: Floats,
    split: Split,
    owner: str,
    groups: Keys | None = None,
    max_parts: int | None = None,
    dealing: Dealing = Dealing(),  # noqa: B008 - it cannot be changed
) -> Splits:
    """Return the splits of an owner's rows; the rows of each stratum (n,) are spread evenly, and groups (n,) kept.

    Rows that are dealt once are dealt as `dealing` says, into `max_parts` parts at most where there is a limit.
    """
    _check_split(split)
    seed = split.seed
    if not split.judges:
        parts = min(split.folds, len(strata) // dealing.least)
        parts = parts if dealing.most is None else min(parts, dealing.most)
        if groups is not None:  # below a limit no part is one group
            parts = min(parts, np.unique(groups).size // (1 if max_parts is None else 2))
        parts = parts if max_parts is None else min(parts, max_parts)
        # With a limit to the parts they are even: a class that is rare in a part may not be told.
        dealt = strata if max_parts is not None or dealing.evenly else np.zeros_like(strata)
        return Splits.dealt(split, assign_folds(dealt, max(parts, 1), seed, owner, 1, groups))
    _check_row_count(len(strata), split, owner, groups)
    folds = [assign_folds(strata, split.folds, seed, owner, 1 + repeat, groups) for repeat in range(split.repeats)]
    # Parts that evaluate and resamples are drawn within the folds, so that no fold of a view is empty.
    cells = strata * split.folds + folds[0]
    judge = assign_folds(cells, split.judges, seed, owner, groups=groups)
    generator = generator_for(seed, owner, FOR_RESAMPLES)
    resamples = [_resample_within(generator, folds[0], split.folds) for _ in range(split.resamples)]
    return Splits.of(split, folds, judge, resamples)


def _check_row_count(rows: int, split: Split, owner: str, groups: Keys | None) -> None:
    """Refuse a split into more parts than there are rows, or groups of rows."""
    parts = max(split.folds, split.judges)
    found = rows if groups is None else np.unique(groups).size
    if found < parts:
        noun = count(found, "row") if groups is None else f"{count(found, 'group')} of rows"
        raise UnfitError(f"client {owner!r} has {noun}, too few for {parts} parts; leave it out, or take fewer folds")


def _resample_within(generator: np.random.Generator, folds: NDArray[np.intp], count: int) -> Floats:
    """Return how often each row is drawn when every fold is resampled with replacement to its own size."""
    counts = np.zeros(folds.size)
    for fold in range(count):
        here = np.flatnonzero(folds == fold)
        counts[here] = generator.multinomial(here.size, np.full(here.size, 1 / max(here.size, 1)))
    return counts


def assign_folds(
    strata: Floats, folds: int, seed: int, name: str, repeat: int = 0, groups: Keys | None = None
) -> NDArray[np.intp]:
    """Return each row's fold (n,), at random by the seed, the client's name and the repeat.

    Folds are as even as possible, and so are the rows of each stratum (such as a class) in them. Rows with the same
    entry in `groups` (n,) are in the same fold: then folds are only about as even as the groups allow.

    >>> assign_folds(np.array([0, 0, 0, 1, 1, 1, 0]), 3, seed=0, name="a")
    array([2, 1, 0, 1, 0, 2, 0])
    >>> assign_folds(np.zeros(6), 2, seed=0, name="a", groups=np.array([5, 5, 5, 7, 8, 9], np.uint64))
    array([0, 0, 0, 1, 1, 1])
    """
    generator = generator_for(seed, name, repeat)
    if groups is not None:
        return _assign_groups(strata, folds, generator, groups)
    order = generator.permutation(strata.size)
    order = order[np.argsort(strata[order], kind="stable")]
    assigned = np.empty(strata.size, np.intp)
    assigned[order] = np.arange(strata.size) % folds
    return assigned


def _assign_groups(strata: Floats, folds: int, generator: np.random.Generator, groups: Keys) -> NDArray[np.intp]:
    """Return each row's fold: groups come in the order of their size, each to the fold that has least of its strata.

    Least is the scalar product of the rows of each stratum in the group and in the fold: so grows Σ rows² slowest. Of
    equal folds it is the one with the fewest rows.
    """
    _, stratum = np.unique(strata, return_inverse=True)
    _, group = np.unique(groups, return_inverse=True)
    rows = np.zeros((int(group.max(initial=-1)) + 1, int(stratum.max(initial=-1)) + 1))
    np.add.at(rows, (group, stratum), 1.0)
    order = generator.permutation(len(rows))
    order = order[np.argsort(-rows[order].sum(axis=1), kind="stable")]
    filled = np.zeros((folds, rows.shape[1]))
    assigned = np.empty(len(rows), np.intp)
    for each in order:
        assigned[each] = np.lexsort((filled.sum(axis=1), filled @ rows[each]))[0]
        filled[assigned[each]] += rows[each]
    return assigned[group]


def generator_for(seed: int, name: str, purpose: int) -> np.random.Generator:
    """Return the random generator of a client for one purpose."""
    return np.random.default_rng([seed, zlib.crc32(name.encode()), purpose])


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


def group_keys(groups: Keys, seed: int, owner: str) -> Keys:
    """Return a hash of each row's group (n,), which assigns all its rows to the same part."""
    distinct, places = np.unique(groups, return_inverse=True)
    return row_keys((distinct,), seed, owner)[places]


def split_independently(keys: Keys, split: Split, owner: str, groups: Keys | None = None) -> Splits:
    """Return splits as `split_rows` does, but with each row assigned independently; rows of a group have one key.

    In a resample a row counts twice or not at all (Owen and Eckles 2012); it counts twice in half of the resamples.
    """
    _check_split(split)
    folds = [assign_parts(keys, split.folds, 1 + repeat) for repeat in range(split.repeats)]
    if not split.judges:
        return Splits.dealt(split, folds[0])
    _check_row_count(len(keys), split, owner, groups)
    judge = assign_parts(keys, split.judges, 0)
    return Splits.of(split, folds, judge, _resample(keys, split.resamples))


def max_squared_count(split: Split, factors: Floats) -> float:
    """Return the largest Σ factors × count² over the views (V,) that a row can have, whatever it contains.

    A row counts once in the first view, once in all but one of the views that leave out a part, and twice in half of
    the resamples.
    """
    _check_split(split)
    judged, resampled = factors[1 : 1 + split.judges], np.sort(factors[1 + split.judges :])[::-1]
    left_out = float(judged.min()) if judged.size else 0.0
    half = resampled[: math.ceil(split.resamples / 2)]
    return float(factors[0] + judged.sum() - left_out + _COUNT_IN_RESAMPLE**2 * half.sum())


def _check_split(split: Split) -> None:
    """Check the settings of a split, which come with a question from another machine."""
    for name, minimum in (("folds", 1), ("repeats", 1), ("judges", 0), ("resamples", 0)):
        value: object = getattr(split, name)
        if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
            raise InputError(f"{name} of a split is {value!r}; it must be a whole number, {minimum} or more")
    if not split.judges and (split.repeats > 1 or split.resamples):
        raise InputError("without judges, rows are dealt once: a split has one repeat and no resamples then")


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
