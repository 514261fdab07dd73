"""The metric of models on held-out rows, with bootstrap standard errors."""

from collections.abc import Sequence

import numpy as np

from comity.core.arrays import Floats
from comity.core.metrics import Metric
from comity.questions import Evaluation
from comity.rows.splits import FOR_ERRORS, generator_for

_RESAMPLES = 200
_MIN_ROWS_TO_RESAMPLE = 10  # resamples of fewer rows do not show how much a metric varies


def evaluate_predictions(
    metric: Metric, target: Floats, predictions: Sequence[Floats], seed: int, owner: str
) -> Evaluation:
    """Return the metric of M models by their predictions of a target (n,), and their gains over the first model.

    Standard errors come from B bootstrap resamples of the rows.
    """
    once = np.ones((1, target.size))
    counts = resample_counts(target.size, seed, owner) if target.size >= _MIN_ROWS_TO_RESAMPLE else once
    values = np.array([metric.measure(predicted, target, once)[0] for predicted in predictions])
    replicates = np.stack([metric.measure(predicted, target, counts) for predicted in predictions])
    errors, gain_errors = (
        np.array([standard_error(of_model) for of_model in each]) for each in (replicates, replicates - replicates[0])
    )
    return Evaluation(values, errors, values - values[0], gain_errors)


def resample_counts(rows: int, seed: int, owner: str) -> Floats:
    """Return how often each of an owner's n rows occurs in each of B bootstrap resamples (B, n)."""
    generator = generator_for(seed, owner, FOR_ERRORS)
    return generator.multinomial(rows, np.full(rows, 1 / rows), _RESAMPLES).astype(np.float64)


def standard_error(replicates: Floats) -> float:
    """Return the standard deviation of a metric over the resamples (B,) in which it is defined.

    A resample of a single class has no AUC, for example. The result is not a number if the metric is the same in all
    resamples and not 0: then the rows are too few to estimate how much it varies.
    """
    known = replicates[~np.isnan(replicates)]
    if known.size <= 1 or (known[0] != 0 and (known == known[0]).all()):
        return np.nan
    return float(known.std())
