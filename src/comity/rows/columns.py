"""What the values of a column are: numbers, true and false, dates or text, whatever file or frame they come from."""

import re
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd

from comity.core.arrays import Floats

_DAY_ZERO = pd.Timestamp("2000-01-01")
_DATE = re.compile(
    r"\s*(?:(\d{4})([-/.])(\d\d?)\2(\d\d?)|(\d\d?)\.(\d\d?)\.(\d{4}))"
    r"(?:[T ](\d\d?)(:\d\d(?::\d\d(?:\.\d+)?)?) ?(Z|[+-]\d\d:?\d\d)?)?\s*"
)


def level_of(value: object) -> str:
    """Return a value as the name of a level or class; whole numbers have no decimal point."""
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def typed(values: pd.Series) -> pd.Series:
    """Return a column as numbers, true and false, dates without time zone, or a categorical of text.

    Text is read as in a file (`recognise`); a categorical stays one. Time differences become days.

    >>> typed(pd.Series(["1", "2.5", None])).tolist()
    [1.0, 2.5, nan]
    >>> typed(pd.Series(["01", "7p"])).tolist(), typed(pd.Series(["0", "1"], dtype="category")).tolist()
    (['01', '7p'], ['0', '1'])
    """
    if isinstance(values.dtype, pd.CategoricalDtype) or pd.api.types.is_numeric_dtype(values):
        return values
    if pd.api.types.is_timedelta64_dtype(values):
        return values / pd.Timedelta(days=1)
    if pd.api.types.is_datetime64_any_dtype(values):
        return pd.to_datetime(values, utc=True).dt.tz_localize(None)
    if pd.api.types.infer_dtype(values, skipna=True) in ("boolean", "empty"):
        return values
    return pd.Series(recognise(as_text(values)), values.index)


def as_text(values: pd.Series) -> pd.Categorical:
    """Return a column as text."""
    texts = values.astype(object).map(level_of, na_action="ignore")
    codes, levels = pd.factorize(texts)
    return pd.Categorical.from_codes(codes, categories=pd.Index(levels, dtype=object))


def recognise(texts: pd.Categorical) -> Any:
    """Return text as numbers if every value is one, as dates if every value is one, otherwise unchanged.

    Dates have the year first (2024-03-01, 2024/3/1) or dots (1.3.2024), and may have a time. Others, such as
    03/04/2024, do not say which is the day.

    >>> recognise(pd.Categorical(["2024-03-01", "1.3.2024 12:00"])).astype(str).tolist()
    ['2024-03-01T00:00:00.000000', '2024-03-01T12:00:00.000000']
    """
    levels = texts.categories
    numbers = pd.to_numeric(pd.Series(levels, dtype=object), errors="coerce").to_numpy()
    if not pd.isna(numbers).any():
        return (numbers if (texts.codes >= 0).all() else np.append(numbers, np.nan))[texts.codes]
    dates = []
    for level in levels:
        dates.append(read_date(level))
        if dates[-1] is None:
            return texts
    return np.array([*dates, None], "datetime64[us]")[texts.codes]  # code -1, a missing value, takes the last


def read_date(text: str) -> datetime | None:
    """Return the date that a text is, in UTC if it has a time zone; None if it is none.

    >>> read_date("2024-2-29 9:30+02:00"), read_date("2023-02-29"), read_date("01/02/2024")
    (datetime.datetime(2024, 2, 29, 7, 30), None, None)
    """
    if not (found := _DATE.fullmatch(text)):
        return None
    year, _, month, day, day_first, middle, last, hour, minutes, zone = found.groups("")
    time = f"T{hour:0>2}{minutes}{zone}" if hour else ""
    try:
        date = datetime.fromisoformat(f"{year or last}-{month or middle:0>2}-{day or day_first:0>2}{time}")
        return date.astimezone(UTC).replace(tzinfo=None) if date.tzinfo else date
    except (ValueError, OverflowError):  # there is no such day
        return None


def days(values: pd.Series) -> Floats:
    """Return dates as days since 2000-01-01 (n,), NaN for what is missing or no date.

    >>> days(pd.Series(["2000-01-02", "2000-01-03 12:00", "soon", None])).tolist()
    [1.0, 2.5, nan, nan]
    """
    if not pd.api.types.is_datetime64_any_dtype(values):
        dates = values.astype(object).map(lambda value: read_date(str(value)), na_action="ignore")
        values = pd.Series(np.array(dates.where(dates.notna(), None), "datetime64[us]"))
    elif values.dt.tz is not None:
        values = values.dt.tz_convert(None)
    return np.asarray((values - _DAY_ZERO) / pd.Timedelta(days=1), np.float64)
