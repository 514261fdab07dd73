"""The log loss of logistic and softmax regression on rows, its slope and curvature, and Newton's method on them.

Parameters θ are one vector. For two classes it has one entry a feature, for the odds of the second class. For C > 2 it
has C entries a feature, feature by feature, so that the intercepts, whose feature is the last, come last.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_softmax, softmax

Floats = NDArray[np.float64]
SPARED = 1e-3  # of the penalty goes for intercepts: were it none, one class only would have no best model
_PAIR = 2
_ROUNDS = 60
_HALVINGS = 30


def spare_intercepts(size: int, intercepts: int, share: float = SPARED) -> Floats:
    """Return what a penalty of one costs each of `size` parameters: one, but next to nothing for the intercepts."""
    costs = np.ones(size)
    costs[-intercepts:] = share
    return costs


@dataclass(frozen=True, slots=True, eq=False)
class LogLoss:
    """The log loss on rows: features (n, f), classes (n,) as positions, and how many classes there are."""

    features: Floats
    target: Floats
    classes: int

    @property
    def outputs(self) -> int:
        """How many entries of θ each feature has."""
        return 1 if self.classes == _PAIR else self.classes

    @property
    def size(self) -> int:
        """How many parameters there are, d."""
        return int(self.features.shape[1]) * self.outputs

    def scores(self, parameters: Floats) -> Floats:
        """Return what the model says of every row (n, outputs), before it becomes a probability."""
        return np.asarray(self.features @ parameters.reshape(-1, self.outputs))

    def rows(self, parameters: Floats) -> Floats:
        """Return the loss of every row (n,)."""
        scores = self.scores(parameters)
        if self.outputs == 1:
            return np.logaddexp(0.0, np.where(self.target == 1, -scores[:, 0], scores[:, 0]))
        return np.asarray(-log_softmax(scores, axis=1)[np.arange(len(scores)), self.target.astype(np.intp)])

    def slope(self, parameters: Floats, counts: Floats) -> Floats:
        """Return the derivative (d,) of the sum over rows, each taken `counts` (n,) times."""
        return self._slope(self.probabilities(parameters), counts)

    def curvature(self, parameters: Floats, counts: Floats) -> Floats:
        """Return the second derivative (d, d) of the sum over rows, each taken `counts` (n,) times."""
        return self._curvature(self.probabilities(parameters), counts)

    def _slope(self, share: Floats, counts: Floats) -> Floats:
        return np.asarray((self.features.T @ (self._residuals(share) * counts[:, None])).ravel())

    def _curvature(self, share: Floats, counts: Floats) -> Floats:
        if self.outputs == 1:
            weight = counts * share[:, 0] * (1 - share[:, 0])
            return np.asarray((self.features * weight[:, None]).T @ self.features)
        size = self.features.shape[1]
        blocks = np.empty((size, self.outputs, size, self.outputs))
        for one in range(self.outputs):
            for other in range(one, self.outputs):
                weight = counts * share[:, one] * ((one == other) - share[:, other])
                block = (self.features * weight[:, None]).T @ self.features
                blocks[:, one, :, other] = block
                blocks[:, other, :, one] = block.T
        return blocks.reshape(self.size, self.size)

    def probabilities(self, parameters: Floats) -> Floats:
        """Return probabilities (n, outputs): of the second class if there are two, else of each."""
        scores = self.scores(parameters)
        return np.asarray(expit(scores) if self.outputs == 1 else softmax(scores, axis=1))

    def _residuals(self, share: Floats) -> Floats:
        if self.outputs == 1:
            return share - self.target[:, None]
        hit = self.target[:, None] == np.arange(self.outputs)
        return np.asarray(share - hit)

    def fit(self, counts: Floats, penalty: Floats, start: Floats, rounds: int = _ROUNDS) -> Floats:
        """Return the parameters with the least mean loss + Σ penalty θ², by Newton's method with shortened steps.

        `penalty` (d,) is what each parameter costs; at most so many `rounds` of Newton's method.
        """
        total = counts.sum()

        def objective(parameters: Floats) -> float:
            return float(self.rows(parameters) @ counts / total + penalty @ parameters**2)

        at, value = start, objective(start)
        ridge = np.diag(2 * penalty)
        for _ in range(rounds):
            share = self.probabilities(at)
            slope = self._slope(share, counts) / total + 2 * penalty * at
            curvature = self._curvature(share, counts) / total + ridge
            step = np.linalg.solve(curvature, slope)
            if slope @ step <= 1e-12 * max(value, 1e-12):
                break
            length = 1.0
            for _ in range(_HALVINGS):
                new = objective(at - length * step)
                if new <= value - 1e-4 * length * float(slope @ step):
                    break
                length /= 2
            else:
                break
            at, value = at - length * step, new
        return at
