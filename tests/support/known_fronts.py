"""Problems whose Pareto fronts are known, and gradient descent on them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from comity.search.scalarisers import Scalariser


@dataclass(frozen=True)
class Quadratics:
    """Losses l_i = floor + ½ (θ - c_i)ᵀA_i(θ - c_i): centres (N, d), curvatures (N, d, d)."""

    centres: np.ndarray
    curvatures: np.ndarray
    floor: float = 0.0

    def losses(self, at: np.ndarray) -> np.ndarray:
        return self.floor + ((at - self.centres) * self.gradients(at)).sum(axis=1) / 2

    def gradients(self, at: np.ndarray) -> np.ndarray:
        return np.einsum("ijk,ik->ij", self.curvatures, at - self.centres)

    def optimum(self, weights: np.ndarray) -> np.ndarray:
        """Return the point of the Pareto set where the weighted loss is least: Σ w_i A_i θ = Σ w_i A_i c_i."""
        return np.linalg.solve(
            np.einsum("i,ijk->jk", weights, self.curvatures),
            np.einsum("i,ijk,ik->j", weights, self.curvatures, self.centres),
        )


def random_quadratics(clients: int, size: int, seed: int) -> Quadratics:
    random = np.random.default_rng(seed)
    rows = random.normal(size=(clients, 2 * size, size))
    return Quadratics(random.normal(size=(clients, size)), np.einsum("irj,irk->ijk", rows, rows) / (2 * size))


@dataclass(frozen=True)
class Bells:
    """Fonseca and Fleming's pair, 1 - exp(-|θ ∓ 1/√d|²).

    Its Pareto set is the line θ = s/√d with s from -1 to 1, its front (1 - exp(-(s - 1)²), 1 - exp(-(s + 1)²)), not
    convex but for its ends.
    """

    size: int = 5

    @property
    def centres(self) -> np.ndarray:
        return np.outer([1.0, -1.0], np.full(self.size, self.size**-0.5))

    def losses(self, at: np.ndarray) -> np.ndarray:
        return -np.expm1(-((at - self.centres) ** 2).sum(axis=1))

    def gradients(self, at: np.ndarray) -> np.ndarray:
        return 2 * (at - self.centres) * (1 - self.losses(at))[:, None]

    def place(self, at: np.ndarray) -> tuple[float, float]:
        """Return s of the nearest point on the line, and the distance from it."""
        along = float(at @ self.centres[0])
        return along, float(np.linalg.norm(at - along * self.centres[0]))

    def wanted(self, ray: np.ndarray) -> float:
        """Return the s at which the weighted losses are equal."""

        def difference(along: float) -> float:
            weighted = ray * self.losses(along * self.centres[0])
            return float(weighted[0] - weighted[1])

        return float(brentq(difference, -1.0, 1.0))


def descend(
    scalariser: Scalariser,
    problem: Quadratics | Bells,
    ray: np.ndarray,
    start: np.ndarray,
    steps: int = 150,
    length: float = 0.3,
    watch: Callable[[np.ndarray], None] = lambda _: None,
) -> np.ndarray:
    """Return the point where gradient descent ends; its steps shrink to a hundredth of the first."""
    at = start
    for number in range(steps):
        gradients = problem.gradients(at)
        coefficients = scalariser.coefficients(ray, problem.losses(at), gradients @ gradients.T)
        at = at - length * 0.01 ** (number / steps) * (coefficients @ gradients)
        watch(at)
    return at
