"""The priors of a client's personal models, from which the client fits them itself, on its own rows.

The personal model with a set S is the weighted mean over pulls c of the parameters θ that minimise
L(θ) / 2φ + ½ (θ - μ_S)ᵀ (cΩ)⁻¹ (θ - μ_S): L is the loss on the client's own rows, and everything else is a prior that
the coordinator knows (`comity.families.glm.hierarchy`). A client whose sums did not leave it has the prior of a typical
client: N(μ, Ω).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy import sparse
from scipy.linalg import block_diag

from comity.core.arrays import Booleans, Floats
from comity.core.likelihood import Loss, Penalty
from comity.errors import FormatError
from comity.families.glm.procedures import Procedure
from comity.families.glm.pulled_view import PulledView
from comity.families.glm.sums import Sums

if TYPE_CHECKING:
    from comity.deciding.borrow import Borrowed
    from comity.families.glm.borrowing import Borrowing

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Priors:
    """The priors of a client's models with T pulls, of its coalition and of its wishes.

    Attributes:
        precision: Ω⁻¹ (d, d).
        noise: φ, an array without dimensions.
        pulls: c (T,).
        means: μ_S (T, d).
        weights: How much each pull weighs in the model in the coalition and in the best one (2, T): each row sums to
            one, or is zero where the client is alone with a model of its own.
    """

    precision: Floats
    noise: Floats
    pulls: Floats
    means: Floats
    weights: Floats

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Floats], size: int) -> Self:
        """Return the priors of models with `size` parameters from arrays by the names of the fields.

        Raises:
            FormatError: They are no priors.
        """
        expected = [each.name for each in fields(cls)]
        if sorted(arrays) != sorted(expected):
            raise FormatError(f"the arrays of priors are {', '.join(sorted(arrays))}; they must be {expected}")
        found = cls(**arrays)
        found._check(size)
        return found

    def to_arrays(self) -> dict[str, Floats]:
        """Return the fields by their names."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @property
    def shared(self) -> Booleans:
        """Whether the models in the coalition and at best have a prior (2,), and are not those of a client alone."""
        return np.asarray(self.weights.sum(axis=1) > 0)

    def _check(self, size: int) -> None:
        count = self.pulls.size
        shapes = {"precision": (size, size), "noise": (), "pulls": (count,), "means": (count, size)}
        for name, shape in (shapes | {"weights": (2, count)}).items():
            array = getattr(self, name)
            if array.shape != shape or array.dtype != np.float64:
                raise FormatError(
                    f"the {name} of priors have the type {array.dtype} and the shape {array.shape}; they must have "
                    f"float64 and {shape}"
                )
            if not np.isfinite(array).all():
                raise FormatError(f"the {name} of priors have a value that is not a finite number")
        totals = self.weights.sum(axis=1)
        for wrong, what in (
            (self.noise <= 0, "noise must be positive"),
            ((self.pulls <= 0).any(), "pulls must be positive"),
            ((self.weights < 0).any(), "weights must not be negative"),
            ((np.minimum(totals, abs(totals - 1)) > _ROUNDING).any(), "weights must sum to one, or be zero"),
            (not _is_positive_definite(self.precision), "precision must be symmetric and positive definite"),
        ):
            if wrong:
                raise FormatError(f"the priors cannot be used: their {what}")

    def fit_number(self, sums: Sums) -> Floats:
        """Return the models (2, d) in the coalition and at best, from the sums over one client's rows."""
        inverse = self.precision / self.pulls[:, None, None]
        right = sums.cross / self.noise + (inverse @ self.means[..., None])[..., 0]
        return self.weights @ np.linalg.solve(sums.gram / self.noise + inverse, right[..., None])[..., 0]

    def fit_expanded(self, loss: Loss) -> Floats:
        """Return the models (2, d) in the coalition and at best, for a loss of one client's rows by its task."""
        rows = len(loss.target)
        if not rows:
            return self.weights @ self.means
        found = np.empty_like(self.means)
        for place, (pull, mean) in enumerate(zip(self.pulls, self.means, strict=True)):
            penalty = Penalty(self.precision * (self.noise / (rows * pull)), mean)
            found[place] = loss.fit(np.ones(rows), penalty, mean)
        return self.weights @ found


def find_priors(lender: Borrowing, decision: Borrowed) -> tuple[Priors, ...]:
    """Return the priors of every client's models in a decision."""
    view = lender.whole
    assert isinstance(view, PulledView), "only models that are pulled have priors"
    inverse = np.linalg.inv(view.hierarchy.spread)
    precision, noise = (inverse + inverse.T) / 2, np.array(view.hierarchy.noise)
    found = []
    for client in range(lender.clients):
        sets = np.unique([decision.sets[client], decision.wishes[client]], axis=0, return_inverse=True)
        procedure = lender.kept[int(decision.by[client])]
        by_set = [_prior_of(view, members, client, procedure) for members in sets[0]]
        pulls, means, weights = zip(*by_set, strict=True)
        spread = block_diag(*(each[None] for each in weights))  # a row for each set
        found.append(Priors(precision, noise, np.concatenate(pulls), np.concatenate(means), spread[sets[1].ravel()]))
    return tuple(found)


def _prior_of(view: PulledView, members: Booleans, client: int, procedure: Procedure) -> tuple[Floats, Floats, Floats]:
    """Return pulls (T,), means (T, d) and weights (T,) of a client with a set (N,); none of one alone with sums."""
    if members.sum() > 1:
        one = sparse.csr_array(members[None].astype(np.float64))
        means = [view.pulled(pull).set_means(one)[1][0] for pull in procedure.pulls]
        return np.array(procedure.pulls), np.stack(means), np.array(procedure.weights)
    typical = np.ones(0 if view.sums.rows[client] > 0 else 1)
    return typical, np.tile(view.hierarchy.mean, (typical.size, 1)), typical


def _is_positive_definite(matrix: Floats) -> bool:
    """Return whether a matrix is symmetric and positive definite."""
    if not np.allclose(matrix, matrix.T, rtol=_ROUNDING, atol=_ROUNDING * np.abs(matrix).max(initial=0.0)):
        return False
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True
