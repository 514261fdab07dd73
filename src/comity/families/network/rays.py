"""Rays: random shares of the clients on the simplex, on which a hypernetwork is trained."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from comity.core.arrays import Floats
from comity.core.settings import check_settings, real, whole


@dataclass(frozen=True, slots=True)
class Rays:
    """How rays are drawn: Dirichlet with `alpha`, over all clients or, for the share `sparse` of the rays, over a few.

    The search ends on faces of the simplex, which a Dirichlet distribution almost never hits, so some rays are drawn
    there: over one to `most` clients. With more clients than `most`, at most one ray in ten is over all clients, so
    that a step of training asks few clients.

    >>> rays = Rays(most=2, sparse=1.0).draw(clients=4, count=100, seed=0, step=0)
    >>> sorted(set((rays > 0).sum(axis=1).tolist()))  # the number of clients of a ray
    [1, 2]
    """

    alpha: Annotated[float, real(0, closed=False)] = 1.0
    sparse: Annotated[float, real(0, 1)] = 0.9
    most: Annotated[int, whole(1)] = 12

    def __post_init__(self) -> None:
        check_settings(self)

    def draw(self, clients: int, count: int, seed: int, step: int) -> Floats:
        """Return rays (count, clients), which the seed and the step determine."""
        generator = np.random.default_rng([seed, step])
        drawn = generator.dirichlet(np.full(clients, self.alpha), count)
        sparse = self.sparse if clients <= self.most else max(self.sparse, 0.9)
        few = generator.random(count) < sparse
        sizes = generator.integers(1, min(clients, self.most) + 1, count)
        order = generator.random((count, clients)).argsort(axis=1)
        inside = np.where(few[:, None], order < sizes[:, None], True)
        shares = np.where(inside, np.maximum(drawn, 1e-12), 0.0)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))
