"""Metrics that compare rows: area under the ROC curve, concordance of survival, sensitivity at a specificity.

Scores of models that were trained without different parts cannot be compared: the model for a part that holds a
rare positive row was trained with fewer positives, and scores all rows lower. So rows are compared with those of the
same part (n,), which one model predicted.
"""

from collections.abc import Iterator

import numpy as np

from comity.core.arrays import Booleans, Floats, Integers

_BLOCK = 256  # events that are compared with all rows at once


def auc(predictions: Floats, target: Floats, counts: Floats, parts: Integers | None = None) -> Floats:
    """Return the area under the ROC curve; for more than two classes, the mean over one-vs-rest of those that occur."""
    classes = predictions.shape[1]
    if classes == 2:
        return _auc_of_pair(predictions[:, 1], target == 1, counts, parts)
    areas = np.stack([_auc_of_pair(predictions[:, label], target == label, counts, parts) for label in range(classes)])
    known = ~np.isnan(areas)
    return _ratio(np.where(known, areas, 0.0).sum(axis=0), known.sum(axis=0))


def _auc_of_pair(scores: Floats, positive: Booleans, counts: Floats, parts: Integers | None) -> Floats:
    """Return the probability that a positive row scores above a negative row of its part; ties count half."""
    wins = pairs = np.zeros(len(counts))
    for rows in _parts(scores.size, parts):
        hits, misses = _by_score(scores[rows], positive[rows], counts[:, rows])
        below = np.cumsum(misses, axis=1) - misses / 2
        wins = wins + (hits * below).sum(axis=1)
        pairs = pairs + hits.sum(axis=1) * misses.sum(axis=1)
    return _ratio(wins, pairs)


def sensitivity(
    predictions: Floats, target: Floats, counts: Floats, parts: Integers | None = None, *, specificity: float
) -> Floats:
    """Return the share of rows of the second class above the lowest threshold with at least a specificity."""
    found = positives = np.zeros(len(counts))
    for rows in _parts(target.size, parts):
        hits, misses = _by_score(predictions[rows, 1], target[rows] == 1, counts[:, rows])
        below = np.cumsum(misses, axis=1)  # negatives at or below each score
        above = np.cumsum(hits[:, ::-1], axis=1)[:, ::-1] - hits
        enough = (below >= specificity * misses.sum(axis=1, keepdims=True) - 1e-9).argmax(axis=1)
        known = misses.any(axis=1)
        found = found + np.where(known, above[np.arange(len(above)), enough], 0.0)
        positives = positives + np.where(known, hits.sum(axis=1), 0.0)
    return _ratio(found, positives)


def concordance(predictions: Floats, target: Floats, counts: Floats, parts: Integers | None = None) -> Floats:
    """Return Harrell's C: how often, of two rows, the one with the earlier event has the larger predicted risk.

    Targets are times, negative without an event. Pairs count if the earlier time is that of an event, or both times are
    equal and one is; equal risks count half.

    >>> once = np.ones((1, 3))
    >>> concordance(np.array([3.0, 1.0, 2.0]), np.array([1.0, 2.0, -3.0]), once)
    array([0.66666667])
    """
    wins = pairs = np.zeros(len(counts))
    for rows in _parts(target.size, parts):
        risks, outcome, often = predictions[rows], target[rows], counts[:, rows]
        events = np.flatnonzero(outcome > 0)
        for start in range(0, events.size, _BLOCK):
            here = events[start : start + _BLOCK]
            time, risk = outcome[here, None], risks[here, None]
            later = (np.abs(outcome) > time) | (outcome == -time)
            right = later * ((risk > risks) + 0.5 * (risk == risks))
            wins = wins + ((often[:, here] @ right) * often).sum(axis=1)
            pairs = pairs + ((often[:, here] @ later.astype(np.float64)) * often).sum(axis=1)
    return _ratio(wins, pairs)


def _parts(rows: int, parts: Integers | None) -> Iterator[Integers]:
    """Yield the rows of each part."""
    if parts is None:
        yield np.arange(rows)
        return
    for part in np.unique(parts):
        yield np.flatnonzero(parts == part)


def _by_score(scores: Floats, positive: Booleans, counts: Floats) -> tuple[Floats, Floats]:
    """Return how many positive and negative rows there are of each different score, the lowest first (B, S)."""
    order = np.argsort(scores, kind="stable")
    ties = np.unique(scores[order], return_index=True)[1]  # where each group of rows with equal scores begins
    hits, misses = (
        np.add.reduceat(counts[:, order] * of_class, ties, axis=1) for of_class in (positive[order], ~positive[order])
    )
    return hits, misses


def _ratio(part: Floats, whole: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(whole > 0, part / whole, np.nan))
