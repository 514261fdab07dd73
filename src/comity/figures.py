"""The figures of a result: how a client stands, what one brings another, and how sure it is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

# Models of a client: its own, in its coalition, with everybody willing, and for comparison one for all on all rows.
KINDS = ("alone", "coalition", "best", "together")
_NORMAL = 1.96  # standard errors on either side: an interval of 95 %


@dataclass(frozen=True, slots=True)
class Figure:
    """A number and its standard error. NaN: cannot be said.

    Both are estimated on rows that chose and trained nothing; what models of fewer rows lose is corrected for, and that
    correction compares models on rows that trained them.
    """

    value: float
    error: float

    @property
    def low(self) -> float:
        """Where the interval of 95 % begins."""
        return self.value - _NORMAL * self.error

    @property
    def high(self) -> float:
        """Where the interval of 95 % ends."""
        return self.value + _NORMAL * self.error


@dataclass(frozen=True, slots=True)
class Standing:
    """How a client stands: its rows, the metric alone, in its coalition, at best, and with one model for all.

    Gains are those of the others over alone.
    """

    rows: int
    alone: Figure
    coalition: Figure
    best: Figure
    together: Figure
    gain: Figure
    gain_at_best: Figure
    gain_together: Figure

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values, none for what cannot be said."""
        told = {name: _plain(figure) for name, figure in asdict(self).items() if name != "rows"}
        return {"rows": self.rows, **told}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Self:
        """Return the figures that were plain values."""
        figures = {
            name: Figure(*(math.nan if each is None else each for each in (figure["value"], figure["error"])))
            for name, figure in told.items()
            if name != "rows"
        }
        return cls(told["rows"], **figures)


@dataclass(frozen=True, slots=True)
class Contribution:
    """What `giver` brings `receiver` in their coalition: the cross-fitted loss that it would have more without."""

    giver: str
    receiver: str
    value: float


@dataclass(frozen=True, slots=True)
class Confidence:
    """How often something held in resamples of the rows: the coalitions as a whole, and each edge giver → receiver."""

    resamples: int
    equilibrium: float
    edges: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the shares as plain values."""
        edges = [{"from": giver, "to": receiver, "share": share} for (giver, receiver), share in self.edges.items()]
        return {"resamples": self.resamples, "equilibrium": self.equilibrium, "edges": edges}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Self:
        """Return the shares that were plain values."""
        edges = {(edge["from"], edge["to"]): edge["share"] for edge in told["edges"]}
        return cls(told["resamples"], told["equilibrium"], edges)


def _plain(figure: Mapping[str, float]) -> dict[str, float | None]:
    return {name: None if math.isnan(value) else value for name, value in figure.items()}
