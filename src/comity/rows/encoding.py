"""Rows as numbers: summaries of columns for agreeing on a schema, and the encoding that a schema prescribes."""

from dataclasses import replace

import numpy as np
import pandas as pd

from comity.core.arrays import Floats
from comity.core.names import shown
from comity.errors import InputError, UnfitError
from comity.questions.schema import ColumnSummary, NumberColumn, Schema

_ALWAYS_LISTED = 2  # so few distinct values are listed whatever the number of rows
WITH_COMMA = r"\s*[+-]?\d+,\d+\s*"
_MAX_NUMBERS_AMONG_TEXT = 20  # with more, it is a column of numbers with some text by mistake


def summarise(rows: pd.DataFrame, target: str, classes: bool, most_levels: int) -> tuple[ColumnSummary, ...]:
    """Return a summary of every column; `Describe` defines which of them list their distinct values."""
    max_numbers = {target: most_levels if classes else _ALWAYS_LISTED}
    return tuple(_summarise(name, rows[name], max_numbers.get(name, 0), most_levels) for name in rows.columns)


def _summarise(name: str, values: pd.Series, max_numbers: int, max_texts: int) -> ColumnSummary:
    """Return the summary of a column; distinct numbers or texts are listed up to their limit."""
    present = values.dropna()
    distinct = int(present.nunique())
    summary = ColumnSummary(name, "empty", len(present), len(values) - len(present), distinct)
    if not len(present):
        return summary
    numbers = _numbers(present)
    if numbers is None:
        texts = present.map(str)
        readable, with_comma = pd.to_numeric(texts, errors="coerce").notna(), texts.str.fullmatch(WITH_COMMA)
        listed = _may_list(distinct, present, max_texts) and texts[readable].nunique() <= _MAX_NUMBERS_AMONG_TEXT
        # Codes such as 12e4 among many texts are not numbers; a few texts among many numbers are a mistake.
        mixed = readable.any() if listed else 2 * readable.sum() >= len(texts)
        return replace(
            summary,
            kind="mixed" if mixed else "text",
            levels=_levels(present) if listed else None,
            commas=bool(with_comma.any() and (readable | with_comma).all()),
        )
    finite = numbers[np.isfinite(numbers)]
    with np.errstate(over="ignore"):  # values too large to compute with are reported when a schema is agreed
        mean = float(finite.mean()) if finite.size else 0.0
        squares = float(((finite - mean) ** 2).sum())
    return replace(
        summary,
        kind="number",
        whole=bool((finite == np.round(finite)).all()),
        infinite=int(numbers.size - finite.size),
        mean=mean,
        squares=squares,
        levels=_levels(present) if max_numbers and _may_list(distinct, present, max_numbers) else None,
    )


def _may_list(distinct: int, present: pd.Series, limit: int) -> bool:
    """Return whether distinct values may be listed: at most two, or within the limit and with two rows on average."""
    return distinct <= max(_ALWAYS_LISTED, min(limit, len(present) // 2))


def _levels(present: pd.Series) -> dict[str, int]:
    return {level_of(level): int(count) for level, count in present.value_counts().items()}


def level_of(value: object) -> str:
    """Return a value as the name of a level or class; whole numbers have no decimal point."""
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _numbers(values: pd.Series) -> Floats | None:
    """Return values as floats if all of them are numbers (or true or false), else None."""
    if values.dtype == bool or pd.api.types.is_numeric_dtype(values):
        return np.asarray(values, np.float64)
    read = pd.to_numeric(values, errors="coerce")
    return None if read.isna().any() else np.asarray(read, np.float64)


def encode(rows: pd.DataFrame, schema: Schema) -> Floats:
    """Return the feature matrix (n, d) of n rows; the last column is ones, for the intercept.

    A level that is not in the schema is encoded as zeros in the columns of all levels.
    """
    parts = []
    for column in schema.columns:
        if column.name not in rows.columns:
            raise UnfitError(f"there is no column {column.name!r}, which the models need")
        values = rows[column.name]
        missing = values.isna().to_numpy()
        if isinstance(column, NumberColumn):
            encoded = _standardise(values, column)[:, None]
        else:
            codes = pd.Index(column.levels).get_indexer(values.map(level_of))
            encoded = (codes[:, None] == np.arange(len(column.levels))).astype(np.float64)
        encoded[missing] = 0.0
        parts.append(encoded)
        if column.indicator:
            parts.append(missing[:, None].astype(np.float64))
    parts.append(np.ones((len(rows), 1)))
    return np.concatenate(parts, axis=1)


def _standardise(values: pd.Series, column: NumberColumn) -> Floats:
    """Return (x - mean) / scale for each value x, which may be missing but must be a finite number otherwise."""
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(np.float64)
    bad = ~np.isfinite(numbers) & values.notna().to_numpy()
    if bad.any():
        found = level_of(values[bad].iloc[0])
        raise InputError(f"column {column.name!r} has {shown(found)}, which is not a finite number; mend it")
    return np.asarray((numbers - column.mean) / column.scale)


def encode_target(rows: pd.DataFrame, schema: Schema) -> Floats:
    """Return the target of n rows (n,): standardised numbers, or the position of each row's class in the schema."""
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
