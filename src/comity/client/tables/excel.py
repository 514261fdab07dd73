"""Tables in Excel files; this needs openpyxl."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import pandas as pd

from comity.client.tables.columns import Values
from comity.client.tables.frames import read_frame
from comity.core.extras import require
from comity.errors import FormatError
from comity.rows.columns import level_of


@dataclass(frozen=True, eq=False)
class ExcelTable:
    """The first sheet of an Excel file; its first row that is not empty names the columns."""

    path: Path
    names: tuple[str, ...]
    frame: pd.DataFrame

    @classmethod
    def open(cls, path: Path, encoding: str) -> ExcelTable:
        """Read the whole sheet; values that a CSV file would have as missing are missing."""
        require("openpyxl", "to read Excel files")
        try:
            with warnings.catch_warnings():  # of styles and the like, which do not matter here
                warnings.simplefilter("ignore")
                sheet = pd.read_excel(path, header=None, dtype=object, engine="openpyxl").dropna(how="all")
        except (OSError, BadZipFile, KeyError, ValueError) as error:
            raise FormatError(f"{path}: not an Excel file that can be read ({str(error).splitlines()[0]})") from None
        sheet = sheet.dropna(axis=1, how="all")
        if len(sheet) < 2:
            raise FormatError(f"{path}: there {'are no rows' if len(sheet) else 'is nothing in it'}")
        header = sheet.iloc[0].tolist()
        names = [f"Unnamed: {place}" if pd.isna(name) else level_of(name) for place, name in enumerate(header)]
        return cls(path, tuple(names), sheet.iloc[1:].reset_index(drop=True).infer_objects())

    def error(self, message: str) -> FormatError:
        """Return an error about this file."""
        return FormatError(f"{self.path}: {message}")

    def read(self, keep: Collection[str], as_text: Collection[str]) -> dict[str, Values]:
        """Return the columns to `keep`; values of the columns in `as_text` are not turned into numbers."""
        return read_frame(self.frame, self.names, keep, as_text)
