"""Scalarisers: for a ray over the clients, how much each client's gradient counts in the next step.

A front that is trained by descent steps along Σ c_i g_i, with g_i the gradient of client i's loss. A scalariser says
what the coefficients c are, from the ray that was asked for, the losses, and how the gradients lie to each other:

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

from comity.scalarisers.epo import ExactPareto
from comity.scalarisers.inputs import Floats
from comity.scalarisers.linear import Linear


class Scalariser(Protocol):
    """What turns a ray into the coefficients of a step."""

    def coefficients(self, ray: Floats, losses: Floats, gram: Floats) -> Floats:
        """Return the coefficients (N,) of the clients' gradients: not negative, with sum one.

        `ray` (N,) is a point of the simplex, `losses` (N,) are the clients' losses at the model, and `gram` (N, N) has
        the products g_i·g_j of their gradients. A client of weight zero has coefficient zero, and nothing that is said
        of it is looked at. The caller steps along -Σ c_i g_i.
        """


SCALARISERS: dict[str, Scalariser] = {
    "linear": Linear(),
    "epo": ExactPareto(),
}

__all__ = ["SCALARISERS", "ExactPareto", "Linear", "Scalariser"]
