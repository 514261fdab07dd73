"""Rows of one group are never split: whatever the classes, the folds and the noise."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from comity.questions import Split
from comity.rows.splits import Splits, assign_folds, group_keys, split_independently, split_rows


@st.composite
def grouped_rows(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the stratum and the group of each row, and a number of parts that is no more than that of the groups."""
    sizes = draw(st.lists(st.integers(1, 6), min_size=2, max_size=20))
    groups = np.repeat(np.arange(len(sizes), dtype=np.uint64), sizes)
    strata = np.array(draw(st.lists(st.integers(0, 3), min_size=len(groups), max_size=len(groups))), np.float64)
    order = np.random.default_rng(draw(st.integers(0, 99))).permutation(len(groups))
    return strata, groups[order], draw(st.integers(2, len(sizes)))


def keeps(groups: np.ndarray, parts: np.ndarray) -> bool:
    return len({*zip(groups.tolist(), parts.tolist(), strict=True)}) == len(set(groups.tolist()))


def check(splits: Splits, groups: np.ndarray, split: Split) -> None:
    assert keeps(groups, splits.judge)
    for masks in splits.masks.reshape(split.repeats, split.folds, -1):
        assert keeps(groups, masks.argmax(axis=0))
    for view in splits.counts[: 1 + split.judges]:
        assert keeps(groups, view), "a group is left out whole"


@given(rows=grouped_rows(), seed=st.integers(0, 99))
def test_no_group_is_in_two_folds(rows: tuple[np.ndarray, np.ndarray, int], seed: int) -> None:
    strata, groups, parts = rows
    split = Split(folds=parts, repeats=2, judges=parts, resamples=1, seed=seed)
    check(split_rows(strata, split, "a", groups), groups, split)
    check(split_independently(group_keys(groups, seed, "a"), split, "a", groups), groups, split)


@given(rows=grouped_rows(), seed=st.integers(0, 99))
def test_folds_of_groups_are_not_empty_and_about_even(rows: tuple[np.ndarray, np.ndarray, int], seed: int) -> None:
    _, groups, parts = rows
    sizes = np.bincount(assign_folds(np.zeros(len(groups)), parts, seed, "a", groups=groups), minlength=parts)
    assert sizes.min() > 0
    assert np.ptp(sizes) <= np.bincount(groups.astype(int)).max(), "no more than a group could mend"


@given(rows=grouped_rows(), seed=st.integers(0, 99))
def test_groups_of_one_row_are_spread_by_class(rows: tuple[np.ndarray, np.ndarray, int], seed: int) -> None:
    strata, _, parts = rows
    groups = np.arange(len(strata), dtype=np.uint64)
    folds = assign_folds(strata, parts, seed, "a", groups=groups)
    for stratum in np.unique(strata):
        assert np.ptp(np.bincount(folds[strata == stratum], minlength=parts)) <= 1
