"""Linear scalarisation: the coefficients are the ray."""

from dataclasses import dataclass

import numpy as np

from comity.core.arrays import Floats
from comity.search.scalarisers.inputs import check_inputs


@dataclass(frozen=True, slots=True)
class Linear:
    """Each client's coefficient is its weight: the step lowers the weighted loss Σ r_i l_i.

    No weighted loss has its minimum where the front is not convex. There the descent ends near the optimum of a single
    client, whatever the ray.
    """

    def coefficients(self, ray: Floats, losses: Floats, gram: Floats) -> Floats:
        """Return the ray (N,), with a sum of exactly one: see `Scalariser.coefficients`."""
        check_inputs(ray, losses, gram)
        return np.asarray(ray / ray.sum())
