"""The axis that the scores of all clients share: its range, and round numbers on it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from comity.core.text import format_number
from comity.report.words import minus

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_INTERVALS = 5  # between ticks, about
_MARGIN = 0.04  # of the range, on either side
_MAX_PLACES = 9  # decimals; smaller numbers are written with an exponent


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis from `low` to `high`."""

    low: float
    high: float

    @classmethod
    def around(cls, values: Iterable[float]) -> Axis | None:
        """Return an axis that covers the finite values with a margin, or none if there are none.

        >>> Axis.around([1.0, 2.0])
        Axis(low=0.96, high=2.04)
        """
        finite = [value for value in values if math.isfinite(value)]
        low, high = min(finite, default=math.nan), max(finite, default=math.nan)
        if not math.isfinite(high - low):
            return None
        margin = _MARGIN * (high - low) or max(abs(high), 1.0) * _MARGIN
        return cls(low - margin, high + margin)

    def share(self, value: float) -> float:
        """Return the position of a value, from 0 to 1.

        >>> Axis(1.0, 3.0).share(2.0)
        0.5
        """
        return round(min(max((value - self.low) / (self.high - self.low), 0.0), 1.0), 4)

    @property
    def ticks(self) -> list[tuple[str, float]]:
        """Round numbers on the axis, as text, and their positions (0 to 1).

        >>> Axis(0.75, 2.25).ticks
        [('1.0', 0.1667), ('1.5', 0.5), ('2.0', 0.8333)]
        """
        rough = (self.high - self.low) / _INTERVALS
        size = 10.0 ** math.floor(math.log10(rough))
        step = size * next(factor for factor in _STEPS if factor * size >= rough * (1 - 1e-9))
        places = max(0, -math.floor(math.log10(step) + 1e-9) + (1 if round(step / size, 3) == 2.5 else 0))
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)

        def text(value: float) -> str:
            return minus(format_number(value, places) if places < _MAX_PLACES else f"{value:.3g}")

        return [(text(number * step), self.share(number * step)) for number in range(first, last + 1)]
