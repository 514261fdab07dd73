"""What the linear family knows of each task, beside the loss of its rows (`comity.core.losses`)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from comity.core.arrays import Floats
from comity.core.tasks import Task


@dataclass(frozen=True, slots=True)
class LinearTask:
    """A task of the linear family.

    Attributes:
        model: What its models are, in words.
        loss: What its losses are, in words.
        bend: Returns the curvature of an observation's loss along its score, if all parameters are zero, from the mean
            curvature of an observation (…, d, d).
        overdispersed: Whether rows may vary more than the distribution says.
        without: What a client lacks from which no sums come, in words.
    """

    model: str
    loss: str
    bend: Callable[[Floats], Floats] = lambda flat: np.ones(flat.shape[:-2])
    overdispersed: bool = False
    without: str = "no rows"


LINEAR_TASKS: dict[Task, LinearTask] = {
    "regression": LinearTask("ridge regression", "mean squared error, in units of the target's variance"),
    "classes": LinearTask(
        "logistic regression with a ridge penalty",
        "log loss, by expansion",
        bend=lambda flat: np.full(flat.shape[:-2], 0.25),  # for more than two classes, along their variance
    ),
    "counts": LinearTask(
        "Poisson regression with a ridge penalty",
        "half the mean Poisson deviance, by expansion",
        bend=lambda flat: flat[..., -1, -1],  # the intercept's: the mean count
        overdispersed=True,
    ),
    "survival": LinearTask(
        "Cox regression with a ridge penalty",
        "minus the log partial likelihood of an event, by expansion",
        without="no events",
    ),
}
