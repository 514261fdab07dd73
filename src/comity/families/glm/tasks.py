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
        bend: Returns the curvature of an observation's loss along its score, where models start, from the mean
            curvature of an observation (…, d, d).
        from_alone: Whether clients' models start from those alone on the way to the point of expansion, and not from
            zero.
        longest: By how much the scores of a client's rows, or of all rows, may change in one step: the root mean
            square.
        overdispersed: Whether rows may vary more than the distribution says.
        own_level: Whether others are near whatever their intercepts: rates of counts differ by much, and a client's own
            rows tell its rate.
        stratified: Whether rows are compared with those of the same part, so that all rows tell more than their parts.
        without: What a client lacks from which no sums come, in words.
    """

    model: str
    loss: str
    bend: Callable[[Floats], Floats] = lambda flat: np.ones(flat.shape[:-2])
    from_alone: bool = True
    longest: float = 3.0
    overdispersed: bool = False
    own_level: bool = False
    stratified: bool = False
    without: str = "no rows"


LINEAR_TASKS: dict[Task, LinearTask] = {
    "regression": LinearTask("ridge regression", "mean squared error, in units of the target's variance"),
    "classes": LinearTask(
        "logistic regression with a ridge penalty",
        "log loss, by expansion",
        bend=lambda flat: np.full(flat.shape[:-2], 0.25),  # for more than two classes, along their variance
        from_alone=False,
    ),
    "counts": LinearTask(
        "Poisson regression with a ridge penalty",
        "half the mean Poisson deviance, by expansion",
        bend=lambda flat: flat[..., -1, -1],  # the intercept's: the mean count
        longest=1.0,  # a step too far takes many back: each makes expected counts smaller by a factor of e
        overdispersed=True,
        own_level=True,
    ),
    "survival": LinearTask(
        "Cox regression with a ridge penalty",
        "minus the log partial likelihood of an event, by expansion",
        stratified=True,
        without="no events",
    ),
}
