"""What clients tell of their columns, and what all clients together have."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from comity.errors import InputError

ColumnKind = Literal["number", "date", "text", "empty"]
Look = Literal["", "row numbers", "numbers", "numbers and text", "decimal commas", "dates", "free text"]
Sign = Literal["", "positive", "zero", "negative"]


@dataclass(frozen=True, slots=True)
class ColumnSummary:
    """A client's summary of one of its columns.

    `kind` says what the values are; `present` and `missing` count the values; `distinct` counts the different ones;
    `whole` says that all are whole numbers; `infinite` counts infinities; `mean` and `squares` (the sum of squares
    about the mean) are those of the finite numbers, or of dates as days since 2000-01-01; `levels` counts the rows of
    each different value, or is None if there are too many to list.

    `look` says what the values look like. Whole numbers may look like row numbers: consecutive, or rising or falling
    from row to row. Text may look like numbers (all or some of the values), like numbers with decimal commas, like
    dates that cannot be read (some of them, or because they do not say which is the day), or like free text (four
    words or more on average, hardly any text twice).

    `sign` says whether the finite numbers are all positive, or whether there are zeros, or negative ones.
    """

    name: str
    kind: ColumnKind
    present: int
    missing: int
    distinct: int
    whole: bool = False
    infinite: int = 0
    mean: float = 0.0
    squares: float = 0.0
    levels: dict[str, int] | None = None
    look: Look = ""
    sign: Sign = ""


def sign_of(least: float) -> Sign:
    """Return the sign of numbers, the least of which is known.

    >>> [sign_of(least) for least in (0.5, 0.0, -1.0)]
    ['positive', 'zero', 'negative']
    """
    if least > 0:
        return "positive"
    return "zero" if least == 0 else "negative"


def check_decimal_points(what: str, client: str, column: ColumnSummary) -> None:
    """Raise an error if a client has decimal commas."""
    if column.look == "decimal commas":
        raise InputError(
            f"{what} has numbers with a comma at client {client!r}; write decimals with a point, as in 1.5, and "
            "thousands without a sign, as in 21574"
        )


def unusable_value(column: ColumnSummary) -> str:
    """Return which value of a column cannot be computed with, or an empty text."""
    if column.infinite:
        return "an infinite value"
    return "" if math.isfinite(column.squares) else "a value too large to compute with"


def count_levels(columns: Iterable[ColumnSummary]) -> Counter[str]:
    """Return the number of rows of each level over all clients."""
    levels = Counter[str]()
    for column in columns:
        levels.update(column.levels or {})
    return levels


def pool(columns: Iterable[ColumnSummary]) -> tuple[float, float]:
    """Return the mean and the standard deviation over all clients, from the mean and the squares of each."""
    columns = list(columns)
    total = sum(column.present for column in columns)
    mean = math.fsum(column.present * column.mean for column in columns) / total
    squares = math.fsum(column.squares + column.present * (column.mean - mean) ** 2 for column in columns)
    scale = math.sqrt(squares / total)
    # A deviation this small is the rounding error of a constant column.
    return mean, 0.0 if scale <= 1e-12 * max(abs(mean), 1e-300) else scale
