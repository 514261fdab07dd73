"""Numbers that come from outside."""

import math
from collections.abc import Callable
from typing import SupportsFloat

from comity.core.names import shown
from comity.errors import InputError


def check_finite(number: object, what: str | Callable[[], str]) -> float:
    """Return a finite number as a float; `what` begins the message of an error, or makes what begins it.

    >>> check_finite(float("nan"), "the utility of 'a'")
    Traceback (most recent call last):
    comity.errors.InputError: the utility of 'a' is nan; it must be a finite number
    """
    if type(number) is float and math.isfinite(number):  # most are, and the rest takes ten times as long
        return number
    if callable(what):
        what = what()
    if isinstance(number, bool | str | bytes) or not isinstance(number, SupportsFloat):
        raise InputError(f"{what} is {shown(number)}; it must be a number")
    try:
        value = float(number)
    except (OverflowError, ValueError, TypeError):
        value = math.inf
    if not math.isfinite(value):
        raise InputError(f"{what} is {shown(number)}; it must be a finite number")
    return value
