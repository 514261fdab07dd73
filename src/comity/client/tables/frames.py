"""Tables in DataFrames."""

from collections.abc import Collection
from dataclasses import dataclass

import pandas as pd

from comity.client.tables.columns import Values
from comity.errors import InputError
from comity.rows.columns import as_text as to_text
from comity.rows.columns import level_of, typed


@dataclass(frozen=True, eq=False)
class FrameTable:
    """A DataFrame; error messages begin with `title`."""

    frame: pd.DataFrame
    title: str

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, as text."""
        return tuple(level_of(name) for name in self.frame.columns)

    def error(self, message: str) -> InputError:
        """Return an error whose message begins with this table's name."""
        return InputError(f"{self.title}: {message}")

    def read(self, keep: Collection[str], as_text: Collection[str]) -> dict[str, Values]:
        """Return the columns to `keep`; values of the columns in `as_text` become text."""
        return read_frame(self.frame, self.names, keep, as_text)


def read_frame(
    frame: pd.DataFrame, names: Collection[str], keep: Collection[str], as_text: Collection[str]
) -> dict[str, Values]:
    """Return the columns of a frame to `keep`, named by `names`: text is read as in a file, or kept if in `as_text`."""
    columns = {name: frame.iloc[:, place] for place, name in enumerate(names) if name in keep}
    return {name: to_text(column) if name in as_text else typed(column).array for name, column in columns.items()}
