"""Quadratic fronts of planted federations (with a known truth), made without clients."""

from dataclasses import dataclass

import numpy as np

from comity.core.arrays import Floats
from comity.families.glm.quadratic_front import QuadraticFront
from comity.research.datasets import synthetic


@dataclass(frozen=True)
class Planted:
    """Clients with linear truths: each one's features and target, the true parameters, and the noise's deviation."""

    rows: list[tuple[Floats, Floats]]
    truth: Floats
    noise: float

    def front(self, folds: int = 5, seed: int = 0, repeats: int = 1) -> QuadraticFront:
        rng = np.random.default_rng(seed)
        drawn = [[moments(x, y, folds, rng) for _ in range(repeats)] for x, y in self.rows]
        parts = (np.stack([np.concatenate([m[part] for m in repeated]) for repeated in drawn]) for part in range(4))
        return QuadraticFront(*parts, repeats=repeats)


def moments(x: Floats, y: Floats, folds: int, rng: np.random.Generator) -> tuple[Floats, Floats, Floats, Floats]:
    x = np.column_stack([x, np.ones(len(y))])
    fold = rng.permutation(len(y)) % folds
    parts = [(x[fold == k], y[fold == k]) for k in range(folds)]
    return (
        np.stack([a.T @ a for a, _ in parts]),
        np.stack([a.T @ b for a, b in parts]),
        np.array([b @ b for _, b in parts]),
        np.array([float(len(b)) for _, b in parts]),
    )


def two_groups(seed: int, dim: int, rows: int, spread: float, noise: float) -> Planted:
    drawn = synthetic.two_groups(seed, dim, rows, spread, noise)
    return Planted(list(drawn.rows), drawn.truth, noise)
