"""Losses of clients as quadratic functions of the parameters, from sums over disjoint parts of their rows.

Over the rows of a part, the loss of parameters θ is square - 2 cross·θ + θᵀ gram θ: exactly for squared losses, and
near the point of expansion for log losses. Every view of the rows (all, or all but a part) is made of these sums by
adding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from comity.core.arrays import Booleans, Floats
from comity.questions import MomentsAnswer

_ROUNDING = 1e-9  # of the mean eigenvalue


def without_negative_curvature(gram: Floats) -> Floats:
    """Return symmetric matrices (…, d, d), with the absolute values of eigenvalues if noise made one indefinite.

    Where there is that much noise, curvature may as well be as large; with none, models would run away.

    >>> without_negative_curvature(np.diag([2.0, -1.0]))
    array([[2., 0.],
           [0., 1.]])
    """
    size = gram.shape[-1]
    more = _ROUNDING * np.trace(gram, axis1=-2, axis2=-1) / size + np.finfo(np.float64).tiny
    try:
        np.linalg.cholesky(gram + more[..., None, None] * np.eye(size))  # much faster than eigenvalues
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(gram)
        return np.asarray((vectors * np.abs(values)[..., None, :]) @ np.swapaxes(vectors, -1, -2))
    return gram


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """The quadratic losses of N clients: gram (N, d, d), cross (N, d), square (N,), and the number of rows (N,)."""

    gram: Floats
    cross: Floats
    square: Floats
    rows: Floats

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def size(self) -> int:
        """The number of parameters, d."""
        return int(self.cross.shape[-1])

    def some(self, chosen: object) -> Sums:
        """Return the losses of some clients, or of some repeatedly."""
        return Sums(*(getattr(self, each.name)[chosen] for each in fields(self)))

    def total(self) -> Sums:
        """Return the sum over all clients, as that of one client."""
        return Sums(*(getattr(self, each.name).sum(axis=0, keepdims=True) for each in fields(self)))

    def without_level(self) -> Sums:
        """Return the least losses over the last parameter, as functions of the others: with the best level for them.

        >>> sums = Sums(np.array([[[4.0, 2.0], [2.0, 2.0]]]), np.array([[1.0, 2.0]]), np.array([3.0]), np.ones(1))
        >>> sums.without_level().losses(np.array([[1.0, 99.0]])), sums.losses(np.array([[1.0, 0.0]]))
        (array([5.]), array([5.]))
        """
        row, level = self.gram[:, -1], self.cross[:, -1]
        own = np.maximum(self.gram[:, -1, -1], np.finfo(np.float64).tiny)
        return Sums(
            self.gram - row[:, :, None] * row[:, None, :] / own[:, None, None],
            self.cross - row * (level / own)[:, None],
            self.square - level**2 / own,
            self.rows,
        )

    def losses(self, models: Floats) -> Floats:
        """Return each client's loss (N,), summed over its rows, of its model (N, d)."""
        turned = (self.gram @ models[..., None])[..., 0]
        return np.asarray(self.square + ((turned - 2 * self.cross) * models).sum(axis=-1))


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """The quadratic losses of N clients on each of F disjoint parts of their rows: arrays as in `Sums` (N, F, …).

    Where all rows together tell more than the sum over their parts, as in survival, whose parts are strata, `joint` has
    the losses on all rows (N, …).
    """

    by_part: Sums
    joint: Sums | None = None

    @classmethod
    def of(cls, answers: Sequence[MomentsAnswer]) -> Parts:
        """Return what the clients answered about their parts, in the only view of their rows."""
        gram = np.stack([without_negative_curvature(answer.gram[0]) for answer in answers])
        others = [each.name for each in fields(Sums)][1:]
        return cls(Sums(gram, *(np.stack([getattr(answer, name)[0] for answer in answers]) for name in others)))

    @property
    def count(self) -> int:
        """The number of parts, F."""
        return int(self.by_part.rows.shape[1])

    @property
    def whole(self) -> Sums:
        """The losses on all rows: joint ones where there are any."""
        if self.joint is None:
            return self._added
        known, sums = self.joint.rows > 0, []
        for each in fields(Sums):
            joint, added = getattr(self.joint, each.name), getattr(self._added, each.name)
            sums.append(np.where(known.reshape(-1, *[1] * (joint.ndim - 1)), joint, added))
        return Sums(*sums)

    @property
    def _added(self) -> Sums:
        """The sum over all parts."""
        return Sums(*(getattr(self.by_part, each.name).sum(axis=1) for each in fields(Sums)))

    @property
    def tested(self) -> Booleans:
        """The parts that test models which were trained on a client's other parts (N, F): none of a client with one."""
        filled = self.by_part.rows > 0
        return np.asarray(filled & (filled.sum(axis=1, keepdims=True) > 1))

    def part(self, number: int) -> Sums:
        """Return the losses on one part."""
        return Sums(*(getattr(self.by_part, each.name)[:, number] for each in fields(Sums)))

    def without(self, number: int) -> Sums:
        """Return the losses on all rows but those that one part tests."""
        whole, part, tested = self._added, self.part(number), self.tested[:, number]
        left = []
        for each in fields(Sums):
            full, held = getattr(whole, each.name), getattr(part, each.name)
            left.append(full - held * tested.reshape(-1, *[1] * (held.ndim - 1)))
        return Sums(*left)
