"""How a client splits its rows into views, folds and parts that evaluate (`Split`)."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from comity.core.arrays import Floats
from comity.errors import UnfitError
from comity.questions import Split

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
        cls, wanted: Split, folds: Sequence[NDArray[np.intp]], judge: NDArray[np.intp], resamples: Iterable[Floats]
    ) -> Splits:
        """Return the splits by the fold of each row in every repeat, its part that evaluates, and the resamples."""
        views = [np.ones(len(judge)), *((judge != part).astype(np.float64) for part in range(wanted.judges))]
        masks = [(assigned == fold).astype(np.float64) for assigned in folds for fold in range(wanted.folds)]
        return cls(np.stack([*views, *resamples]), np.stack(masks), judge)


def split_rows(strata: Floats, wanted: Split, owner: str) -> Splits:
    """Return the splits of an owner's rows; the rows of each stratum (n,) are spread evenly."""
    check_row_count(len(strata), wanted, owner)
    folds = [assign_folds(strata, wanted.folds, wanted.seed, owner, 1 + repeat) for repeat in range(wanted.repeats)]
    # Parts that evaluate and resamples are drawn within the folds, so that no fold of a view is empty.
    cells = strata * wanted.folds + folds[0]
    judge = assign_folds(cells, max(wanted.judges, 1), wanted.seed, owner)
    generator = generator_for(wanted.seed, owner, FOR_RESAMPLES)
    resamples = [_resample_within(generator, folds[0], wanted.folds) for _ in range(wanted.resamples)]
    return Splits.of(wanted, folds, judge, resamples)


def check_row_count(rows: int, wanted: Split, owner: str) -> None:
    """Refuse a split into more parts than there are rows."""
    parts = max(wanted.folds, wanted.judges)
    if rows < parts:
        raise UnfitError(
            f"client {owner!r} has {rows} rows, too few for {parts} parts; leave it out, or take fewer folds"
        )


def _resample_within(generator: np.random.Generator, folds: NDArray[np.intp], count: int) -> Floats:
    """Return how often each row is drawn when every fold is resampled with replacement to its own size."""
    counts = np.zeros(folds.size)
    for fold in range(count):
        here = np.flatnonzero(folds == fold)
        counts[here] = generator.multinomial(here.size, np.full(here.size, 1 / max(here.size, 1)))
    return counts


def assign_folds(strata: Floats, folds: int, seed: int, name: str, repeat: int = 0) -> NDArray[np.intp]:
    """Return each row's fold (n,), at random by the seed, the client's name and the repeat.

    Folds are as even as possible, and so are the rows of each stratum (such as a class) in them.

    >>> assign_folds(np.array([0, 0, 0, 1, 1, 1, 0]), 3, seed=0, name="a")
    array([2, 1, 0, 1, 0, 2, 0])
    """
    order = generator_for(seed, name, repeat).permutation(strata.size)
    order = order[np.argsort(strata[order], kind="stable")]
    assigned = np.empty(strata.size, np.intp)
    assigned[order] = np.arange(strata.size) % folds
    return assigned


def generator_for(seed: int, name: str, purpose: int) -> np.random.Generator:
    """Return the random generator of a client for one purpose."""
    return np.random.default_rng([seed, zlib.crc32(name.encode()), purpose])
