"""Tables in Parquet files, read in parts; this needs pyarrow."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from comity.client.tables.columns import Column, Values, rows_in_part
from comity.core.extras import require
from comity.errors import FormatError
from comity.rows.columns import level_of

_INDEX = re.compile(r"__index_level_\d+__")  # pandas stores the names of rows in columns with such names


@dataclass(frozen=True)
class ParquetTable:
    """A Parquet file. Its text is read as that of a CSV file, but for columns with a dictionary, which stay text."""

    path: Path
    names: tuple[str, ...]

    @classmethod
    def open(cls, path: Path, encoding: str) -> ParquetTable:
        """Read the names of the columns."""
        with _opened(path) as file:
            names, rows = file.schema_arrow.names, file.metadata.num_rows
        if not rows:
            raise FormatError(f"{path}: there are no rows")
        return cls(path, tuple(name for name in names if not _INDEX.fullmatch(name)))

    def error(self, message: str) -> FormatError:
        """Return an error about this file."""
        return FormatError(f"{self.path}: {message}")

    def read(self, keep: Collection[str], as_text: Collection[str]) -> dict[str, Values]:
        """Return the columns to `keep`; values of the columns in `as_text` are not turned into numbers."""
        columns = {name: Column() for name in keep}
        size = rows_in_part(len(self.names))
        with _opened(self.path) as file:
            text = {*as_text, *(each.name for each in file.schema_arrow if hasattr(each.type, "value_type"))}
            for batch in file.iter_batches(batch_size=size, columns=list(keep), use_threads=False):
                for name, column in columns.items():
                    column.add(_simplify(batch.column(name).to_pandas()))
        return {name: column.finish(recognised=name not in text) for name, column in columns.items()}


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open a Parquet file; any error in reading it becomes one message that begins with its name."""
    arrow = require("pyarrow", "to read Parquet files")
    try:
        with require("pyarrow.parquet", "to read Parquet files").ParquetFile(path) as file:
            yield file
    except (arrow.ArrowException, OSError) as error:
        raise FormatError(f"{path}: not a Parquet file that can be read ({str(error).splitlines()[0]})") from None


def _simplify(values: pd.Series) -> pd.Series:
    """Return values of one of the types that a `Column` holds: whole numbers, numbers, true and false, or text."""
    dtype = values.dtype
    if dtype in (np.bool_, np.uint64):
        return values
    if pd.api.types.is_integer_dtype(dtype):
        return values.astype(np.int64)
    if pd.api.types.is_float_dtype(dtype):
        return values.astype(np.float64)
    values = values.astype(object)
    present = values.dropna()
    kind = pd.api.types.infer_dtype(present)
    if kind in ("string", "boolean"):
        return values
    if kind == "empty":
        return pd.Series(np.nan, values.index)
    if kind == "decimal":
        return values.astype(np.float64)
    return present.map(level_of).astype(object).reindex(values.index)
