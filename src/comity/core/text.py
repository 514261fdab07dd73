"""Numbers and names written for people."""

import itertools
import math
import statistics
from collections.abc import Sequence

from comity.core.estimates import Estimate

_MAX_DECIMALS = 6
_MIN_WEIGHT_SHOWN = 0.005  # smaller weights are written as "<0.01"


def count(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun.

    >>> count(1, "client"), count(2000, "client")
    ('1 client', '2,000 clients')
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def join(names: Sequence[str]) -> str:
    """Return names joined as in a sentence.

    >>> join(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def format_weight(weight: float) -> str:
    """Return a weight with two decimals; a small weight differs from zero.

    >>> format_weight(0.25), format_weight(1e-6), format_weight(0.0)
    ('0.25', '<0.01', '0.00')
    """
    return "<0.01" if 0 < weight < _MIN_WEIGHT_SHOWN else f"{weight:.2f}"


def decimals_for(errors: Sequence[float]) -> int:
    """Return the number of decimals with which the median of the standard errors has two significant digits."""
    known = [error for error in errors if error > 0]
    if not known:
        return 3
    return min(max(1 - math.floor(math.log10(statistics.median(known))), 0), _MAX_DECIMALS)


def places_for(values: Sequence[float]) -> int:
    """Return the number of decimals, at least two, with which the median value has two significant digits."""
    return max(2, decimals_for(values))


def format_number(value: float, places: int, sign: str = "") -> str:
    """Return a number with the given decimals, with a plus if `sign` is "+"; there is no negative zero.

    >>> format_number(-0.04, 1), format_number(-0.06, 1), format_number(0.06, 1, "+")
    ('0.0', '-0.1', '+0.1')
    """
    return f"{round(value, places) + 0.0:{sign}.{places}f}"


def format_interval(estimate: Estimate, places: int, least: float, most: float, sign: str = "") -> str:
    """Return an estimate with its interval, cut to the range of the metric; a dash if the estimate is unknown."""
    if math.isnan(estimate.value):
        return "–"
    ends = (estimate.value, max(estimate.low, least), min(estimate.high, most))
    value, low, high = (format_number(each, places, sign) for each in ends)
    return value if math.isnan(estimate.error) else f"{value} [{low}, {high}]"


def format_change(estimate: Estimate, places: int, least: float = -math.inf, most: float = math.inf) -> str:
    """Return a difference with its sign and, if it is known, its interval, cut to what is possible."""
    return "unknown" if math.isnan(estimate.value) else format_interval(estimate, places, least, most, "+")


def count_coalitions(sizes: Sequence[int]) -> str:
    """Return how many coalitions and single clients there are, given the sizes of all coalitions.

    >>> count_coalitions([3, 1, 2]), count_coalitions([2]), count_coalitions([1, 1])
    ('2 coalitions and 1 client alone', '1 coalition', 'everybody alone')
    """
    together = sum(size > 1 for size in sizes)
    alone = len(sizes) - together
    if not together:
        return "everybody alone"
    return count(together, "coalition") + (f" and {count(alone, 'client')} alone" if alone else "")


def number_coalitions(sizes: Sequence[int]) -> list[str]:
    """Return what people call each coalition: a number from 1 on, or "alone" for a client that is alone.

    >>> number_coalitions([1, 3, 1, 2])
    ['alone', '1', 'alone', '2']
    """
    together = itertools.count(1)
    return [str(next(together)) if size > 1 else "alone" for size in sizes]


def format_percent(share: float) -> str:
    """Return a share as a percentage.

    >>> format_percent(0.5)
    '50 %'
    """
    return f"{100 * share:.0f} %"


def format_probability(probability: float) -> str:
    """Return a probability as a percentage that is never 0 or 100; a dash if it is not known.

    >>> format_probability(0.934), format_probability(0.9999), format_probability(math.nan)
    ('93 %', '>99 %', '–')
    """
    if math.isnan(probability):
        return "–"
    return ">99 %" if probability > 0.99 else "<1 %" if probability < 0.01 else format_percent(probability)


def format_bytes(number: int) -> str:
    """Return a number of bytes with its unit.

    >>> format_bytes(812), format_bytes(81_200), format_bytes(8_120_000)
    ('812 B', '81 kB', '8.1 MB')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= size:
            scaled = number / size
            return f"{scaled:.1f} {unit}" if scaled < 10 else f"{scaled:.0f} {unit}"
    return f"{number} B"
