"""The metric of models on held-out rows, with bootstrap standard errors."""

from collections.abc import Sequence

import numpy as np

from comity.core.arrays import Floats, Integers
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


def evaluate_kinds(
    metric: Metric,
    target: Floats,
    judge: Integers,
    kinds: Sequence[Sequence[Floats]],
    counted: Floats,
    seed: int,
    owner: str,
) -> Evaluation:
    """Return the metric of M kinds of models, those of each of J views on the part of the rows that it leaves out.

    Bootstrap samples give the variance due to the rows that evaluate. The models vary too, with the rows that train:
    with J parts, the variance is multiplied by 1 + J / (J - 1) (Nadeau and Bengio 2003).

    Args:
        metric: The metric.
        target: The target (n,), as given.
        judge: The part of each row (n,).
        kinds: Of each kind, the predictions of 1 + J models on all rows: that of all, and those without each part.
        counted: One where a part counts for a kind (M, J), and zero elsewhere.
        seed: The seed of the resamples.
        owner: The owner of the rows.
    """
    if not len(target):
        return Evaluation(*np.full((4, len(kinds)), np.nan))
    drawn = resample_counts(len(target), seed, owner)
    judged = [_Judged(metric, target, judge, predictions, drawn) for predictions in kinds]
    base, spread = judged[0].value(counted[0]), judged[0].spread(counted[0])
    values, gains, errors, gain_errors = [base], [0.0], [standard_error(spread)], [0.0]
    for kind, counts in zip(judged[1:], counted[1:], strict=True):
        gain = kind.value(counts) - judged[0].value(counts)
        values.append(float(np.clip(base + gain, metric.least, metric.most)))
        gains.append(values[-1] - base)
        gained = kind.spread(counts) - judged[0].spread(counts)
        errors.append(standard_error(spread + gained))
        gain_errors.append(standard_error(gained))
    parts = counted.shape[1]
    wider = np.sqrt(1 + parts / max(parts - 1, 1))
    return Evaluation(np.array(values), wider * np.array(errors), np.array(gains), wider * np.array(gain_errors))


class _Judged:
    """Predictions of the models of one kind, that of all rows and those that leave out a part, and their metric."""

    def __init__(
        self, metric: Metric, target: Floats, judge: Integers, predictions: Sequence[Floats], drawn: Floats
    ) -> None:
        self.metric, self.target, self.judge, self.drawn = metric, target, judge, drawn
        whole, *parts = predictions
        self.held = np.stack(parts)[judge, np.arange(len(judge))]
        once = np.ones((1, len(judge)))
        self.whole = float(metric.measure(whole, target, once)[0])
        self.parts = np.array([metric.measure(part, target, once)[0] for part in parts])

    def value(self, counted: Floats) -> float:
        """Return the metric on the parts that count, corrected for the fewer training rows; NaN if no part counts."""
        if not counted.any():
            return np.nan
        held = self.metric.measure_within(self.held, self.target, counted[self.judge][None], self.judge)[0]
        return self.metric.corrected(float(held), self.whole, self.parts[counted > 0])

    def spread(self, counted: Floats) -> Floats:
        """Return the metric on bootstrap samples (B,) of the parts that count."""
        if not counted.any():
            return np.full(len(self.drawn), np.nan)
        return self.metric.measure_within(self.held, self.target, self.drawn * counted[self.judge], self.judge)


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
