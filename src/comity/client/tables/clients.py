"""Clients with their rows, read from tables."""

import math
import os
import re
from collections.abc import Collection, Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from comity.client import Client, Policy
from comity.client.tables.columns import Values
from comity.client.tables.frames import FrameTable
from comity.client.tables.leaks import leaking_columns
from comity.client.tables.sources import Source, Table, open_table, open_tables_by_client
from comity.core.names import check_names, lookalikes, shown
from comity.core.wording import mention
from comity.errors import InputError
from comity.questions.schema import list_columns
from comity.rows.columns import level_of

_DEFAULT_POLICY = Policy(least_part=1)  # whoever asks about a table holds it


def read_clients(
    source: Source,
    client: str | None = None,
    policy: Policy = _DEFAULT_POLICY,
    *,
    exclude: Iterable[str] = (),
    group: str | None = None,
    encoding: str = "utf-8",
) -> tuple[Client, ...]:
    """Read clients with their rows from one table for all clients, or from one table for each.

    Files are read in parts, so that the memory needed depends on how many values they hold and not on their text. What
    a column holds is decided for all clients together: one text among numbers makes it text at every client.

    Args:
        source: One of these:

            - a DataFrame, or the path of a CSV, Parquet or Excel file (.csv, .csv.gz, .tsv, .tsv.gz, .parquet, .xlsx),
              whose column `client` names the client of each row;
            - a mapping from each client's name to its DataFrame or the path of its file;
            - a directory with a file for each client, named after it, and no other files except hidden ones.
        client: The column that names the clients; it is not among the clients' columns. With a table for each client
            it is not needed. If it is given, all rows of a table must have the same value in it, so that a table of
            several clients is not read as that of one; the client's name is still that of the mapping or the file.
        policy: What the clients may answer.
        exclude: Columns to leave out.
        group: A column whose rows with equal values, such as those of one patient, are held out together.
        encoding: The encoding of CSV files.

    Returns:
        The clients in the order in which they first appear (in a directory, sorted by file name), with their rows in
        the order of the table.

    Raises:
        InputError: If there are fewer than two clients, or if a column is missing or ambiguous.
        FormatError: If a file cannot be read as a table.

    >>> frame = pd.DataFrame({"ward": ["A", "B", "A"], "age": [61, 48, 75]})
    >>> first, second = read_clients(frame, client="ward")
    >>> first.name, first.rows["age"].tolist()
    ('A', [61, 75])
    """
    excluded = [exclude] if isinstance(exclude, str) else list(exclude)
    if client in excluded:
        raise InputError(f"column {client!r} names the clients and cannot be excluded; it is left out anyway")
    tables = open_tables_by_client(source, encoding)
    if tables is None:
        clients = _split_by_client(open_table(source, "the table", encoding), client, excluded)
    else:
        _check_columns(tables.values(), excluded)
        for table in tables.values():
            _check_columns([table], [] if client is None else [client])
        clients = {name: _rows_of(name, table, client, excluded) for name, table in tables.items()}
        text = _partly_text(clients.values())
        for name, table in tables.items():
            if differing := [column for column in text if column in clients[name].columns]:
                clients[name] = clients[name].assign(**_frame(table.read(differing, differing)))
    if len(clients) < 2:
        raise InputError(f"there is one client only ({shown(*clients)}); comity needs at least two")
    check_names(clients)
    listed = () if math.isfinite(policy.disclosure) else _shared_levels(clients.values())
    return tuple(Client(name, rows, policy, group=group, listed=listed) for name, rows in clients.items())


def read_rows(
    source: pd.DataFrame | str | os.PathLike[str],
    client: str | None = None,
    as_text: Iterable[str] = (),
    encoding: str = "utf-8",
) -> pd.DataFrame:
    """Read rows to predict, from a DataFrame or a CSV, Parquet or Excel file.

    Values of the column `client`, if the table has it, become the names that `read_clients` would give; values of the
    columns in `as_text` are not turned into numbers.
    """
    table = open_table(source, "the table", encoding)
    named = [name for name in table.names if name == client]
    columns = table.read(table.names, [*named, *(name for name in as_text if name in table.names)])
    for name in named:
        owners, names = _owners(table, name, columns[name])
        columns[name] = np.array(names, object)[owners]
    return _frame(columns, copy=isinstance(table, FrameTable))


def warnings_about(
    clients: Sequence[Client], target: str | None = None, *, classes: bool = False, beside: Collection[str] = ()
) -> tuple[str, ...]:
    """Return warnings for the user about clients whose names look alike, and columns that give the target away.

    Args:
        clients: Clients that were read.
        target: The column to predict, if columns are to be compared with it.
        classes: Whether the target's numbers are classes.
        beside: Columns that belong to the target, and are not compared with it.

    >>> frame = pd.DataFrame({"ward": ["North", "north", "South"], "age": [61, 48, 75]})
    >>> warnings_about(read_clients(frame, client="ward"))
    ("'North' and 'north' are treated as two clients",)
    """
    pairs = lookalikes(client.name for client in clients)
    leaks = () if target is None else leaking_columns(clients, target, classes=classes, beside=beside)
    return (
        *(f"{shown(first)} and {shown(other)} are treated as two clients" for first, other in pairs),
        *(
            f"column {name!r} alone predicts the target {target!r} almost perfectly; if it would not be known before "
            f"the target is, leave it out with {mention('exclude', [name])}"
            for name in leaks
        ),
    )


def _split_by_client(table: Table, client: str | None, exclude: Collection[str]) -> dict[str, pd.DataFrame]:
    """Return the rows of each client in a table of all clients."""
    if client is None:
        raise table.error(f"say which column names the client: {mention('client', ...)}; {list_columns(table.names)}")
    _check_columns([table], [client, *exclude])
    columns = table.read([name for name in table.names if name not in exclude], [client])
    if len(columns) < 2:
        raise table.error(f"there is no column but {client!r}; check the columns and what was excluded")
    owners, names = _owners(table, client, columns.pop(client))
    # Columns are sorted by client and cut one at a time, and the original column is freed, to save memory.
    order = np.argsort(owners, kind="stable")
    ends = np.cumsum(np.bincount(owners, minlength=len(names)))
    parts: list[dict[str, Values]] = [{} for _ in names]
    for name in list(columns):
        ordered = columns.pop(name).take(order)
        for part, start, end in zip(parts, [0, *ends[:-1]], ends, strict=True):
            part[name] = ordered[start:end]
    return {name: _frame(part) for name, part in zip(names, parts, strict=True)}


def _owners(table: Table, client: str, values: Values) -> tuple[NDArray[np.intp], list[str]]:
    """Return each row's owner (n,), as a position in the list of names that is returned with it."""
    codes, different = pd.factorize(values)
    if missing := int((codes < 0).sum()):
        raise table.error(
            f"column {client!r}, which names the client, is missing in {missing:,} of {len(codes):,} rows; fill it in, "
            "or take these rows out (in a CSV file, NA, None, null and the like count as missing)"
        )
    names = [level_of(value) for value in different]
    if not isinstance(table, FrameTable):  # in a file, a column of numbers may have 3.0 for client 3
        names = [re.sub(r"\A([+-]?\d+)\.0+\Z", r"\1", name) for name in names]
    owners, different_names = pd.factorize(np.array(names, object))
    return owners[codes], list(different_names)


def _rows_of(name: str, table: Table, client: str | None, exclude: Collection[str]) -> pd.DataFrame:
    """Return the rows of a table that belongs to one client."""
    kept = [column for column in table.names if column not in exclude]
    columns = table.read(kept, [] if client is None else [client])
    if client is not None:
        _, names = _owners(table, client, columns.pop(client))
        if len(names) > 1:
            raise table.error(
                f"column {client!r} has {shown(names[0])} and {shown(names[1])}, but all these rows should belong to "
                f"{shown(name)}; give a table for each client, or one table for all"
            )
    if not columns:
        raise table.error("no column is left; check the columns and what was excluded")
    # The caller's rows are copied, so that later changes to them do not reach the client.
    return _frame(columns, copy=isinstance(table, FrameTable))


def _partly_text(frames: Collection[pd.DataFrame]) -> list[str]:
    """Return the columns that are text in some tables and not in all."""
    kinds: dict[str, set[bool]] = {}
    for frame in frames:
        for name in frame.columns:
            if frame[name].notna().any():
                kinds.setdefault(name, set()).add(isinstance(frame[name].dtype, pd.CategoricalDtype))
    return [name for name, found in kinds.items() if len(found) > 1]


def _shared_levels(frames: Collection[pd.DataFrame]) -> tuple[str, ...]:
    """Return the columns of text whose values occur in two rows or more on average, over all clients.

    A client with few rows may have each of them once, as the months of a year. A column with a value that has no
    letter, or reads as a number, is not returned.
    """
    found = []
    for name in dict.fromkeys(name for frame in frames for name in frame.columns):
        having = [frame for frame in frames if name in frame.columns and frame[name].notna().any()]
        if not having or not all(isinstance(frame[name].dtype, pd.CategoricalDtype) for frame in having):
            continue
        columns = [frame[name] for frame in having]
        levels = {level for each in columns for level in each.cat.categories}
        if 2 * len(levels) <= sum(each.notna().sum() for each in columns) and all(map(_is_word, levels)):
            found.append(name)
    return tuple(found)


def _is_word(level: object) -> bool:
    text = level_of(level)
    return any(map(str.isalpha, text)) and bool(pd.isna(pd.to_numeric(text, errors="coerce")))


def _frame(columns: dict[str, Values], *, copy: bool = False) -> pd.DataFrame:
    """Return columns as a frame; categoricals lose the categories that occur only at other clients."""
    used = {
        name: values.remove_unused_categories() if isinstance(values, pd.Categorical) else values
        for name, values in columns.items()
    }
    return pd.DataFrame(used, copy=copy)


def _check_columns(tables: Iterable[Table], names: Iterable[str]) -> None:
    """Check that each of the columns is in at least one table."""
    tables = list(tables)
    known = list(dict.fromkeys(name for table in tables for name in table.names))
    for name in names:
        if name not in known:
            message = f"there is no column {shown(name)}; {list_columns(known, name)}"
            raise tables[0].error(message) if len(tables) == 1 else InputError(message)
