"""The loss of survival: minus the log partial likelihood of Cox's proportional hazards, and what it predicts.

The rows that are given are one stratum: an event is compared with the rows that are still at risk at its time. For an
event of row i at time t the loss is log Σ exp(x_jᵀθ) - x_iᵀθ, where the sum is over the rows with times of t or more.
Ties are treated as Breslow (1974) does: each event at t has the same rows at risk. There is no intercept, and an event
with nobody else at risk says nothing.

A target is a time, negative if the row was censored then: +30 is an event on day 30, -30 is last seen on day 30.
"""

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from comity.core.arrays import Booleans, Floats, Integers
from comity.core.likelihood import Dealing, Loss

_FARTHEST = 500.0  # below the largest score; rows that are less likely than that count as if they were there


@dataclass(frozen=True, slots=True, eq=False)
class CoxLoss(Loss):
    """Minus the log partial likelihood of n rows, one stratum: features (n, f), without ones, and targets (n,)."""

    features: Floats
    target: Floats
    _order: Integers = field(init=False, repr=False)
    _first: Integers = field(init=False, repr=False)
    _last: Integers = field(init=False, repr=False)

    def __post_init__(self) -> None:
        times = np.abs(self.target)
        order = np.argsort(times, kind="stable")
        object.__setattr__(self, "_order", order)
        for name, side in (("_first", "left"), ("_last", "right")):
            ends = np.searchsorted(times[order], times[order], side)  # type: ignore[call-overload]
            object.__setattr__(self, name, ends - (side == "right"))

    @property
    def intercepts(self) -> int:
        """None: it would cancel."""
        return 0

    @property
    def strata(self) -> Floats:
        """Whether there was an event."""
        return (self.target > 0).astype(np.float64)

    @property
    def dealing(self) -> Dealing:
        """Each part should have an event; without an intercept, its share of events flatters no model."""
        events = int((self.target > 0).sum())
        return Dealing(least=2, most=max(events, 1), evenly=True)

    def total(self, parameters: Floats, counts: Floats) -> float:
        """Return the loss summed over events."""
        counts, dead = counts[self._order], self._events()
        scores = self.features[self._order] @ parameters
        with np.errstate(divide="ignore"):
            weights = scores + np.log(counts)  # of rows that do not count: minus infinity
        at_risk = np.logaddexp.accumulate(weights[::-1])[::-1][self._first] if counts.size else weights
        here = dead & (counts > 0)
        return float(counts[here] @ (at_risk - scores)[here])

    def derivatives(self, parameters: Floats, counts: Floats) -> tuple[Floats, Floats]:
        """Return slope (d,) and curvature (d, d) of the loss summed over events."""
        features, counts, dead = self.features[self._order], counts[self._order], self._events()
        scores = features @ parameters
        scores = np.maximum(scores - scores.max(initial=-np.inf), -_FARTHEST)
        weights, events = counts * np.exp(scores), counts * dead
        at_risk = _from_here_on(weights)[self._first]
        here = events > 0
        hazard = np.cumsum(np.divide(events, at_risk, out=np.zeros_like(events), where=here))[self._last]
        slope = features.T @ (weights * hazard - events)
        means = _from_here_on(features * weights[:, None])[self._first][here] / at_risk[here, None]
        spread = (features * (weights * hazard)[:, None]).T @ features
        return slope, spread - (means * events[here, None]).T @ means

    def observations(self, counts: Floats) -> float:
        """Return the number of events with somebody else at risk."""
        counts, dead = counts[self._order], self._events()
        others = _from_here_on((counts > 0).astype(np.float64))[self._first] > 1
        return float(counts @ (dead & others))

    def some(self, here: object) -> Self:
        """Return the loss on some of the rows, one stratum."""
        return type(self)(self.features[here], self.target[here])  # type: ignore[call-overload]

    def _events(self) -> Booleans:
        return np.asarray(self.target[self._order] > 0)


def _from_here_on(values: Floats) -> Floats:
    """Return the sum of each entry and all later ones, along the first axis."""
    return np.cumsum(values[::-1], axis=0)[::-1]


@dataclass(frozen=True, slots=True, eq=False)
class Baseline:
    """Breslow's cumulative baseline hazard: a step at each time (T,) up to the value (T,), known until `end`."""

    times: Floats
    hazard: Floats
    end: float

    @classmethod
    def of(cls, risks: Floats, target: Floats) -> Self:
        """Estimate it from the relative risks (n,) and targets (n,) of rows that were followed.

        >>> Baseline.of(np.ones(4), np.array([2.0, -3.0, 5.0, -9.0])).hazard.tolist()
        [0.25, 0.75]
        """
        order = np.argsort(np.abs(target), kind="stable")
        times, at_risk = np.abs(target)[order], _from_here_on(risks[order])
        events, often = np.unique(target[target > 0], return_counts=True)
        hazard = np.cumsum(often / at_risk[np.searchsorted(times, events, "left")])
        return cls(events, hazard, float(times.max(initial=0.0)))

    def survival(self, risks: Floats, at: float) -> Floats:
        """Return the probability (n,) of no event until a time, by relative risks (n,); unknown after the end."""
        if not self.times.size or at > self.end:
            return np.full(risks.shape, np.nan)
        passed = np.searchsorted(self.times, at, "right")
        return np.exp(-risks * (self.hazard[passed - 1] if passed else 0.0))
