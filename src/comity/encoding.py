"""Rows in, summaries and numbers out: the client's side of the schema. With `client`, the only code that sees rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from comity.core import shown
from comity.errors import InputError, UnfitError
from comity.likelihood import LogLoss
from comity.schema import CategoryColumn, ColumnSummary, NumberColumn, Schema, Target

Floats = NDArray[np.float64]
_A_PAIR = 2
_WITH_COMMA = r"\s*[+-]?\d+,\d+\s*"
_MOST_NUMBERS_AMONG_TEXT = 20  # with more of them, a column of numbers has some text by mistake


def summarise(rows: pd.DataFrame, target: str, classes: bool, most_levels: int) -> tuple[ColumnSummary, ...]:
    """Return a summary of every column; which values are told is said by `Describe`."""
    most_numbers = {target: most_levels if classes else _A_PAIR}
    return tuple(_summarise(name, rows[name], most_numbers.get(name, 0), most_levels) for name in rows.columns)


def _summarise(name: str, values: pd.Series, most_numbers: int, most_texts: int) -> ColumnSummary:
    """Return the summary of a column; different numbers are told up to one limit, different texts up to another."""
    present = values.dropna()
    distinct = int(present.nunique())
    summary = ColumnSummary(name, "empty", len(present), len(values) - len(present), distinct)
    if not len(present):
        return summary
    numbers = _numbers(present)
    if numbers is None:
        texts = present.map(str)
        readable = pd.to_numeric(texts, errors="coerce").notna()
        told = _few(distinct, present, most_texts) and texts[readable].nunique() <= _MOST_NUMBERS_AMONG_TEXT
        # Codes such as 12e4 among many texts are no numbers; some text among many numbers is a slip.
        mixed = readable.any() if told else 2 * readable.sum() >= len(texts)
        return replace(
            summary,
            kind="mixed" if mixed else "text",
            levels=_levels(present) if told else None,
            commas=bool(texts.str.fullmatch(_WITH_COMMA).any() and (readable | texts.str.fullmatch(_WITH_COMMA)).all()),
        )
    finite = numbers[np.isfinite(numbers)]
    with np.errstate(over="ignore"):  # what is too large to compute with is said when a schema is agreed
        mean = float(finite.mean()) if finite.size else 0.0
        squares = float(((finite - mean) ** 2).sum())
    return replace(
        summary,
        kind="number",
        whole=bool((finite == np.round(finite)).all()),
        infinite=int(numbers.size - finite.size),
        mean=mean,
        squares=squares,
        levels=_levels(present) if most_numbers and _few(distinct, present, most_numbers) else None,
    )


def _few(distinct: int, present: pd.Series, most: int) -> bool:
    """Tell whether different values are few enough to be told: two, or so many that each has two rows on average."""
    return distinct <= max(_A_PAIR, min(most, len(present) // 2))


def _levels(present: pd.Series) -> dict[str, int]:
    return {level_of(level): int(count) for level, count in present.value_counts().items()}


def level_of(value: object) -> str:
    """Write a value as the name of a level or class: whole numbers without a decimal point."""
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _numbers(values: pd.Series) -> Floats | None:
    """Return values as floats if every one is a number (or true or false), else None."""
    if values.dtype == bool or pd.api.types.is_numeric_dtype(values):
        return np.asarray(values, np.float64)
    read = pd.to_numeric(values, errors="coerce")
    return None if read.isna().any() else np.asarray(read, np.float64)


def encode(rows: pd.DataFrame, schema: Schema) -> Floats:
    """Return the features of rows and a last column of ones, (n, d).

    A level that the schema does not know becomes zeros in every level's column.
    """
    parts = []
    for column in schema.columns:
        if column.name not in rows.columns:
            raise UnfitError(f"there is no column {column.name!r}, which the models need")
        parts.append((_encode_number if isinstance(column, NumberColumn) else _encode_category)(rows, column))
    parts.append(np.ones((len(rows), 1)))
    return np.concatenate(parts, axis=1)


def _encode_number(rows: pd.DataFrame, column: NumberColumn | CategoryColumn) -> Floats:
    assert isinstance(column, NumberColumn)
    values = rows[column.name]
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(np.float64)
    unreadable = np.isnan(numbers) & values.notna().to_numpy()
    if unreadable.any() or np.isinf(numbers).any():
        bad = level_of(values[unreadable | np.isinf(numbers)].iloc[0])
        raise InputError(f"column {column.name!r} has {shown(bad)}, which is not a finite number; mend it")
    missing = np.isnan(numbers)
    standard = np.where(missing, 0.0, (numbers - column.mean) / column.scale)
    return np.column_stack([standard, missing.astype(np.float64)]) if column.indicator else standard[:, None]


def _encode_category(rows: pd.DataFrame, column: NumberColumn | CategoryColumn) -> Floats:
    assert isinstance(column, CategoryColumn)
    values = rows[column.name]
    missing = values.isna().to_numpy()
    codes = pd.Index(column.levels).get_indexer(values.map(level_of))
    encoded = (codes[:, None] == np.arange(len(column.levels))).astype(np.float64)
    encoded[missing] = 0.0
    return np.column_stack([encoded, missing.astype(np.float64)]) if column.indicator else np.asarray(encoded)


def encode_target(rows: pd.DataFrame, schema: Schema) -> Floats:
    """Return the target of rows (n,): standardised numbers, or the position of each row's class."""
    target = schema.target
    if target.task == "classes":
        codes = pd.Index(target.classes).get_indexer(rows[target.name].map(level_of))
        if (codes < 0).any():
            bad = level_of(rows[target.name][codes < 0].iloc[0])
            raise InputError(
                f"the target {target.name!r} has {shown(bad)}, which is none of {', '.join(target.classes)}"
            )
        return np.asarray(codes, np.float64)
    numbers = np.asarray(pd.to_numeric(rows[target.name], errors="coerce"), np.float64)
    if not np.isfinite(numbers).all():
        raise InputError(f"the target {target.name!r} has a value that is not a finite number; mend it")
    return (numbers - target.mean) / target.scale


def predict(features: Floats, target: Target, parameters: Floats) -> Floats:
    """Return what a model (d,) predicts of features (n, f): values (n,) as given, or probabilities (n, C)."""
    if target.task == "regression":
        return np.asarray(features @ parameters * target.scale + target.mean)
    share = LogLoss(features, np.empty(0), len(target.classes)).probabilities(parameters)
    return np.column_stack([1 - share, share]) if share.shape[1] == 1 else share
