"""Columns that give the target away, found where the tables are read.

A column leaks if it alone predicts the target almost perfectly:

- a number leaks a number if their squared correlation within clients is above 0.98;
- a number leaks classes if, of each two classes that are neighbours by its mean, the rows of one have larger values
  than those of the other in 99.5 % of the pairs of rows of a client;
- text leaks if its levels, with ten rows each on average, leave less than 2 % of the variance of a number, or of the
  errors of always predicting the most frequent class.

There are measurements that are as strong as this, but they are rare: it is a warning, and the column is used.
"""

from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from comity.client import Client
from comity.core.arrays import Floats
from comity.rows.columns import days, typed

_MIN_SQUARED_CORRELATION = 0.98
_MIN_AUC = 0.995
_MIN_ROWS = 20  # with fewer, chance may do it
_MIN_ROWS_OF_CLASS = 10
_MIN_ROWS_OF_LEVEL = 10  # on average
_MAX_ROWS = 100_000  # of large tables, so many rows are looked at

Codes = NDArray[np.intp]


def leaking_columns(
    clients: Sequence[Client], target: str, *, classes: bool = False, beside: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the columns that alone predict the target almost perfectly.

    Args:
        clients: Clients with tables that have been read.
        target: The column to predict.
        classes: Whether its numbers are classes.
        beside: Columns that belong to it, and are left out.

    >>> frame = pd.DataFrame({"y": np.arange(40.0) ** 2, "half": np.arange(40.0) ** 2 / 2, "x": np.arange(40) % 7})
    >>> leaking_columns([Client("a", frame[::2]), Client("b", frame[1::2])], "y")
    ('half',)
    """
    if not all(target in client.rows.columns for client in clients):
        return ()
    names = [name for name in clients[0].rows.columns if name not in (target, *beside)]
    step = sum(len(client.rows) for client in clients) // _MAX_ROWS + 1
    parts = [client.rows.iloc[::step] for client in clients]
    owners = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    outcome = _column(parts, target)
    values: NDArray[Any]
    predicts: Callable[[pd.Series, NDArray[Any], Codes], bool]
    if classes or isinstance(outcome.dtype, pd.CategoricalDtype) or outcome.nunique() <= 2:
        values, predicts = pd.factorize(outcome)[0], _predicts_class
    else:
        values, predicts = np.asarray(outcome, np.float64), _predicts_number
    known = _usable(outcome)
    found = []
    for name in names:
        if all(name in part.columns for part in parts):
            column = _column(parts, name)
            here = known & _usable(column)
            if here.sum() >= _MIN_ROWS and predicts(column[here], values[here], owners[here]):
                found.append(name)
    return tuple(found)


def _column(parts: Sequence[pd.DataFrame], name: str) -> pd.Series:
    """Return a column of all clients: numbers, dates as days, or text as a categorical."""
    values = typed(pd.concat([part[name] for part in parts], ignore_index=True))
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values
    numbers = days(values) if pd.api.types.is_datetime64_any_dtype(values) else values.astype(np.float64)
    return pd.Series(numbers)


def _usable(values: pd.Series) -> NDArray[np.bool_]:
    """Return which values are neither missing nor infinite."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        return np.asarray(values.notna(), np.bool_)
    return np.asarray(np.isfinite(values), np.bool_)


def _predicts_number(column: pd.Series, target: Floats, owners: Codes) -> bool:
    if isinstance(column.dtype, pd.CategoricalDtype):
        levels = pd.factorize(column)[0]
        few = (levels.max() + 1) * _MIN_ROWS_OF_LEVEL <= levels.size
        return few and _unexplained(target, levels) < (1 - _MIN_SQUARED_CORRELATION) * _unexplained(target, levels * 0)
    x, y = _centred(np.asarray(column, np.float64), owners), _centred(target, owners)
    return bool((x @ y) ** 2 > _MIN_SQUARED_CORRELATION * (x @ x) * (y @ y) > 0)


def _unexplained(target: Floats, levels: Codes) -> float:
    return float((_centred(target, levels) ** 2).sum())


def _centred(values: Floats, owners: Codes) -> Floats:
    """Return values less the mean of their owner."""
    return np.asarray(values - (np.bincount(owners, values) / np.maximum(np.bincount(owners), 1))[owners])


def _predicts_class(column: pd.Series, target: Codes, owners: Codes) -> bool:
    counts = np.bincount(target)
    if (counts > 0).sum() < 2 or counts[counts > 0].min() < _MIN_ROWS_OF_CLASS:
        return False
    if isinstance(column.dtype, pd.CategoricalDtype):
        levels = pd.factorize(column)[0]
        table = np.zeros((levels.max() + 1, len(counts)))
        np.add.at(table, (levels, target), 1)
        errors, blind = levels.size - table.max(axis=1).sum(), levels.size - counts.max()
        return bool(len(table) * _MIN_ROWS_OF_LEVEL <= levels.size and errors < (1 - _MIN_SQUARED_CORRELATION) * blind)
    values = np.asarray(column, np.float64)
    means = np.bincount(target, values) / np.maximum(counts, 1)
    order = [each for each in np.argsort(means) if counts[each]]
    return all(_separates(values, target, owners, *pair) for pair in pairwise(order))


def _separates(values: Floats, target: Codes, owners: Codes, low: int, high: int) -> bool:
    """Return whether rows of one class have larger values than those of another, within nearly all clients' pairs."""
    here = (target == low) | (target == high)
    frame = pd.DataFrame({"owner": owners[here], "value": values[here], "high": target[here] == high})
    frame["rank"] = frame.groupby("owner")["value"].rank()
    of_high = frame[frame["high"]].groupby("owner")["rank"].agg(["sum", "size"])
    lows = frame.groupby("owner").size().reindex(of_high.index) - of_high["size"]
    pairs = (of_high["size"] * lows).sum()
    right = (of_high["sum"] - of_high["size"] * (of_high["size"] + 1) / 2).sum()
    return bool(pairs >= _MIN_ROWS and right > _MIN_AUC * pairs)
