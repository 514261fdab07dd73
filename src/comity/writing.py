"""Numbers and names as people read them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from comity.figures import Figure

_MOST_PLACES = 6
HARDLY = 0.005  # of a weight: less is written as next to nothing


def count(number: int, one: str, many: str | None = None) -> str:
    """Write a number with its noun.

    >>> count(1, "client"), count(2000, "client")
    ('1 client', '2,000 clients')
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def join(names: Sequence[str]) -> str:
    """Write names as in a sentence.

    >>> join(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def share_of(weight: float) -> str:
    """Write a weight; one that is hardly there is not nothing.

    >>> share_of(0.25), share_of(1e-6), share_of(0.0)
    ('0.25', '<0.01', '0.00')
    """
    return "<0.01" if 0 < weight < HARDLY else f"{weight:.2f}"


def decimals_for(errors: Sequence[float]) -> int:
    """Return with how many decimals figures are written: a middling error has two digits."""
    known = [error for error in errors if error > 0]
    if not known:
        return 3
    return min(max(1 - math.floor(math.log10(statistics.median(known))), 0), _MOST_PLACES)


def interval(figure: Figure, places: int, least: float, most: float) -> str:
    """Write a figure with its interval, as far as this is within what the metric can be; a dash cannot be said."""
    if math.isnan(figure.value):
        return "–"
    low, high = max(figure.low, least), min(figure.high, most)
    if math.isnan(low) or math.isnan(high):
        return f"{figure.value:.{places}f}"
    return f"{figure.value:.{places}f} [{low:.{places}f}, {high:.{places}f}]"


def change(figure: Figure, places: int) -> str:
    """Write a difference with its interval; what cannot be said is said so."""
    if math.isnan(figure.value) or math.isnan(figure.error):
        return "unknown"
    value, low, high = (f"{round(each, places) + 0.0:+.{places}f}" for each in (figure.value, figure.low, figure.high))
    return f"{value} [{low}, {high}]"


def percent(share: float) -> str:
    """Write a share.

    >>> percent(0.5)
    '50 %'
    """
    return f"{100 * share:.0f} %"


def bytes_of(number: int) -> str:
    """Write a number of bytes.

    >>> bytes_of(812), bytes_of(81_200), bytes_of(8_120_000)
    ('812 B', '81 kB', '8.1 MB')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= size:
            scaled = number / size
            return f"{scaled:.1f} {unit}" if scaled < 10 else f"{scaled:.0f} {unit}"
    return f"{number} B"
