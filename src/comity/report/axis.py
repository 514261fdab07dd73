"""One axis for the figures of all clients: where it begins and ends, and round numbers on it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from comity.report.words import minus
from comity.writing import plain

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_TICKS = 5
_ROOM = 0.04
_MOST = 9  # decimals; smaller numbers are written with an exponent


@dataclass(frozen=True, slots=True)
class Tick:
    """A round number, as it is written, and where it stands (0 to 1)."""

    text: str
    share: float


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis from `low` to `high`."""

    low: float
    high: float

    @classmethod
    def around(cls, values: Iterable[float]) -> Axis | None:
        """Return an axis with room for some values, none if there are none.

        >>> Axis.around([1.0, 2.0])
        Axis(low=0.96, high=2.04)
        """
        known = [value for value in values if math.isfinite(value)]
        if not known:
            return None
        low, high = min(known), max(known)
        if not math.isfinite(high - low):
            return None
        room = _ROOM * (high - low) or max(abs(high), 1.0) * _ROOM
        return cls(low - room, high + room)

    def share(self, value: float) -> float:
        """Return where a value stands, from 0 to 1.

        >>> Axis(1.0, 3.0).share(2.0)
        0.5
        """
        return round(min(max((value - self.low) / (self.high - self.low), 0.0), 1.0), 4)

    @property
    def ticks(self) -> tuple[Tick, ...]:
        """Round numbers on it.

        >>> [tick.text for tick in Axis(0.96, 2.04).ticks]
        ['1.00', '1.25', '1.50', '1.75', '2.00']
        """
        rough = (self.high - self.low) / _TICKS
        size = 10.0 ** math.floor(math.log10(rough))
        step = size * next(each for each in _STEPS if each * size >= rough * (1 - 1e-9))
        places = max(0, -math.floor(math.log10(step) + 1e-9) + (1 if round(step / size, 3) == 2.5 else 0))
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)

        def written(value: float) -> str:
            return minus(plain(value, places) if places < _MOST else f"{value:.3g}")

        return tuple(Tick(written(number * step), self.share(number * step)) for number in range(first, last + 1))
