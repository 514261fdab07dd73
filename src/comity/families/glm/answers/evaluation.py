"""Evaluation of linear models on rows that they were not trained on."""

import numpy as np
from numpy.typing import NDArray

from comity.core.arrays import Floats
from comity.core.metrics import METRICS, Metric
from comity.errors import InputError
from comity.questions import Evaluate, EvaluateLinear, Evaluation
from comity.rows.evaluation import evaluate_predictions, resample_counts, standard_error
from comity.rows.rows import Encoded, Rows


def evaluate(rows: Rows, question: Evaluate) -> Evaluation:
    """Return how well models do, those of each view on the part of the rows that it leaves out.

    Bootstrap samples give the variance due to the rows that evaluate. The models vary too, with the rows that train:
    with J parts, the variance is multiplied by 1 + J / (J - 1) (Nadeau and Bengio 2003).
    """
    here, splits = rows.encoded(question.schema), rows.splits(question.schema, question.split)
    if not len(here.target):
        return Evaluation(*np.full((4, len(question.parameters)), np.nan))
    metric = METRICS[question.metric]
    drawn = resample_counts(len(here.target), question.split.seed, rows.owner)
    kinds = [_Judged(metric, here, splits.judge, models, drawn) for models in question.parameters]
    base, spread = kinds[0].value(question.counted[0]), kinds[0].spread(question.counted[0])
    values, gains, errors, gain_errors = [base], [0.0], [standard_error(spread)], [0.0]
    for kind, counted in zip(kinds[1:], question.counted[1:], strict=True):
        gain = kind.value(counted) - kinds[0].value(counted)
        values.append(float(np.clip(base + gain, metric.least, metric.most)))
        gains.append(values[-1] - base)
        gained = kind.spread(counted) - kinds[0].spread(counted)
        errors.append(standard_error(spread + gained))
        gain_errors.append(standard_error(gained))
    judges = question.counted.shape[1]
    wider = np.sqrt(1 + judges / max(judges - 1, 1))
    return Evaluation(np.array(values), wider * np.array(errors), np.array(gains), wider * np.array(gain_errors))


class _Judged:
    """Predictions of the models of one kind, that of all rows and those that leave out a part, and their metric."""

    def __init__(self, metric: Metric, rows: Encoded, judge: NDArray[np.intp], models: Floats, drawn: Floats) -> None:
        self.metric, self.judge, self.drawn = metric, judge, drawn
        self.target = rows.as_given(rows.target)
        whole, *parts = (rows.predict(model) for model in models)
        self.held = np.stack(parts)[judge, np.arange(len(judge))]
        once = np.ones((1, len(judge)))
        self.whole = float(metric.measure(whole, self.target, once)[0])
        self.parts = np.array([metric.measure(part, self.target, once)[0] for part in parts])

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


def evaluate_linear(rows: Rows, question: EvaluateLinear) -> Evaluation:
    """Return how well linear models do on the test rows."""
    here = rows.encoded_tests(question.schema)
    if here is None:
        raise InputError(f"client {rows.owner!r} has no rows to test with")
    predictions = [here.predict(model) for model in question.parameters]
    return evaluate_predictions(
        METRICS[question.metric], here.as_given(here.target), predictions, question.seed, rows.owner
    )
