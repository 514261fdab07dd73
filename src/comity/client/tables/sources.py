"""Where tables come from: DataFrames, files, and directories with a file for each client."""

import difflib
import os
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import pandas as pd

from comity.client.tables.columns import Values
from comity.client.tables.csv_text import CsvTable
from comity.client.tables.excel import ExcelTable
from comity.client.tables.frames import FrameTable
from comity.client.tables.parquet import ParquetTable
from comity.core.names import check_names, shown
from comity.errors import FormatError, InputError

Source: TypeAlias = pd.DataFrame | Mapping[str, pd.DataFrame | str | os.PathLike[str]] | str | os.PathLike[str]


class Table(Protocol):
    """A table whose columns have names; values are read only when `read` is called."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""

    def error(self, message: str) -> InputError:
        """Return an error whose message begins with this table's name."""

    def read(self, keep: Collection[str], as_text: Collection[str]) -> dict[str, Values]:
        """Return the columns to `keep`; values of the columns in `as_text` are not turned into numbers."""


_READERS: dict[str, Callable[[Path, str], Table]] = {
    ".csv": CsvTable.open,
    ".csv.gz": CsvTable.open,
    ".tsv": CsvTable.open,
    ".tsv.gz": CsvTable.open,
    ".parquet": ParquetTable.open,
    ".xlsx": ExcelTable.open,
}
_ENDINGS = f"{', '.join([*_READERS][:-1])} or {[*_READERS][-1]}"


def open_table(source: Any, title: str, encoding: str = "utf-8") -> Table:
    """Open a DataFrame or a file as a table, and check that the names of its columns are unique.

    `encoding` is that of a CSV file; other files say their own.
    """
    table: Table
    if isinstance(source, pd.DataFrame):
        if isinstance(source.columns, pd.MultiIndex):
            raise InputError(
                f"{title}: its column names have {source.columns.nlevels} levels; give each column one name"
            )
        if not len(source):
            raise InputError(f"{title}: there are no rows")
        table = FrameTable(source, title)
    elif isinstance(source, str | os.PathLike):
        table = _READERS[_ending(_check_file(source))](Path(source), encoding)
    else:
        raise InputError(f"{title} must be a DataFrame or the path of a file, not {shown(type(source).__name__)}")
    if repeated := [name for name, count in Counter(table.names).items() if count > 1]:
        raise table.error(f"there are two columns {shown(repeated[0])}; give every column its own name")
    return table


def open_tables_by_client(source: Source, encoding: str = "utf-8") -> dict[str, Table] | None:
    """Return the table of each client, or None if the source is one table for all clients."""
    if isinstance(source, Mapping):
        check_names(source)
        return {name: open_table(table, f"client {shown(name)}", encoding) for name, table in source.items()}
    if not isinstance(source, str | os.PathLike) or not os.fspath(source) or not Path(source).is_dir():
        return None
    tables: dict[str, Table] = {}
    for path in sorted(Path(source).iterdir()):
        if path.name.startswith("."):
            continue
        ending = "" if path.is_dir() else _ending(path)
        if not ending:  # skipping it might leave out a client
            raise FormatError(
                f"{source}: {path.name!r} is not a client's table, a file whose name ends in {_ENDINGS}; "
                "remove or convert it"
            )
        name = path.name[: -len(ending)]
        if name in tables:
            raise FormatError(f"{source}: there are two files for client {shown(name)}; keep one")
        tables[name] = open_table(path, str(path), encoding)
    if not tables:
        raise FormatError(f"{source}: there is no file in this directory; it must have a table for each client")
    return tables


def _check_file(source: str | os.PathLike[str]) -> Path:
    path = Path(source)
    if not os.fspath(source):
        raise FormatError("the file name is empty; give a path")
    if not path.exists():
        raise FormatError(f"{path}: there is no such file; {_suggestion(path)}")
    if path.is_dir():
        raise FormatError(f"{path}: this is a directory; give a file in it")
    if not path.is_file():  # a pipe cannot be read twice
        raise FormatError(f"{path}: this is not a regular file; write its content to one")
    if not _ending(path):
        raise FormatError(f"{path}: the name of a table must end in {_ENDINGS}; convert the file, or rename it")
    return path


def _suggestion(path: Path) -> str:
    """Return a hint: a file in the same directory with a similar name, if there is one."""
    files = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
    close = difflib.get_close_matches(path.name, files, n=1)
    return f"did you mean {str(path.with_name(close[0]))!r}?" if close else "check the path"


def _ending(path: Path) -> str:
    """Return the ending that determines a file's format, or an empty string."""
    return next((ending for ending in _READERS if path.name.lower().endswith(ending)), "")
