"""Linear scalarisation: the coefficients are the ray."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from comity.scalarisers.inputs import Floats, check_inputs


@dataclass(frozen=True, slots=True)
class Linear:
    """Every client's gradient counts as its weight: the step lowers the weighted loss Σ r_i l_i.

    Where the front is not convex it has no minimum of a weighted loss, so that the descent passes it by and ends near a
    single client's optimum, whatever the ray.
    """

    def coefficients(self, ray: Floats, losses: Floats, gram: Floats) -> Floats:
        """Return the ray (N,), with a sum of exactly one: see `Scalariser.coefficients`."""
        check_inputs(ray, losses, gram)
        return np.asarray(ray / ray.sum())
