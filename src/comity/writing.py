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


def places_for(values: Sequence[float]) -> int:
    """Return with how many decimals contributions are written: a middling one has two digits, and all have two."""
    return max(2, decimals_for(values))


def plain(value: float, places: int, sign: str = "") -> str:
    """Write a number with so many decimals, and with a plus if `sign` is one; nothing is never less than nothing.

    >>> plain(-0.04, 1), plain(-0.06, 1), plain(0.06, 1, "+")
    ('0.0', '-0.1', '+0.1')
    """
    return f"{round(value, places) + 0.0:{sign}.{places}f}"


def interval(figure: Figure, places: int, least: float, most: float) -> str:
    """Write a figure with its interval, as far as this is within what the metric can be; a dash cannot be said."""
    if math.isnan(figure.value):
        return "–"
    value = plain(figure.value, places)
    if math.isnan(figure.error):
        return value
    return f"{value} [{plain(max(figure.low, least), places)}, {plain(min(figure.high, most), places)}]"


def change(figure: Figure, places: int) -> str:
    """Write a difference with its interval, if that is known; what cannot be said is said so."""
    if math.isnan(figure.value):
        return "unknown"
    value, low, high = (plain(each, places, "+") for each in (figure.value, figure.low, figure.high))
    return value if math.isnan(figure.error) else f"{value} [{low}, {high}]"


def formed(sizes: Sequence[int]) -> str:
    """Say of coalitions of these sizes how many there are.

    >>> formed([3, 1, 2]), formed([2]), formed([1, 1])
    ('2 coalitions and 1 client alone', '1 coalition', 'everybody alone')
    """
    together = sum(size > 1 for size in sizes)
    alone = len(sizes) - together
    if not together:
        return "everybody alone"
    return count(together, "coalition") + (f" and {count(alone, 'client')} alone" if alone else "")


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
