"""How a client splits its rows: into views, folds and parts that judge (`Split`)."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from comity.errors import UnfitError
from comity.questions import Split

Floats = NDArray[np.float64]
FOR_RESAMPLES, FOR_ERRORS = 1_000_001, 1_000_002  # purposes of random numbers, past all times of folds


@dataclass(frozen=True, slots=True, eq=False)
class Splits:
    """A client's rows split (`Split`): how often each counts in each view (V, n), folds (K, n), and its judge (n,)."""

    counts: Floats
    masks: Floats
    judge: NDArray[np.intp]


def split_rows(strata: Floats, wanted: Split, owner: str) -> Splits:
    """Return an owner's rows split, those of each stratum (n,) evenly."""
    count = len(strata)
    if count < max(wanted.folds, wanted.judges):
        raise UnfitError(
            f"client {owner!r} has {count} rows, too few for {max(wanted.folds, wanted.judges)} parts; "
            "leave it out, or take fewer folds"
        )
    folds = [assign_folds(strata, wanted.folds, wanted.seed, owner, 1 + time) for time in range(wanted.repeats)]
    # Judges are dealt within the folds, and resamples drawn within them, so that no fold of a view is empty.
    cells = strata * wanted.folds + folds[0]
    judge = assign_folds(cells, max(wanted.judges, 1), wanted.seed, owner)
    views = [np.ones(count), *((judge != part).astype(np.float64) for part in range(wanted.judges))]
    generator = generator_for(wanted.seed, owner, FOR_RESAMPLES)
    views += [_drawn(generator, folds[0], wanted.folds) for _ in range(wanted.resamples)]
    masks = [(each == fold).astype(np.float64) for each in folds for fold in range(wanted.folds)]
    return Splits(np.stack(views), np.stack(masks), judge)


def _drawn(generator: np.random.Generator, folds: NDArray[np.intp], count: int) -> Floats:
    """Return how often each row is drawn, with replacement, as many in each fold as there are."""
    counts = np.zeros(folds.size)
    for fold in range(count):
        here = np.flatnonzero(folds == fold)
        counts[here] = generator.multinomial(here.size, np.full(here.size, 1 / max(here.size, 1)))
    return counts


def assign_folds(strata: Floats, folds: int, seed: int, name: str, time: int = 0) -> NDArray[np.intp]:
    """Return each row's fold, in an order that the seed, the client's name and the time determine.

    Folds are as even as can be, and so are the rows of each stratum (the classes, for one) in them.

    >>> assign_folds(np.array([0, 0, 0, 1, 1, 1, 0]), 3, seed=0, name="a")
    array([2, 1, 0, 1, 0, 2, 0])
    """
    order = generator_for(seed, name, time).permutation(strata.size)
    order = order[np.argsort(strata[order], kind="stable")]
    assigned = np.empty(strata.size, np.intp)
    assigned[order] = np.arange(strata.size) % folds
    return assigned


def generator_for(seed: int, name: str, purpose: int) -> np.random.Generator:
    """Return the random numbers of a client for one purpose."""
    return np.random.default_rng([seed, zlib.crc32(name.encode()), purpose])
