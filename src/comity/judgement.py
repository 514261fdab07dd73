"""How well models do on rows that had no part in them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from comity.metrics import Metric
from comity.questions import Evaluation
from comity.splits import FOR_ERRORS, generator_for

Floats = NDArray[np.float64]
_RESAMPLES = 200
_FEWEST = 10  # rows, of which resamples tell how much a figure varies


def judged(metric: Metric, target: Floats, predictions: Sequence[Floats], seed: int, owner: str) -> Evaluation:
    """Return how well M models do by their predictions of a target (n,), and what they gain over the first.

    Standard errors are from resampled rows.
    """
    once = np.ones((1, target.size))
    drawn = resampled(target.size, seed, owner) if target.size >= _FEWEST else once
    values = np.array([metric.measure(each, target, once)[0] for each in predictions])
    spread = np.stack([metric.measure(each, target, drawn) for each in predictions])
    return Evaluation(values, _deviations(spread), values - values[0], _deviations(spread - spread[0]))


def resampled(rows: int, seed: int, owner: str) -> Floats:
    """Return how often each of an owner's rows stands in some resamples (B, n), for standard errors."""
    generator = generator_for(seed, owner, FOR_ERRORS)
    return generator.multinomial(rows, np.full(rows, 1 / rows), _RESAMPLES).astype(np.float64)


def deviation(spread: Floats) -> float:
    """Return the standard deviation over resamples (B,) that have a value: one of a single class has no AUC.

    Where they all have the same value, other than 0, they are too few rows to tell it by.
    """
    known = spread[~np.isnan(spread)]
    if known.size <= 1 or (known[0] != 0 and (known == known[0]).all()):
        return np.nan
    return float(known.std())


def _deviations(spread: Floats) -> Floats:
    return np.array([deviation(each) for each in spread])
