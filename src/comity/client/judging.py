"""Answers about how well models do, on rows that had no part in them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from comity.client.rows import Encoded, Rows
from comity.errors import InputError
from comity.judgement import deviation, judged, resampled
from comity.metrics import METRICS, Metric
from comity.questions import Evaluate, Evaluation, JudgeLinear, Split

Floats = NDArray[np.float64]


def evaluate(rows: Rows, question: Evaluate) -> Evaluation:
    """Answer how well models do, those of the views on the part that each has not seen.

    Resampled rows show how far the figure varies with the rows that judge; the models would also be others with other
    rows to train on, which J parts show as much again: the variance is multiplied by 1 + J / (J - 1) (Nadeau and Bengio
    2003).
    """
    here, splits = rows.encoded(question.schema), rows.splits(question.schema, question.split)
    metric = METRICS[question.metric]
    drawn = resampled(len(here.target), Split.from_json(question.split).seed, rows.owner)
    kinds = [_Judged(metric, here, splits.judge, models, drawn) for models in question.parameters]
    base, spread = kinds[0].value(question.counted[0]), kinds[0].spread(question.counted[0])
    values, gains, errors, gain_errors = [base], [0.0], [deviation(spread)], [0.0]
    for kind, counted in zip(kinds[1:], question.counted[1:], strict=True):
        gain = kind.value(counted) - kinds[0].value(counted)
        values.append(float(np.clip(base + gain, metric.least, metric.most)))
        gains.append(values[-1] - base)
        gained = kind.spread(counted) - kinds[0].spread(counted)
        errors.append(deviation(spread + gained))
        gain_errors.append(deviation(gained))
    judges = question.counted.shape[1]
    wider = np.sqrt(1 + judges / max(judges - 1, 1))
    return Evaluation(np.array(values), wider * np.array(errors), np.array(gains), wider * np.array(gain_errors))


class _Judged:
    """What models of one kind, that of all rows and those that left out a part, predict of a client's rows."""

    def __init__(self, metric: Metric, rows: Encoded, judge: NDArray[np.intp], models: Floats, drawn: Floats) -> None:
        self.metric, self.judge, self.drawn = metric, judge, drawn
        self.target = rows.as_given(rows.target)
        whole, *parts = (rows.predict(model) for model in models)
        self.held = np.stack(parts)[judge, np.arange(len(judge))]
        once = np.ones((1, len(judge)))
        self.whole = float(metric.measure(whole, self.target, once)[0])
        self.parts = np.array([metric.measure(part, self.target, once)[0] for part in parts])

    def value(self, counted: Floats) -> float:
        """Return the metric where some parts judge, corrected for what models of fewer rows lose; none says nothing."""
        if not counted.any():
            return np.nan
        held = self.metric.measure_within(self.held, self.target, counted[self.judge][None], self.judge)[0]
        return self.metric.corrected(float(held), self.whole, self.parts[counted > 0])

    def spread(self, counted: Floats) -> Floats:
        """Return the metric in resamples (B,) of the rows that judge."""
        if not counted.any():
            return np.full(len(self.drawn), np.nan)
        return self.metric.measure_within(self.held, self.target, self.drawn * counted[self.judge], self.judge)


def judge_linear(rows: Rows, question: JudgeLinear) -> Evaluation:
    """Answer how well linear models do on the rows that are there to test with."""
    here = rows.encoded_tests(question.schema)
    if here is None:
        raise InputError(f"client {rows.owner!r} has no rows to test with")
    predictions = [here.predict(model) for model in question.parameters]
    return judged(METRICS[question.metric], here.as_given(here.target), predictions, question.seed, rows.owner)
