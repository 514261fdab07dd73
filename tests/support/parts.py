"""Rows of clients with planted linear models, and the sums over disjoint parts of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from comity.core.arrays import Floats, Integers
from comity.families.glm.sums import Parts, Sums


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a client: columns (n, d) with ones as the last, the target (n,), and the part of each row (n,)."""

    columns: Floats
    target: Floats
    part: Integers

    def some(self, chosen: object) -> "Rows":
        """Return some of the rows."""
        return Rows(self.columns[chosen], self.target[chosen], self.part[chosen])


def sums_of(rows: Sequence[Rows]) -> Sums:
    """Return the sums over all rows of each client."""
    return Sums(
        np.stack([each.columns.T @ each.columns for each in rows]),
        np.stack([each.columns.T @ each.target for each in rows]),
        np.array([each.target @ each.target for each in rows]),
        np.array([float(len(each.target)) for each in rows]),
    )


def parts_of(rows: Sequence[Rows], count: int) -> Parts:
    """Return the sums over each of `count` parts of the rows of each client."""
    by_part = [sums_of([each.some(each.part == part) for each in rows]) for part in range(count)]
    return Parts(
        Sums(
            np.stack([each.gram for each in by_part], axis=1),
            np.stack([each.cross for each in by_part], axis=1),
            np.stack([each.square for each in by_part], axis=1),
            np.stack([each.rows for each in by_part], axis=1),
        )
    )


def planted(models: Floats, rows: Sequence[int], noise: float, *, seed: int = 0, count: int = 5) -> list[Rows]:
    """Return rows of clients with models (N, d), the last parameter being the intercept; `noise` is a variance."""
    rng = np.random.default_rng(seed)
    found = []
    for model, number in zip(models, rows, strict=True):
        columns = np.column_stack([rng.normal(size=(number, len(model) - 1)), np.ones(number)])
        target = columns @ model + np.sqrt(noise) * rng.normal(size=number)
        found.append(Rows(columns, target, np.arange(number) % count))
    return found


def two_opposite_groups(each: int = 30) -> Parts:
    """Six clients with so many rows each: three with a model, and three with its opposite."""
    model = np.array([0.6, -0.4, 0.3, 0.1])
    return parts_of(planted(np.array([model] * 3 + [-model] * 3), [each] * 6, 0.5), 5)
