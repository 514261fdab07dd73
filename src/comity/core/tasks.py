"""The tasks of prediction and the metrics of each, by name: `comity.core.metrics` computes them, which takes numpy."""

from typing import Literal

Task = Literal["regression", "classes"]
MetricName = Literal["auc", "accuracy", "log-loss", "rmse", "r2"]
METRICS_OF: dict[Task, tuple[MetricName, ...]] = {
    "classes": ("auc", "accuracy", "log-loss"),
    "regression": ("rmse", "r2"),
}
