"""How well predictions do, as people say it: a metric is a function of predictions, targets and counts of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Name = Literal["auc", "accuracy", "log-loss", "rmse", "r2"]
_LEAST_PROBABILITY = 1e-15


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: its task, whether more of it is better, its range, and the function.

    ``measure(predictions, target, counts)`` takes values (n,) for a number, probabilities (n, C) for classes, and a
    matrix of counts (B, n): how often each row stands in each of B samples. It returns B values. A root is corrected
    (`corrected`) under the root. ``measure_within(predictions, target, counts, parts)`` is for predictions of several
    models, one for each of the parts (n,): a metric that compares rows with each other compares those of one part.
    For people there are a `title`, what it means, and what rows it `needs` where some do not do.
    """

    task: Literal["regression", "classes"]
    more_is_better: bool
    measure: Callable[[Floats, Floats, Floats], Floats]
    least: float = -np.inf
    most: float = np.inf
    is_root: bool = False
    compares_rows: bool = False
    title: str = ""
    meaning: str = ""
    needs: str = ""

    def measure_within(self, predictions: Floats, target: Floats, counts: Floats, parts: NDArray[np.intp]) -> Floats:
        """Return the metric (B,) of predictions by several models, each of one part of the rows (n,)."""
        if not self.compares_rows:
            return self.measure(predictions, target, counts)
        return _auc(predictions, target, counts, parts)

    def corrected(self, held_out: float, whole: float, parts: Floats) -> float:
        """Return what the model of all rows would have on new rows.

        `held_out` is the metric where each part of the rows was judged by the model trained without it, `whole` that
        of the model of all rows on all of them, and `parts` those of the other models on all of them. What models of
        fewer rows lose shows on all rows too, and is given back (Burman 1989).
        """
        if self.is_root:
            return float(np.sqrt(max(held_out**2 + whole**2 - (parts**2).mean(), 0.0)))
        return float(np.clip(held_out + whole - parts.mean(), self.least, self.most))


def _accuracy(predictions: Floats, target: Floats, counts: Floats) -> Floats:
    return _mean((predictions.argmax(axis=1) == target).astype(np.float64), counts)


def _log_loss(predictions: Floats, target: Floats, counts: Floats) -> Floats:
    given = predictions[np.arange(len(target)), target.astype(np.intp)]
    return _mean(-np.log(np.maximum(given, _LEAST_PROBABILITY)), counts)


def _auc(predictions: Floats, target: Floats, counts: Floats, parts: NDArray[np.intp] | None = None) -> Floats:
    """Return the area under the curve; of more than two classes, the mean over each against the others that occurs."""
    classes = predictions.shape[1]
    if classes == 2:
        return _auc_of_pair(predictions[:, 1], target == 1, counts, parts)
    each = np.stack([_auc_of_pair(predictions[:, one], target == one, counts, parts) for one in range(classes)])
    known = ~np.isnan(each)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(known, each, 0.0).sum(axis=0) / known.sum(axis=0))


def _auc_of_pair(scores: Floats, positive: NDArray[np.bool_], counts: Floats, parts: NDArray[np.intp] | None) -> Floats:
    """Return the probability that a positive row scores above a negative one of its part, equal scores counting half.

    Scores of models that were trained without different rows cannot be compared: a part that holds a rare positive has
    a model that thinks positives rarer still.
    """
    places = [np.arange(scores.size)] if parts is None else [np.flatnonzero(parts == part) for part in np.unique(parts)]
    wins, pairs = np.zeros(len(counts)), np.zeros(len(counts))
    for here in places:
        won, of = _pairs_won(scores[here], positive[here], counts[:, here])
        wins, pairs = wins + won, pairs + of
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(pairs > 0, wins / pairs, np.nan))


def _pairs_won(scores: Floats, positive: NDArray[np.bool_], counts: Floats) -> tuple[Floats, Floats]:
    """Return how many pairs of a positive and a negative row are in the right order, and how many there are (B,)."""
    order = np.argsort(scores, kind="stable")
    groups = np.unique(scores[order], return_inverse=True)[1]
    hits = counts[:, order] * positive[order]
    misses = counts[:, order] * ~positive[order]
    starts = np.searchsorted(groups, np.arange(groups[-1] + 1))
    hits, misses = (np.add.reduceat(each, starts, axis=1) for each in (hits, misses))
    below = np.cumsum(misses, axis=1) - misses / 2
    return (hits * below).sum(axis=1), hits.sum(axis=1) * misses.sum(axis=1)


def _rmse(predictions: Floats, target: Floats, counts: Floats) -> Floats:
    return np.asarray(np.sqrt(_mean((predictions - target) ** 2, counts)))


def _r2(predictions: Floats, target: Floats, counts: Floats) -> Floats:
    spread = _mean(target**2, counts) - _mean(target, counts) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        explained = 1 - _mean((predictions - target) ** 2, counts) / spread
    return np.asarray(np.where(spread > 0, explained, np.nan))


def _mean(values: Floats, counts: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):  # no row at all: not a number
        return np.asarray(counts @ values / counts.sum(axis=1))


METRICS: dict[str, Metric] = {
    "auc": Metric(
        "classes",
        True,
        _auc,
        0.0,
        1.0,
        compares_rows=True,
        title="AUC",
        meaning="area under the ROC curve: how often a row of a class is ranked above one of another",
        needs="rows of more than one class",
    ),
    "accuracy": Metric("classes", True, _accuracy, 0.0, 1.0, title="accuracy", meaning="share of rows predicted right"),
    "log-loss": Metric(
        "classes",
        False,
        _log_loss,
        0.0,
        title="log loss",
        meaning="mean of −log p, where p is the probability that was given to the class that came true",
    ),
    "rmse": Metric(
        "regression",
        False,
        _rmse,
        0.0,
        is_root=True,
        title="RMSE",
        meaning="root of the mean squared error, in the unit of the target",
    ),
    "r2": Metric(
        "regression",
        True,
        _r2,
        most=1.0,
        title="R²",
        meaning="share of the target's variance that is explained",
        needs="rows whose targets differ",
    ),
}
DEFAULT: dict[str, str] = {"classes": "auc", "regression": "rmse"}
