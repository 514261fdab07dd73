"""Rows as numbers: summaries of columns for agreeing on a schema, and the encoding that a schema prescribes."""

import re
from collections.abc import Collection
from dataclasses import replace

import numpy as np
import pandas as pd

from comity.core.arrays import Booleans, Floats
from comity.core.names import shown
from comity.errors import InputError, UnfitError
from comity.questions.schema import ColumnSummary, DateColumn, Look, NumberColumn, Schema
from comity.questions.summaries import sign_of
from comity.questions.targets import EVENT
from comity.rows.columns import days, level_of, read_date, typed

_ALWAYS_LISTED = 2  # so few distinct values are listed whatever the number of rows
_CLASSES_ALWAYS_LISTED = 20  # a client with few rows may have each class once
WITH_COMMA = r"\s*[+-]?\d+,\d+\s*"
_MAX_NUMBERS_AMONG_TEXT = 20  # with more, it is a column of numbers with some text by mistake
_MIN_WORDS_OF_FREE_TEXT = 4  # on average
_SLASH_DATE = r"\s*\d\d?[/-]\d\d?[/-]\d{2,4}\b.*"


def summarise(
    rows: pd.DataFrame,
    target: str,
    classes: bool,
    most_levels: int,
    categories: Collection[str] = (),
    listed: Collection[str] = (),
) -> tuple[ColumnSummary, ...]:
    """Return a summary of every column; `Describe` defines which of them list their distinct values.

    Columns of text that are `listed` do so however few rows there are, up to `most_levels` values.
    """
    max_numbers = {target: most_levels if classes else _ALWAYS_LISTED} | dict.fromkeys(categories, most_levels)
    always = dict.fromkeys(listed, most_levels) | {target: _CLASSES_ALWAYS_LISTED}
    found = _summarise_plain(rows)
    for name in rows.columns:
        if name not in found or found[name].distinct <= max_numbers.get(name, 0):  # it may be listed
            limits = max_numbers.get(name, 0), most_levels, always.get(name, _ALWAYS_LISTED)
            found[name] = _summarise(name, typed(rows[name]), *limits)
    return tuple(found[name] for name in rows.columns)


def _summarise_plain(rows: pd.DataFrame) -> dict[str, ColumnSummary]:
    """Return the summaries of those columns with nothing but finite numbers: all at once, since clients may be many."""
    if not len(rows):
        return {}
    plain = np.array([_is_plain(dtype) for dtype in rows.dtypes], np.bool_)
    values, names = rows.loc[:, plain].to_numpy(np.float64), rows.columns[plain]
    finite = np.isfinite(values).all(axis=0)
    values, names = values[:, finite], names[finite]
    ordered = np.sort(values, axis=0)
    distinct = (ordered[1:] != ordered[:-1]).sum(axis=0) + 1
    whole = (values == np.round(values)).all(axis=0)
    with np.errstate(over="ignore"):
        means = values.mean(axis=0)
        squares = ((values - means) ** 2).sum(axis=0)
    return {
        name: ColumnSummary(
            name,
            "number",
            len(rows),
            0,
            int(distinct[at]),
            whole=bool(whole[at]),
            mean=float(means[at]),
            squares=float(squares[at]),
            look="row numbers" if whole[at] and _count_rows(values[:, at]) else "",
            sign=sign_of(ordered[0, at]),
        )
        for at, name in enumerate(names)
    }


def _summarise(name: str, values: pd.Series, max_numbers: int, max_texts: int, always: int) -> ColumnSummary:
    """Return the summary of a column; distinct numbers or texts are listed up to their limit."""
    present = values.dropna()
    distinct = int(present.nunique())
    summary = ColumnSummary(name, "empty", len(present), len(values) - len(present), distinct)
    if not len(present):
        return summary
    if isinstance(present.dtype, pd.CategoricalDtype):
        return _summarise_text(summary, present, max(max_numbers, _MAX_NUMBERS_AMONG_TEXT), max_texts, always)
    dates = pd.api.types.is_datetime64_any_dtype(present)
    numbers = days(present) if dates else np.asarray(present, np.float64)
    finite = numbers[np.isfinite(numbers)]
    with np.errstate(over="ignore"):  # values too large to compute with are reported when a schema is agreed
        mean = float(finite.mean()) if finite.size else 0.0
        squares = float(((finite - mean) ** 2).sum())
    whole = not dates and bool((finite == np.round(finite)).all())
    return replace(
        summary,
        kind="date" if dates else "number",
        whole=whole,
        infinite=int(numbers.size - finite.size),
        mean=mean,
        squares=squares,
        levels=_levels(present) if max_numbers and _may_list(distinct, present, max_numbers, always) else None,
        look="row numbers" if whole and _count_rows(finite) else "",
        sign=sign_of(finite.min()) if finite.size and not dates else "",
    )


def _summarise_text(
    summary: ColumnSummary, present: pd.Series, max_numbers: int, max_texts: int, always: int
) -> ColumnSummary:
    """Return the summary of a column of text, of which at most `max_numbers` listed values look like numbers."""
    texts = present.astype(object).map(level_of)
    readable, with_comma = pd.to_numeric(texts, errors="coerce").notna(), texts.str.fullmatch(WITH_COMMA)
    listed = _may_list(summary.distinct, present, max_texts, always)
    listed = listed and (bool(readable.all()) or texts[readable].nunique() <= max_numbers)
    look: Look = ""
    if with_comma.any() and (readable | with_comma).all():
        look = "decimal commas"
    elif readable.all():
        look = "numbers"
    # Codes such as 12e4 among many texts are not numbers; a few texts among many numbers are a mistake.
    elif readable.any() if listed else 2 * readable.sum() >= len(texts):
        look = "numbers and text"
    elif 2 * _count_dates(texts) >= len(texts):
        look = "dates"
    elif 2 * summary.distinct > len(texts) and texts.str.split().str.len().mean() >= _MIN_WORDS_OF_FREE_TEXT:
        look = "free text"
    return replace(summary, kind="text", levels=_levels(present) if listed else None, look=look)


def _count_dates(texts: pd.Series) -> int:
    """Return how many texts are dates, or would be if they said which is the day."""
    counts = texts.value_counts()
    dates = [read_date(text) is not None or re.fullmatch(_SLASH_DATE, text) is not None for text in counts.index]
    return int(counts.to_numpy()[dates].sum())


def _count_rows(numbers: Floats) -> bool:
    """Return whether whole numbers run like the numbers of rows: consecutive in any order, or rising, or falling."""
    steps = np.diff(numbers)
    consecutive = numbers.size and np.ptp(numbers) == numbers.size - 1 == np.unique(numbers).size - 1
    return bool(consecutive or (steps > 0).all() or (steps < 0).all())


def _may_list(distinct: int, present: pd.Series, limit: int, always: int) -> bool:
    """Return whether values may be listed: up to the limit; more than `always` only with two rows each on average."""
    return distinct <= min(limit, max(always, len(present) // 2))


def _levels(present: pd.Series) -> dict[str, int]:
    return {level_of(level): int(count) for level, count in present.value_counts().items() if count}


def encode(rows: pd.DataFrame, schema: Schema) -> Floats:
    """Return the feature matrix (n, d) of n rows; the last column is ones, for the intercept.

    A level that is not in the schema is encoded as zeros in the columns of all levels.
    """
    for column in schema.columns:
        if column.name not in rows.columns:
            raise UnfitError(f"there is no column {column.name!r}, which the models need")
    if (plain := _encode_plain(rows, schema)) is not None:
        return plain
    parts = []
    for column in schema.columns:
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


def _encode_plain(rows: pd.DataFrame, schema: Schema) -> Floats | None:
    """Return the feature matrix of rows with nothing but finite numbers, much faster; otherwise None."""
    if any(type(column) is not NumberColumn or column.indicator for column in schema.columns):
        return None
    columns = rows[[column.name for column in schema.columns]]
    if not all(map(_is_plain, columns.dtypes)):
        return None
    values = columns.to_numpy(np.float64)
    if not np.isfinite(values).all():
        return None
    means, scales = (np.array([getattr(column, name) for column in schema.columns]) for name in ("mean", "scale"))
    return np.column_stack([(values - means) / scales, np.ones(len(rows))])


def _is_plain(dtype: object) -> bool:
    """Return whether a type is that of floating-point or whole numbers as numpy knows them."""
    return isinstance(dtype, np.dtype) and dtype.kind in "fiu"


def _standardise(values: pd.Series, column: NumberColumn) -> Floats:
    """Return (x - mean) / scale for each value x, which may be missing but must be a date or finite otherwise."""
    dates = isinstance(column, DateColumn)
    if _is_plain(values.dtype) and not dates:
        plain = values.to_numpy(np.float64)
        if not np.isinf(plain).any():
            return np.asarray((plain - column.mean) / column.scale)
    values = typed(values)
    if dates or pd.api.types.is_datetime64_any_dtype(values):
        numbers = days(values) if dates else np.full(len(values), np.nan)
    else:
        numbers = pd.to_numeric(values, errors="coerce").to_numpy(np.float64)
    bad = ~np.isfinite(numbers) & values.notna().to_numpy()
    if bad.any():
        found = level_of(values[bad].iloc[0])
        expected = "a date such as 2024-03-01" if dates else "a finite number"
        raise InputError(f"column {column.name!r} has {shown(found)}, which is not {expected}; mend it")
    return np.asarray((numbers - column.mean) / column.scale)


def with_target(rows: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """Return the rows whose target can be encoded: one of the classes of the schema, or a finite number."""
    target = schema.target
    if rows.empty:
        return rows
    if target.name not in rows.columns:
        raise UnfitError(f"there is no column {target.name!r}, which the models predict")
    if target.task == "classes":
        return rows[rows[target.name].map(level_of).isin(target.classes)]
    if target.task == "survival":
        return rows
    return rows[np.isfinite(np.asarray(pd.to_numeric(rows[target.name], errors="coerce"), np.float64))]


def encode_target(rows: pd.DataFrame, schema: Schema) -> Floats:
    """Return the target of n rows (n,), as its task has it.

    It is a standardised number, the position of each row's class in the schema, a count, or a time, negative if there
    was no event then (`comity.core.cox`).
    """
    target = schema.target
    if target.task == "classes":
        codes = pd.Index(target.classes).get_indexer(rows[target.name].map(level_of))
        if (codes < 0).any():
            bad = level_of(rows[target.name][codes < 0].iloc[0])
            raise InputError(
                f"the target {target.name!r} has {shown(bad)}, which is none of {', '.join(target.classes)}"
            )
        return np.asarray(codes, np.float64)
    if target.task == "survival":
        times, events = _numbers(rows, f"the time {target.time!r}", target.time), encode_event(rows, target.name)
        if (times <= 0).any():
            raise InputError(f"the time {target.time!r} has a value that is not more than 0; mend it")
        return np.where(events, times, -times)
    numbers = _numbers(rows, f"the target {target.name!r}", target.name)
    if target.task == "counts":
        if (numbers < 0).any() or (numbers != np.round(numbers)).any():
            raise InputError(f"the target {target.name!r} has a value that is not a whole number, 0 or more; mend it")
        return numbers
    return (numbers - target.mean) / target.scale


def encode_event(rows: pd.DataFrame, name: str) -> Booleans:
    """Return whether an event happened in each of n rows (n,)."""
    found = rows[name].map(lambda value: EVENT.get(level_of(value).casefold()), na_action="ignore")
    if found.isna().any():
        raise InputError(f"the event {name!r} has a value that is neither 0 nor 1; mend it")
    return np.asarray(found, np.bool_)


def encode_exposure(rows: pd.DataFrame, schema: Schema) -> Floats:
    """Return the exposure of n rows (n,): one without a column of it."""
    name = schema.target.exposure
    if not name:
        return np.ones(len(rows))
    if name not in rows.columns:
        raise UnfitError(f"there is no column {name!r}, the exposure of counts")
    exposures = _numbers(rows, f"the exposure {name!r}", name)
    if (exposures <= 0).any():
        raise InputError(f"the exposure {name!r} has a value that is not more than 0; mend it")
    return exposures


def _numbers(rows: pd.DataFrame, what: str, name: str) -> Floats:
    numbers = np.asarray(pd.to_numeric(rows[name], errors="coerce"), np.float64)
    if not np.isfinite(numbers).all():
        raise InputError(f"{what} has a value that is not a finite number; mend it")
    return numbers
