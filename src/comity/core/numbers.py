"""Checks of numbers that users give."""

import math
from collections.abc import Callable
from typing import SupportsFloat

from comity.core.names import shown
from comity.errors import InputError


def check_finite(number: object, what: str | Callable[[], str]) -> float:
    """Check that a number is finite and return it as a float; error messages begin with `what`, text or a function.

    >>> check_finite(float("nan"), "the utility of 'a'")
    Traceback (most recent call last):
    comity.errors.InputError: the utility of 'a' is nan; it must be a finite number
    """
    if type(number) is float and math.isfinite(number):  # the usual case; the checks below take ten times as long
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
