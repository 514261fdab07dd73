"""Tables in, clients out."""

from __future__ import annotations

import difflib
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from comity.client import Client, Policy
from comity.core import check_names, lookalikes, shown
from comity.encoding import level_of
from comity.errors import FormatError, InputError
from comity.schema import list_columns
from comity.tables.columns import Values
from comity.tables.csv_text import CsvTable
from comity.tables.parquet import ParquetTable

Source: TypeAlias = pd.DataFrame | Mapping[str, pd.DataFrame | str | os.PathLike[str]] | str | os.PathLike[str]


class Table(Protocol):
    """Something with named columns; nothing but the names is read until it is asked for."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""

    def wrong(self, message: str) -> InputError:
        """Return the error that something is wrong with the table."""

    def read(self, keep: Collection[str], as_text: Collection[str]) -> dict[str, Values]:
        """Return the columns to `keep`; of those in `as_text`, values stay as they are written."""


@dataclass(frozen=True)
class FrameTable:
    """A DataFrame; `title` begins the message of an error."""

    frame: pd.DataFrame
    title: str

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, as text."""
        return tuple(level_of(name) for name in self.frame.columns)

    def wrong(self, message: str) -> InputError:
        """Return the error that something is wrong with the table."""
        return InputError(f"{self.title}: {message}")

    def read(self, keep: Collection[str], as_text: Collection[str]) -> dict[str, Values]:
        """Return the columns to `keep` as they are."""
        return {name: self.frame.iloc[:, place].array for place, name in enumerate(self.names) if name in keep}


_READERS: dict[str, Callable[[Path], Table]] = {
    ".csv": CsvTable.open,
    ".csv.gz": CsvTable.open,
    ".tsv": CsvTable.open,
    ".tsv.gz": CsvTable.open,
    ".parquet": ParquetTable.open,
}
_OPEN = Policy()
_ENDINGS = f"{', '.join([*_READERS][:-1])} or {[*_READERS][-1]}"


def read_clients(
    source: Source, client: str | None = None, policy: Policy = _OPEN, *, exclude: Iterable[str] = ()
) -> tuple[Client, ...]:
    """Read clients with their rows from a table for all, or from one for each.

    `source` is one of these:

    - a DataFrame, or the path of a CSV or Parquet file (.csv, .csv.gz, .tsv, .tsv.gz, .parquet): the column `client`
      says whose row it is;
    - a mapping from each client's name to its DataFrame or the path of its file;
    - a directory with a file for each client, named after it, and nothing else but hidden files.

    The column `client` is not among a client's rows. With a table for each client it is not needed; if it is given, it
    must have one and the same value in all rows of a table, so that a table of several clients is not taken for one's,
    and it is left out; the client is still named by the mapping or the file. Columns in `exclude` are left out too.

    Clients come in the order in which they first appear (in a directory by the files' names), rows in their order.
    Files are read in parts, so that memory goes with the numbers in them and not with the text.

    >>> frame = pd.DataFrame({"ward": ["A", "B", "A"], "age": [61, 48, 75]})
    >>> first, second = read_clients(frame, client="ward")
    >>> first.name, first.rows["age"].tolist()
    ('A', [61, 75])
    """
    excluded = [exclude] if isinstance(exclude, str) else list(exclude)
    if client in excluded:
        raise InputError(f"column {client!r} names the clients and cannot be excluded; it is left out as it is")
    tables = _tables_by_client(source)
    if tables is None:
        clients = _split(_open(source, "the table"), client, excluded)
    else:
        _check_columns(tables.values(), excluded)
        for table in tables.values():
            _check_columns([table], [] if client is None else [client])
        clients = {name: _one(name, table, client, excluded) for name, table in tables.items()}
    if len(clients) < 2:
        raise InputError(f"there is one client only ({shown(*clients)}); comity needs at least two")
    check_names(clients)
    return tuple(Client(name, rows, policy) for name, rows in clients.items())


def read_rows(
    source: pd.DataFrame | str | os.PathLike[str], client: str | None = None, as_text: Iterable[str] = ()
) -> pd.DataFrame:
    """Read a table of rows to predict for, from a CSV or Parquet file.

    The values of the column `client`, if there is such a one, become the names that `read_clients` gives; those of
    the columns in `as_text` stay as they are written.
    """
    table = _open(source, "the table")
    named = [name for name in table.names if name == client]
    columns = table.read(table.names, [*named, *(name for name in as_text if name in table.names)])
    for name in named:
        owners, names = _owners(table, name, columns[name])
        columns[name] = np.array(names, object)[owners]
    return _frame(columns, copy=isinstance(table, FrameTable))


def warnings_about(clients: Iterable[Client]) -> tuple[str, ...]:
    """Return what is suspicious about clients, in words for the user: names that look alike.

    >>> frame = pd.DataFrame({"ward": ["North", "north", "South"], "age": [61, 48, 75]})
    >>> warnings_about(read_clients(frame, client="ward"))
    ("'North' and 'north' are taken for two clients",)
    """
    pairs = lookalikes(client.name for client in clients)
    return tuple(f"{shown(first)} and {shown(other)} are taken for two clients" for first, other in pairs)


def _open(source: Any, title: str) -> Table:
    """Return a table, having checked that no two columns have one name."""
    table: Table
    if isinstance(source, pd.DataFrame):
        if isinstance(source.columns, pd.MultiIndex):
            raise InputError(
                f"{title}: its columns have names of {source.columns.nlevels} levels; give them plain names"
            )
        if not len(source):
            raise InputError(f"{title}: there are no rows in it")
        table = FrameTable(source, title)
    elif isinstance(source, str | os.PathLike):
        table = _READERS[_ending(_check_file(source))](Path(source))
    else:
        raise InputError(f"{title} must be a DataFrame or the path of a file, not {shown(type(source).__name__)}")
    if double := [name for name, count in Counter(table.names).items() if count > 1]:
        raise table.wrong(f"there are two columns {shown(double[0])}; give every column a name of its own")
    return table


def _check_file(source: str | os.PathLike[str]) -> Path:
    path = Path(source)
    if not os.fspath(source):
        raise FormatError("the name of the file is empty; give one")
    if not path.exists():
        raise FormatError(f"{path}: there is no such file; {_meant(path)}")
    if path.is_dir():
        raise FormatError(f"{path}: this is a directory; give a file in it")
    if not path.is_file():  # a pipe cannot be read twice
        raise FormatError(f"{path}: this is not a regular file; write what it gives into one")
    if not _ending(path):
        raise FormatError(f"{path}: a table is read from a file that ends in {_ENDINGS}; convert it, or rename it")
    return path


def _meant(path: Path) -> str:
    """Say which file beside it may have been meant."""
    beside = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
    close = difflib.get_close_matches(path.name, beside, n=1)
    return f"did you mean {str(path.with_name(close[0]))!r}?" if close else "check the path"


def _ending(path: Path) -> str:
    """Return the ending by which a file is known, or nothing."""
    return next((ending for ending in _READERS if path.name.lower().endswith(ending)), "")


def _tables_by_client(source: Source) -> dict[str, Table] | None:
    """Return each client's own table, or None if there is one table for all."""
    if isinstance(source, Mapping):
        check_names(source)
        return {name: _open(table, f"client {shown(name)}") for name, table in source.items()}
    if not isinstance(source, str | os.PathLike) or not os.fspath(source) or not Path(source).is_dir():
        return None
    tables: dict[str, Table] = {}
    for path in sorted(Path(source).iterdir()):
        if path.name.startswith("."):
            continue
        ending = "" if path.is_dir() else _ending(path)
        if not ending:  # to pass over it might be to pass over a client
            raise FormatError(
                f"{source}: {path.name!r} is not a client's table, which would be a file that ends in {_ENDINGS}; "
                "take it out, or convert it"
            )
        name = path.name[: -len(ending)]
        if name in tables:
            raise FormatError(f"{source}: there are two files of client {shown(name)}; leave one")
        tables[name] = _open(path, str(path))
    if not tables:
        raise FormatError(f"{source}: there is no file in it; a directory has a table for each client")
    return tables


def _split(table: Table, client: str | None, exclude: Collection[str]) -> dict[str, pd.DataFrame]:
    """Return the rows of each client in a table of all."""
    if client is None:
        raise table.wrong(f"say which column names the client (--client, or client=); {list_columns(table.names)}")
    _check_columns([table], [client, *exclude])
    columns = table.read([name for name in table.names if name not in exclude], [client])
    if len(columns) < 2:
        raise table.wrong(f"there is no column but {client!r}; check the columns and what was excluded")
    owners, names = _owners(table, client, columns.pop(client))
    # One column at a time is put into the clients' order and cut, and the one it came from is let go.
    order = np.argsort(owners, kind="stable")
    ends = np.cumsum(np.bincount(owners, minlength=len(names)))
    parts: list[dict[str, Values]] = [{} for _ in names]
    for name in list(columns):
        ordered = columns.pop(name).take(order)
        for part, start, end in zip(parts, [0, *ends[:-1]], ends, strict=True):
            part[name] = ordered[start:end]
    return {name: _frame(part) for name, part in zip(names, parts, strict=True)}


def _owners(table: Table, client: str, values: Values) -> tuple[NDArray[np.intp], list[str]]:
    """Return each row's owner as a position in the list of names."""
    codes, different = pd.factorize(values)
    if missing := int((codes < 0).sum()):
        raise table.wrong(
            f"column {client!r}, which names the client, is missing in {missing:,} of {len(codes):,} rows; fill it in, "
            "or take these rows out (in a CSV file, NA, None, null and the like count as missing)"
        )
    written = not isinstance(table, FrameTable)
    position: dict[str, int] = {}
    named = [position.setdefault(_name(value, written), len(position)) for value in different]
    return np.array(named, np.intp)[codes], list(position)


def _name(value: object, written: bool) -> str:
    """Return a client's name; a column of numbers may have been written with 3.0 for client 3."""
    if written and isinstance(value, str) and re.fullmatch(r"[+-]?\d+\.0+", value):
        return value.partition(".")[0]
    return level_of(value)


def _one(name: str, table: Table, client: str | None, exclude: Collection[str]) -> pd.DataFrame:
    """Return the rows of a table that is one client's."""
    columns = table.read(
        [column for column in table.names if column not in exclude], [] if client is None else [client]
    )
    if client is not None:
        _, names = _owners(table, client, columns.pop(client))
        if len(names) > 1:
            raise table.wrong(
                f"column {client!r} has {shown(names[0])} and {shown(names[1])}, but these rows should all be those of "
                f"{shown(name)}; give a table for each client, or one table for all"
            )
    if not columns:
        raise table.wrong("no column is left; check the columns and what was excluded")
    # Rows that are the caller's are copied: what the caller does to them later is no longer the client's.
    return _frame(columns, copy=isinstance(table, FrameTable))


def _frame(columns: dict[str, Values], *, copy: bool = False) -> pd.DataFrame:
    """Return columns as a frame; a categorical knows only the texts that occur in it, not those of other clients."""
    plain = {
        name: values.remove_unused_categories() if isinstance(values, pd.Categorical) else values
        for name, values in columns.items()
    }
    return pd.DataFrame(plain, copy=copy)


def _check_columns(tables: Iterable[Table], names: Iterable[str]) -> None:
    """Check that there are such columns, in one table at least."""
    tables = list(tables)
    known = list(dict.fromkeys(name for table in tables for name in table.names))
    for name in names:
        if name not in known:
            message = f"there is no column {shown(name)}; {list_columns(known, name)}"
            raise tables[0].wrong(message) if len(tables) == 1 else InputError(message)
