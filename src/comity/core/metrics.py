"""Metrics of predictions, by name; those that compare rows are in `comity.core.rankings`."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from comity.core.arrays import Floats, Integers
from comity.core.rankings import auc, concordance, sensitivity
from comity.core.tasks import Task, specificity_of

_MIN_PROBABILITY = 1e-15


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: the task it is for, whether more of it is better, its range, and its function `measure`.

    ``measure(predictions, target, counts)`` takes the predictions of n rows (values (n,) for a number, probabilities
    (n, C) for classes), the target (n,) and a matrix of counts (B, n): how often each row occurs in each of B samples.
    It returns the metric of each sample (B,). A metric that `is_root` is a square root of a loss, one that
    `is_loss` is linear in it, one that `compares_rows` ranks rows against each other (and takes parts too). Of any
    other, `slope` says what it usually gains for each share of the loss, and how much that varies: in units of the
    metric, or of its value if it is `relative`. The report shows `title`, `meaning` and, where not all rows do, what it
    `needs`.
    """

    task: Task
    more_is_better: bool
    measure: Callable[..., Floats]
    least: float = -np.inf
    most: float = np.inf
    is_root: bool = False
    is_loss: bool = False
    compares_rows: bool = False
    relative: bool = False
    slope: tuple[float, float] = (0.5, 0.2)
    two_classes: bool = False
    title: str = ""
    meaning: str = ""
    needs: str = ""

    def measure_within(self, predictions: Floats, target: Floats, counts: Floats, parts: Integers) -> Floats:
        """Return the metric (B,) of predictions by several models, one for each of the `parts` (n,) of the rows.

        A metric that ranks rows ranks only rows of the same part, which one model predicted.
        """
        if not self.compares_rows:
            return self.measure(predictions, target, counts)
        return self.measure(predictions, target, counts, parts)

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

        A metric that is no function of the loss gains `slope` times the share, in its `unit`.

        >>> METRICS["rmse"].gain_of_share(2.0, 0.19, 0.0)
        (-0.2, 1.1111111111111112)
        """
        if self.is_root:
            left = float(np.sqrt(max(1 - share, 1e-12)))
            return round(value * left - value, 15), value / (2 * left)
        if self.is_loss:
            by_share = 1 - value if self.more_is_better else -value
            return by_share * share, abs(by_share)
        return slope * self.unit(value) * share, abs(slope * self.unit(value))

    def unit(self, value: float) -> float:
        """Return what slopes are measured in, at a value: positive if more is better."""
        size = max(abs(value), 1e-12) if self.relative else 1.0
        return size if self.more_is_better else -size


def _accuracy(predictions: Floats, target: Floats, counts: Floats) -> Floats:
    return _mean((predictions.argmax(axis=1) == target).astype(np.float64), counts)


def _log_loss(predictions: Floats, target: Floats, counts: Floats) -> Floats:
    of_target = predictions[np.arange(len(target)), target.astype(np.intp)]
    return _mean(-np.log(np.maximum(of_target, _MIN_PROBABILITY)), counts)


def _brier(predictions: Floats, target: Floats, counts: Floats) -> Floats:
    """Return the Brier score: for two classes that of the second, for more the sum over classes."""
    squares = (predictions - (target[:, None] == np.arange(predictions.shape[1]))) ** 2
    return _mean(squares[:, 1] if squares.shape[1] == 2 else squares.sum(axis=1), counts)


def _deviance(predictions: Floats, target: Floats, counts: Floats) -> Floats:
    """Return the mean Poisson deviance."""
    expected = np.maximum(predictions, _MIN_PROBABILITY)
    ratio = np.log(np.where(target > 0, target, expected) / expected)
    return _mean(2 * (target * ratio - target + expected), counts)


def _mae(predictions: Floats, target: Floats, counts: Floats) -> Floats:
    return _mean(np.abs(predictions - target), counts)


def _medae(predictions: Floats, target: Floats, counts: Floats) -> Floats:
    """Return the median absolute error: of an even number of rows, the mean of the two in the middle."""
    errors = np.abs(predictions - target)
    order = np.argsort(errors, kind="stable")
    passed = np.cumsum(counts[:, order], axis=1)
    half = passed[:, -1:] / 2
    low, high = ((compared(passed, half)).argmax(axis=1) for compared in (np.greater_equal, np.greater))
    middle = (errors[order][low] + errors[order][high]) / 2
    return np.asarray(np.where(half[:, 0] > 0, middle, np.nan))


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


class _Metrics(dict[str, Metric]):
    """Metrics by name, and those of sensitivity at any specificity."""

    def __missing__(self, name: str) -> Metric:
        specificity = specificity_of(name)
        if specificity is None:
            raise KeyError(name)
        return Metric(
            "classes",
            True,
            partial(sensitivity, specificity=specificity),
            0.0,
            1.0,
            compares_rows=True,
            slope=(0.8, 0.4),
            two_classes=True,
            title=f"sensitivity at {specificity:g}",
            meaning=f"share of the second class that is found where {specificity:g} of the first is left out",
            needs="rows of both classes",
        )


METRICS: dict[str, Metric] = _Metrics(
    {
        "auc": Metric(
            "classes",
            True,
            auc,
            0.0,
            1.0,
            compares_rows=True,
            title="AUC",
            meaning="area under the ROC curve: how often a row of a class is ranked above one of another",
            needs="rows of more than one class",
        ),
        "accuracy": Metric(
            "classes", True, _accuracy, 0.0, 1.0, title="accuracy", meaning="share of rows predicted right"
        ),
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
        "brier": Metric(
            "classes",
            False,
            _brier,
            0.0,
            2.0,
            relative=True,
            slope=(1.2, 0.4),
            title="Brier score",
            meaning="mean squared error of the probabilities",
        ),
        "mae": Metric(
            "regression",
            False,
            _mae,
            0.0,
            relative=True,
            title="mean absolute error",
            meaning="in the unit of the target",
        ),
        "medae": Metric(
            "regression",
            False,
            _medae,
            0.0,
            relative=True,
            title="median absolute error",
            meaning="in the unit of the target",
        ),
        "deviance": Metric(
            "counts",
            False,
            _deviance,
            0.0,
            is_loss=True,
            title="deviance",
            meaning="mean Poisson deviance, 0 if every count is predicted exactly",
        ),
        "concordance": Metric(
            "survival",
            True,
            concordance,
            0.0,
            1.0,
            compares_rows=True,
            slope=(1.0, 0.5),
            title="concordance",
            meaning="Harrell's C: how often, of two rows, the one with the earlier event has the larger predicted risk",
            needs="rows with an event and rows that were followed longer",
        ),
    }
)
"""The metrics; ``METRICS["sensitivity@0.9"]`` is that of two classes at a specificity of 0.9."""
DEFAULT: dict[str, str] = {"classes": "auc", "regression": "rmse", "counts": "deviance", "survival": "concordance"}
