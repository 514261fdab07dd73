"""Scalarisers: the coefficients of the clients' gradients in a step towards a ray's point of the Pareto front.

A front is trained by steps along -Σ c_i g_i, where g_i is the gradient of client i's loss. A scalariser computes the
coefficients c from the ray, the losses, and the inner products of the gradients:

- ``linear``: the ray itself. The step minimises Σ r_i l_i, and reaches the convex part of the front only.
- ``epo``: exact Pareto search. It looks for the point of the front where the weighted losses r_i l_i are all equal,
  also where the front is not convex.

>>> import numpy as np
>>> ray, losses, gram = np.array([0.5, 0.5]), np.array([1.0, 3.0]), np.eye(2)
>>> SCALARISERS["linear"].coefficients(ray, losses, gram)
array([0.5, 0.5])
>>> SCALARISERS["epo"].coefficients(ray, losses, gram)
array([0., 1.])
"""

from typing import Protocol

from comity.core.arrays import Floats
from comity.search.scalarisers.epo import ExactPareto
from comity.search.scalarisers.linear import Linear


class Scalariser(Protocol):
    """A rule for the coefficients of a step."""

    def coefficients(self, ray: Floats, losses: Floats, gram: Floats) -> Floats:
        """Return the coefficients (N,) of the clients' gradients: non-negative, with sum one.

        `ray` (N,) is a point of the simplex, `losses` (N,) are the clients' losses at the model, and `gram` (N, N) has
        the inner products g_i·g_j of their gradients. A client of weight zero has coefficient zero; its loss and
        gradient are ignored. The caller steps along -Σ c_i g_i.
        """


SCALARISERS: dict[str, Scalariser] = {
    "linear": Linear(),
    "epo": ExactPareto(),
}
