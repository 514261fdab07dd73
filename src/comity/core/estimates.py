"""Estimates in a result: each client's metric with each model, contributions, and confidence."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

_STANDARD_ERRORS = 1.96  # from the estimate to either end of its 95 % interval
_NOT_ESTIMATES = {"rows", "probability"}


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate and its standard error, on rows used neither to train nor to choose a model; NaN if unknown."""

    value: float
    error: float

    def __neg__(self) -> "Estimate":
        return Estimate(-self.value, self.error)

    def to_dict(self) -> dict[str, float | None]:
        """Return it as values that JSON can hold, None for NaN."""
        return {part: None if math.isnan(value) else value for part, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, document: Mapping[str, float | None]) -> Self:
        """Return the estimate that `to_dict` wrote."""
        value, error = document["value"], document["error"]
        return cls(math.nan if value is None else value, math.nan if error is None else error)

    @property
    def low(self) -> float:
        """The lower end of the 95 % interval."""
        return self.value - _STANDARD_ERRORS * self.error

    @property
    def high(self) -> float:
        """The upper end of the 95 % interval."""
        return self.value + _STANDARD_ERRORS * self.error


@dataclass(frozen=True, slots=True)
class Standing:
    """A client's number of rows, its metric with each of its four models, and the gains over its model alone.

    `probability` is that of a gain in the coalition; NaN where it was not estimated.
    """

    rows: int
    alone: Estimate
    coalition: Estimate
    best: Estimate
    together: Estimate
    gain: Estimate
    gain_at_best: Estimate
    gain_together: Estimate
    probability: float = math.nan

    def to_dict(self) -> dict[str, Any]:
        """Return the estimates as values that JSON can hold, None for NaN."""
        document: dict[str, Any] = {"rows": self.rows}
        for each in fields(self):
            if each.name not in _NOT_ESTIMATES:
                document[each.name] = getattr(self, each.name).to_dict()
        return document | {"probability": None if math.isnan(self.probability) else self.probability}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Return the estimates that `to_dict` wrote."""
        estimates = {name: Estimate.from_dict(entry) for name, entry in document.items() if name not in _NOT_ESTIMATES}
        probability = document["probability"]
        return cls(document["rows"], **estimates, probability=math.nan if probability is None else probability)


@dataclass(frozen=True, slots=True)
class Contribution:
    """How much the loss of `receiver` in its coalition would rise without `giver`, and the probability that it would.

    The probability is not a number where it was not estimated.
    """

    giver: str
    receiver: str
    value: float
    probability: float = math.nan

    def to_dict(self) -> dict[str, Any]:
        """Return it as values that JSON can hold, None for NaN."""
        return asdict(self) | {"probability": None if math.isnan(self.probability) else self.probability}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Return what `to_dict` wrote."""
        probability = document["probability"]
        return cls(
            document["giver"], document["receiver"], document["value"], math.nan if probability is None else probability
        )


@dataclass(frozen=True, slots=True)
class Confidence:
    """The share of resamples of the rows that gave the same partition, and that had each edge giver → receiver."""

    resamples: int
    equilibrium: float
    edges: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the shares as values that JSON can hold."""
        edges = [{"from": giver, "to": receiver, "share": share} for (giver, receiver), share in self.edges.items()]
        return {"resamples": self.resamples, "equilibrium": self.equilibrium, "edges": edges}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Return the shares that `to_dict` wrote."""
        edges = {(edge["from"], edge["to"]): edge["share"] for edge in document["edges"]}
        return cls(document["resamples"], document["equilibrium"], edges)
