"""Planted federations: rows whose truth is known."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from comity.fronts import QuadraticFront

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Planted:
    """Clients with linear truths: features and target of each, the true parameters, and the deviation of the noise."""

    rows: list[tuple[Floats, Floats]]
    truth: Floats
    noise: float

    def front(self, folds: int = 5, seed: int = 0, repeats: int = 1) -> QuadraticFront:
        rng = np.random.default_rng(seed)
        drawn = [[moments(x, y, folds, rng) for _ in range(repeats)] for x, y in self.rows]
        parts = (np.stack([np.concatenate([m[part] for m in each]) for each in drawn]) for part in range(4))
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
    """The paper's generator (Section 5.1): clients 0, 1, 2 share a truth up to `spread`, and 3, 4, 5 its negative."""
    rng = np.random.default_rng(seed)
    shared = rng.uniform(0, 1, dim)
    drawn, truth = [], []
    for client in range(6):
        own = (1 if client < 3 else -1) * (shared + rng.normal(0, spread, dim))
        x = rng.uniform(-1, 1, (rows, dim))
        drawn.append((x, x @ own + rng.normal(0, noise, rows)))
        truth.append(own)
    return Planted(drawn, np.array(truth), noise)
