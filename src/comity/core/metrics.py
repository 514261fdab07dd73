"""Metrics of predictions: AUC, accuracy, log loss, RMSE, R²."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from comity.core.arrays import Booleans, Floats, Integers
from comity.core.tasks import Task

_MIN_PROBABILITY = 1e-15


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: the task it is for, whether more of it is better, its range, and its function `measure`.

    ``measure(predictions, target, counts)`` takes the predictions of n rows (values (n,) for a number, probabilities
    (n, C) for classes), the target (n,) and a matrix of counts (B, n): how often each row occurs in each of B samples.
    It returns the metric of each sample (B,). A metric that `is_root` is a square root of a loss, one that
    `is_loss` is linear in it, one that `compares_rows` ranks rows against each other. The report shows `title`,
    `meaning` and, where not all rows do, what it `needs`.
    """

    task: Task
    more_is_better: bool
    measure: Callable[[Floats, Floats, Floats], Floats]
    least: float = -np.inf
    most: float = np.inf
    is_root: bool = False
    is_loss: bool = False
    compares_rows: bool = False
    title: str = ""
    meaning: str = ""
    needs: str = ""

    def measure_within(self, predictions: Floats, target: Floats, counts: Floats, parts: Integers) -> Floats:
        """Return the metric (B,) of predictions by several models, one for each of the `parts` (n,) of the rows.

        A metric that ranks rows ranks only rows of the same part, which one model predicted.
        """
        if not self.compares_rows:
            return self.measure(predictions, target, counts)
        return _auc(predictions, target, counts, parts)

    def corrected(self, held_out: float, whole: float, parts: Floats) -> float:
        """Return an estimate of the metric of the model of all rows on new rows: Burman's correction (1989).

        `held_out` is the cross-validated metric, `whole` that of the model of all rows on all rows, and `parts` those
        of the cross-validation's models on all rows. The correction whole - mean(parts) makes up for the models of the
        cross-validation having fewer rows; a square root is corrected under the root.
        """
        if self.is_root:
            return float(np.sqrt(max(held_out**2 + whole**2 - (parts**2).mean(), 0.0)))
        return float(np.clip(held_out + whole - parts.mean(), self.least, self.most))

    def gain_of_share(self, value: float, share: float, slope: float) -> tuple[float, float]:
        """Return the gain if a share of the loss at a value is gained, and the size of its derivative by the share.

        A metric that is no function of the loss gains `slope` times the share.

        >>> METRICS["rmse"].gain_of_share(2.0, 0.19, 0.0)
        (-0.2, 1.1111111111111112)
        """
        if self.is_root:
            left = float(np.sqrt(max(1 - share, 1e-12)))
            return round(value * left - value, 15), value / (2 * left)
        if self.is_loss:
            slope = 1 - value if self.more_is_better else -value
        return slope * share, abs(slope)


def _accuracy(predictions: Floats, target: Floats, counts: Floats) -> Floats:
    return _mean((predictions.argmax(axis=1) == target).astype(np.float64), counts)


def _log_loss(predictions: Floats, target: Floats, counts: Floats) -> Floats:
    of_target = predictions[np.arange(len(target)), target.astype(np.intp)]
    return _mean(-np.log(np.maximum(of_target, _MIN_PROBABILITY)), counts)


def _auc(predictions: Floats, target: Floats, counts: Floats, parts: Integers | None = None) -> Floats:
    """Return the area under the ROC curve; for more than two classes, the mean over one-vs-rest of those that occur."""
    classes = predictions.shape[1]
    if classes == 2:
        return _auc_of_pair(predictions[:, 1], target == 1, counts, parts)
    areas = np.stack([_auc_of_pair(predictions[:, label], target == label, counts, parts) for label in range(classes)])
    known = ~np.isnan(areas)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(known, areas, 0.0).sum(axis=0) / known.sum(axis=0))


def _auc_of_pair(scores: Floats, positive: Booleans, counts: Floats, parts: Integers | None) -> Floats:
    """Return the probability that a positive row scores above a negative row of its part; ties count half.

    Scores of models that were trained without different parts cannot be compared: the model for a part that holds a
    rare positive row was trained with fewer positives, and scores all rows lower.
    """
    wins = pairs = np.zeros(len(counts))
    parts = np.zeros(scores.size, np.intp) if parts is None else parts
    for part in np.unique(parts):
        rows = np.flatnonzero(parts == part)
        order = rows[np.argsort(scores[rows], kind="stable")]
        ties = np.unique(scores[order], return_index=True)[1]  # where each group of rows with equal scores begins
        hits, misses = (
            np.add.reduceat(counts[:, order] * of_class, ties, axis=1)
            for of_class in (positive[order], ~positive[order])
        )
        below = np.cumsum(misses, axis=1) - misses / 2
        wins = wins + (hits * below).sum(axis=1)
        pairs = pairs + hits.sum(axis=1) * misses.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(pairs > 0, wins / pairs, np.nan))


def _rmse(predictions: Floats, target: Floats, counts: Floats) -> Floats:
    return np.asarray(np.sqrt(_mean((predictions - target) ** 2, counts)))


def _r2(predictions: Floats, target: Floats, counts: Floats) -> Floats:
    spread = _mean(target**2, counts) - _mean(target, counts) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        explained = 1 - _mean((predictions - target) ** 2, counts) / spread
    return np.asarray(np.where(spread > 0, explained, np.nan))


def _mean(values: Floats, counts: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):  # the mean of no rows is not a number
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
        is_loss=True,
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
        is_loss=True,
        title="R²",
        meaning="share of the target's variance that is explained",
        needs="rows whose targets differ",
    ),
}
DEFAULT: dict[str, str] = {"classes": "auc", "regression": "rmse"}
