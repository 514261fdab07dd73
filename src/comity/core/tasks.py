"""The tasks of prediction and the metrics of each, by name: `comity.core.metrics` computes them, which takes numpy."""

import re
from typing import Literal

Task = Literal["regression", "classes", "counts", "survival"]
MetricName = str
METRICS_OF: dict[Task, tuple[MetricName, ...]] = {
    "classes": ("auc", "accuracy", "log-loss", "brier", "sensitivity@S"),
    "regression": ("rmse", "r2", "mae", "medae"),
    "counts": ("deviance",),
    "survival": ("concordance",),
}
"""The metrics of each task; S stands for a specificity, such as 0.9."""
BY_EXPANSION: tuple[Task, ...] = ("classes", "counts", "survival")
"""The tasks whose losses are no quadratic functions of the parameters, and are expanded."""
_WITH_SPECIFICITY = re.compile(r"sensitivity@(0?\.\d*[1-9]\d*)")


def task_of(metric: str) -> Task | None:
    """Return the task that a metric is for, None if there is no such metric.

    >>> task_of("rmse"), task_of("sensitivity@0.95"), task_of("sensitivity@2")
    ('regression', 'classes', None)
    """
    named = "sensitivity@S" if specificity_of(metric) is not None else metric
    return next((task for task, names in METRICS_OF.items() if named in names and metric != "sensitivity@S"), None)


def specificity_of(metric: str) -> float | None:
    """Return the specificity at which a metric measures sensitivity, None for any other metric."""
    found = _WITH_SPECIFICITY.fullmatch(metric)
    return float(found[1]) if found else None
