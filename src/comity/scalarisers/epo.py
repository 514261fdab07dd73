"""Exact Pareto search: steps to the point of the front where the weighted losses are equal.

Mahapatra and Rajan, *Multi-Task Learning with User Preferences: Gradient Descent with Controlled Ascent in Pareto
Optimization*, ICML 2020.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from comity.errors import InputError
from comity.scalarisers.inputs import Booleans, Floats, Integers, check_inputs

_LEAST_SHARE = 1e-16  # a loss of zero has no logarithm
_SAME = 1e-9  # so near to the greatest, a weighted loss counts as the greatest
_NO_PULL = 1e-12  # of the longest gradient's square: rounding


@dataclass(frozen=True, slots=True)
class ExactPareto:
    """The coefficients lead to the model, on the front, whose weighted losses r_i l_i are all equal.

    With C the products of gradients, and weighted losses r_i l_i, of which client i has the share s_i (Σ s_i = 1),

    - the *non-uniformity* is μ_r = Σ s_i log(N s_i), the divergence of the shares from the uniform ones;
    - the *adjustments* are a_i = r_i (log(N s_i) - μ_r), so that Σ a_i g_i, the *anchoring direction*, is the
      gradient of μ_r, up to its length: going down it evens the weighted losses out.

    The coefficients β solve a linear programme on the simplex. In *balance mode*, while μ_r is not yet zero,

        maximise βᵀCa  subject to  (Cβ)_j ≥ 0 for j in J*,  (Cβ)_j ≥ (Ca)_j for j in J̄ without J*

    with J = {j: (Ca)_j > 0} those whose loss falls along the anchoring direction, J̄ the others, and J* those with the
    greatest weighted loss. So the greatest never rises, and no other rises faster than balance needs: the ascent is
    controlled. In *descent mode*, once the weighted losses are equal,

        maximise βᵀC1  subject to  (Cβ)_j ≥ 0 for all j

    so that all fall together. The coefficients of least norm fulfil every constraint: there is always a solution.
    Should the solver give none all the same, the coefficients step down the greatest weighted loss, which is the
    gradient of their maximum (Chebyshev).

    Two things differ from the paper. On quadratic losses of 3 to 6 clients, from 120 random starts, 200 steps brought
    the weighted losses within 2 % of each other always; with both of the paper's rules 69 times, with one 72 or 114.

    - If J is empty, the paper maximises βᵀCa still, with (Cβ)_j ≥ 0 for all j. That can lead to the optimum of a single
      client and stay there (6 times), since a gradient of zero looks like no harm. Here descent mode takes over.
    - Equal r_i l_i stay equal for a longer ray, but a grows with the ray, and with a the ascent that is allowed. A ray
      on the simplex is short, and the search crawls. Here Σ|a_i| = 1, as Σ β_i is.

    Its weaknesses: The solution is a corner of its constraints and jumps from step to step, so the caller's steps must
    shrink for the losses to settle. If the ray misses the front, having no point of it with equal weighted losses, the
    search ends on the front, near the point whose greatest weighted loss is least. Where several β have the same
    direction Σ β_i g_i, the clients' order may decide which of them is returned.

    Attributes:
        tolerance: So far, as a share of their mean, may a weighted loss be off for all to count as equal. (The
            authors' code takes μ_r ≤ 0.0001, at which two of them may differ by 2.8 %, and of many, one by more.)
    """

    tolerance: float = 0.005

    def coefficients(self, ray: Floats, losses: Floats, gram: Floats) -> Floats:
        """Return the coefficients (N,): see `Scalariser.coefficients`. No loss may be negative.

        >>> ExactPareto().coefficients(np.array([0.2, 0.8]), np.array([4.0, 1.0]), np.array([[1.0, 0.5], [0.5, 2.0]]))
        array([0., 1.])
        """
        taking = check_inputs(ray, losses, gram)
        _check_losses(losses, taking)
        found = np.zeros(ray.size)
        weights = ray[taking] / ray[taking].sum()
        found[taking] = self._solve(weights, losses[taking], gram[np.ix_(taking, taking)])
        return found

    def _solve(self, ray: Floats, losses: Floats, gram: Floats) -> Floats:
        """Return the coefficients of those who take part, all of whose weights are above zero."""
        weighted = ray * losses
        longest = np.diag(gram).max()
        if ray.size == 1 or not longest or not weighted.any():
            return ray  # there is nothing to choose, nowhere to go, or nothing to gain
        products = gram / longest  # the solver's tolerances are absolute
        greatest = weighted >= weighted.max() * (1 - _SAME)
        toward, least = self._programme(ray, weighted, products, greatest)
        found = _maximise(toward, products, least)
        return greatest / greatest.sum() if found is None else found

    def _programme(self, ray: Floats, weighted: Floats, products: Floats, greatest: Booleans) -> tuple[Floats, Floats]:
        """Return the objective (N,), and the bounds (N,) below Cβ, minus infinity for none."""
        non_uniformity, adjustments = _adjust(ray, weighted)
        # If one share is off by the tolerance and the others make up for it, the non-uniformity is about this.
        if non_uniformity > self.tolerance**2 / (2 * ray.size):
            pull = products @ adjustments / np.abs(adjustments).sum()
            falling = pull > _NO_PULL
            if falling.any():
                return pull, np.where(greatest, 0.0, np.where(falling, -np.inf, pull))
        return products.sum(axis=0), np.zeros(ray.size)


def _check_losses(losses: Floats, taking: Integers) -> None:
    for position in taking:
        if losses[position] < 0:
            raise InputError(
                f"the loss of client {position} is {losses[position]:g}, but exact Pareto search compares losses by "
                "their ratios, so that none may be negative; add a constant to all, or use the scalariser 'linear'"
            )


def _adjust(ray: Floats, weighted: Floats) -> tuple[float, Floats]:
    """Return the non-uniformity of the weighted losses and the adjustments (N,)."""
    shares = weighted / weighted.sum()
    logs = np.log(ray.size * np.maximum(shares, _LEAST_SHARE))
    non_uniformity = float(shares @ logs)
    return non_uniformity, ray * (logs - non_uniformity)


def _maximise(toward: Floats, products: Floats, least: Floats) -> Floats | None:
    """Return the β (N,) of the simplex with the greatest β·toward and products @ β ≥ least, or None without one."""
    bound = np.isfinite(least)
    rows, least = products[bound], least[bound]
    # Each constraint in its own unit: next to long gradients, that of a short one would vanish in the tolerance.
    units = np.abs(rows).max(axis=1, initial=0.0)
    units[units == 0] = 1.0
    solution = linprog(
        -toward / max(np.abs(toward).max(), _NO_PULL),
        A_ub=-rows / units[:, None],
        b_ub=-least / units,
        A_eq=np.ones((1, toward.size)),
        b_eq=np.ones(1),
        bounds=(0, None),
        method="highs",
    )
    if not solution.success:
        return None
    found = np.maximum(solution.x, 0.0)
    return np.asarray(found / found.sum())
