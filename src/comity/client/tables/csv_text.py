"""Tables in CSV files, read in parts."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

import numpy as np
import pandas as pd

from comity.client.tables.columns import Column, Values, rows_in_part
from comity.core.names import shown
from comity.core.wording import mention
from comity.errors import FormatError
from comity.rows.encoding import WITH_COMMA

_DELIMITERS = ",;\t"
_WHOLE = r"\s*[+-]?\d+\s*"
_THOUSANDS = r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+\s*"


@dataclass(frozen=True)
class CsvTable:
    """A CSV file with the names of its columns in the first line."""

    path: Path
    names: tuple[str, ...]
    delimiter: str
    encoding: str

    @classmethod
    def open(cls, path: Path, encoding: str = "utf-8") -> CsvTable:
        """Read the names of the columns, and find the delimiter.

        The delimiter is the one that gives as many values in the second line as in the first, and the most of them.
        """
        rows = {delimiter: _first_rows(path, delimiter, encoding) for delimiter in _DELIMITERS}

        def fit(delimiter: str) -> tuple[bool, int]:
            header, first = rows[delimiter]
            return 1 < len(header) == len(first), len(header)

        delimiter = max(_DELIMITERS, key=fit)  # the first of them if they fit equally well
        header, first = rows[delimiter]
        if not header:
            raise FormatError(f"{path}: there is nothing in it; the first line should name the columns")
        if not first:
            raise FormatError(f"{path}: there are no rows below the names of the columns")
        if len(first) > len(header):  # pandas would take the first value of every row for the name of the row
            raise _ragged(path, "2", len(first), len(header))
        names = tuple(name if name.strip() else f"Unnamed: {place}" for place, name in enumerate(header))
        return cls(path, names, delimiter, encoding)

    def error(self, message: str) -> FormatError:
        """Return an error about this file."""
        return FormatError(f"{self.path}: {message}")

    def read(self, keep: Collection[str], as_text: Collection[str]) -> dict[str, Values]:
        """Return the columns to `keep`; values of the columns in `as_text` are not turned into numbers."""
        columns = {name: Column() for name in keep}
        may_be_short = False  # pandas fills rows that are too short with missing values
        for part in self.parts(dtype=dict.fromkeys(as_text, object)):
            may_be_short = may_be_short or bool(part[self.names[-1]].isna().any())
            for name, column in columns.items():
                column.add(part[name])
        if may_be_short:
            self._check_rows()
        if again := [name for name, column in columns.items() if column.inconsistent]:
            columns |= {name: Column() for name in again}
            for part in self.parts(dtype=object, usecols=again):
                for name in again:
                    columns[name].add(part[name])
        values = {name: columns[name].finish(recognised=name not in as_text) for name in keep}
        if self.delimiter != ",":
            values |= {name: _with_decimal_points(values[name]) for name in keep if name not in as_text}
        return values

    def parts(self, **options: Any) -> Iterator[pd.DataFrame]:
        """Yield the rows in parts, read by `pandas.read_csv` with these options; short rows are accepted."""
        with _opened(self.path, self.encoding) as file:
            yield from pd.read_csv(
                file,
                sep=self.delimiter,
                names=list(self.names),
                header=0,
                index_col=False,
                skipinitialspace=True,
                low_memory=False,  # otherwise the type of a column may change within a part
                chunksize=rows_in_part(len(self.names)),
                **options,
            )

    def _check_rows(self) -> None:
        """Refuse rows that are too short."""
        with _opened(self.path, self.encoding) as file:
            reader = _rows(file, self.delimiter)
            for row in reader:
                if len(row) < len(self.names) and "".join(row).strip():
                    raise _ragged(self.path, str(reader.line_num), len(row), len(self.names))


def _with_decimal_points(values: Values) -> Values:
    """Return a column of texts with decimal commas as numbers, any other column unchanged.

    >>> _with_decimal_points(pd.Categorical(["1,5", "-2", None])).tolist()
    [1.5, -2.0, nan]
    >>> _with_decimal_points(pd.Categorical(["1,5", "a"])).tolist()
    ['1,5', 'a']
    """
    if not isinstance(values, pd.Categorical):
        return values
    texts = values.categories.astype(str).str
    commas = texts.fullmatch(WITH_COMMA)
    if not commas.any() or not texts.fullmatch(f"{WITH_COMMA}|{_WHOLE}").all():
        return values
    if texts.fullmatch(_THOUSANDS)[commas].all():  # the commas may separate thousands: 1,234
        return values
    numbers = [float(text.replace(",", ".")) for text in values.categories]
    return np.array([*numbers, np.nan])[values.codes]  # code -1, a missing value, takes the last


def _first_rows(path: Path, delimiter: str, encoding: str) -> tuple[list[str], list[str]]:
    """Return the first two rows that are not blank, or empty lists if there are fewer."""
    with _opened(path, encoding) as file:
        rows = (row for row in _rows(file, delimiter) if len(row) > 1 or "".join(row).strip())
        return next(rows, []), next(rows, [])


def _rows(file: TextIO, delimiter: str) -> Any:
    csv.field_size_limit(2**31 - 1)
    return csv.reader(file, delimiter=delimiter, skipinitialspace=True)


def _opened_raw(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.GzipFile(path)) if path.suffix.lower() == ".gz" else path.open("rb")


@contextmanager
def _opened(path: Path, encoding: str) -> Iterator[TextIO]:
    """Open a file; any error in reading it becomes one message that begins with its name."""
    utf8 = codecs.lookup(encoding).name == "utf-8"
    try:
        with io.TextIOWrapper(_opened_raw(path), "utf-8-sig" if utf8 else encoding, newline="") as file:
            yield file
    except UnicodeError:
        if not utf8:
            raise FormatError(f"{path}: this is not {encoding} text; check {mention('encoding')}") from None
        with _opened_raw(path) as lines:
            bad = next(line for line, text in enumerate(lines, 1) if text.decode(errors="ignore").encode() != text)
        raise FormatError(
            f"{path}: line {bad} is not UTF-8 text; say how it is encoded, perhaps {mention('encoding', 'cp1252')}, or "
            "save it as UTF-8 (in Excel: CSV UTF-8)"
        ) from None
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise FormatError(f"{path}: this is not a whole gzip file; fetch or write it again") from None
    except csv.Error as error:
        raise FormatError(f"{path}: not valid CSV ({error})") from None
    except pd.errors.ParserError as error:
        if found := re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error)):
            raise _ragged(path, found[2], int(found[3]), int(found[1])) from None
        if found := re.search(r"EOF inside string starting at row (\d+)", str(error)):
            raise FormatError(f"{path}: a quote opens in line {int(found[1]) + 1} and is never closed") from None
        raise FormatError(f"{path}: not valid CSV ({shown(str(error).strip())})") from None
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror or error})") from None


def _ragged(path: Path, line: str, values: int, columns: int) -> FormatError:
    return FormatError(
        f"{path}: line {line}: {values} values for {columns} columns; every row needs one for each column, and a value "
        "that holds the delimiter needs quotes"
    )
