"""Answers about losses: their moments, expansions, and gradients at given parameters."""

import numpy as np

from comity.core.arrays import Floats
from comity.families.glm.answers.noisy_moments import noisy_expand, noisy_moments, noisy_slopes
from comity.questions import Expand, Expansion, Moments, MomentsAnswer, Slopes, SlopesAnswer
from comity.rows.rows import Encoded, Rows
from comity.rows.splits import Splits


def moments(rows: Rows, question: Moments) -> MomentsAnswer:
    """Return the moments of the rows in each view and fold."""
    if rows.noise is not None:
        return noisy_moments(rows, question, rows.noise)
    here, splits = rows.encoded(question.schema), rows.splits(question.schema, question.split)
    answers = [_moments_of_view(here, splits, view, question.points) for view in range(len(splits.counts))]
    return MomentsAnswer(*(np.stack(part) for part in zip(*answers, strict=True)))


def expand(rows: Rows, question: Expand) -> Expansion:
    """Return the expansions of the loss at every client's point."""
    if rows.noise is not None:
        return noisy_expand(rows, question, rows.noise)
    here, splits = rows.encoded(question.schema), rows.splits(question.schema, question.split)
    own = question.points[:, question.own]
    folds = [_moments_of_view(here, splits, view, own) for view in range(len(own))]
    whole = [
        [_moments_of_rows(here, splits.counts[view], points[place : place + 1])[:2] for place in range(len(points))]
        for view, points in enumerate(question.points)
    ]
    gram, cross, square, count = (np.stack(part) for part in zip(*folds, strict=True))
    whole_gram = np.array([[gram for gram, _ in each] for each in whole])
    whole_cross = np.array([[cross for _, cross in each] for each in whole])
    return Expansion(gram, cross, square, count, whole_gram, whole_cross)


def _moments_of_view(rows: Encoded, splits: Splits, view: int, points: Floats) -> tuple[Floats, ...]:
    folds = [_moments_of_rows(rows, splits.counts[view] * mask, points[view : view + 1]) for mask in splits.masks]
    gram, cross, square, count = zip(*folds, strict=True)
    return np.stack(gram), np.stack(cross), np.array(square), np.array(count)


def _moments_of_rows(rows: Encoded, counts: Floats, point: Floats) -> tuple[Floats, Floats, float, float]:
    """Return the moments of rows that count `counts` times: those of the expansion of their loss at a point (1, d)."""
    here = np.flatnonzero(counts)
    return rows.loss.some(here).expanded(point[0] if len(point) else np.empty(0), counts[here])


def slopes(rows: Rows, question: Slopes) -> SlopesAnswer:
    """Return loss, gradient and curvature at some parameters."""
    if rows.noise is not None:
        return noisy_slopes(rows, question, rows.noise)
    loss = rows.encoded(question.schema).loss
    counts = rows.splits(question.schema, question.split).counts[question.views.astype(np.intp)]
    every = list(zip(question.parameters, counts, strict=True))
    derivatives = [loss.derivatives(model, count) for model, count in every]
    return SlopesAnswer(
        losses=np.array([loss.total(model, count) for model, count in every]),
        slopes=np.stack([slope for slope, _ in derivatives]),
        curvatures=np.stack([curvature for _, curvature in derivatives]),
        rows=np.array([loss.observations(count) for count in counts]),
    )
