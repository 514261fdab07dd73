"""A view of the rows: all of them, or all but a part, and what follows from it for every procedure.

*Near* is whose model does well on a client's rows. Weak bridges are left out of the sets of the nearest: see
`comity.deciding.bridges`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from scipy import sparse

from comity.core.arrays import Floats, Integers
from comity.deciding.bridges import without_bridges
from comity.families.glm.procedures import FEW, MAX_COLLABORATORS, Procedure
from comity.families.glm.sums import Sums

_ROUNDS = 6  # of finding the nearest anew by the models that result; half of them with many clients
_BATCH = 2e7  # numbers in an array of a batch


class View(ABC):
    """What is learned from a view of the rows.

    Attributes:
        sums: The losses of N clients on these rows, as functions of d parameters.
        order: The others of each client (N, at most `MAX_COLLABORATORS`), the nearest first.
        own_level: Whether another is near whatever its last parameter, the intercept.
    """

    sums: Sums
    order: Integers
    own_level: bool = False

    @property
    @abstractmethod
    def freedom(self) -> int:
        """The number of parameters that rows choose."""

    @property
    @abstractmethod
    def retrained(self) -> bool:
        """Whether models alone change with the rows by more than their parameters: what these weigh is trained anew."""

    @property
    @abstractmethod
    def alone(self) -> Floats:
        """The models alone (N, d)."""

    @abstractmethod
    def models(self, procedure: Procedure) -> Floats:
        """Return every client's model (N, d) by a procedure."""

    @abstractmethod
    def tried(self, chosen: Sequence[Procedure]) -> list[Floats]:
        """Return every client's model (T, N, d) by some procedures with each of their T pulls; alone there is one."""

    @abstractmethod
    def personal(self, procedure: Procedure, target: Integers, members: sparse.csr_array) -> Floats:
        """Return the models (P, d) of targets with sets (P, N), which hold them, by the pulls of a procedure."""

    @abstractmethod
    def spread(
        self, procedure: Procedure, apart: Floats, turned: Floats, target: Integers | slice = slice(None)
    ) -> Floats:
        """Return the covariance (P, K, K) of the products of what a procedure's models leave open with differences.

        Args:
            procedure: The procedure.
            apart: Differences (P, K, d) of K models from that of the procedure.
            turned: The same, times the second moments of the rows.
            target: The clients.
        """

    @abstractmethod
    def misfit(
        self,
        procedure: Procedure,
        curvature: Floats,
        target: Integers,
        members: sparse.csr_array,
        without: sparse.csr_array,
    ) -> Floats:
        """Return log likelihood ratios (P,) that the collaborator left out of a set (P, N) is not like the others."""

    @abstractmethod
    def shares(self, procedure: Procedure, target: Integers, members: sparse.csr_array) -> Floats:
        """Return how much of each target's model comes from whose rows (P, N), up to a factor for each target."""

    def settle(self, procedure: Procedure) -> None:
        """Find the nearest again, by the models that a procedure gives."""
        if procedure.nearest and procedure.size:
            for _ in range(_ROUNDS if len(self.sums) <= FEW else _ROUNDS // 2):
                self.order = self._nearest(self.models(procedure))
                self._forget()

    def _forget(self) -> None:
        """Forget what depends on the order."""
        self._members.clear()

    def _nearest(self, models: Floats) -> Integers:
        """Return for each client the others whose models do best on its rows, the best first (N, M)."""
        clients, most = len(models), min(len(models) - 1, MAX_COLLABORATORS)
        sums = self.sums.without_level() if self.own_level else self.sums
        outer = (models[:, :, None] * models[:, None, :]).reshape(clients, -1).T
        order = np.empty((clients, most), np.intp)
        step = max(1, int(_BATCH // max(clients, 1)))
        for first in range(0, clients, step):
            here = slice(first, min(first + step, clients))
            losses = sums.gram[here].reshape(-1, len(outer)) @ outer - 2 * sums.cross[here] @ models.T
            losses[np.arange(len(losses)), np.arange(here.start, here.stop)] = np.inf
            best = np.argpartition(losses, most - 1, axis=1)[:, :most]
            ranked = np.argsort(np.take_along_axis(losses, best, axis=1), axis=1, kind="stable")
            order[here] = np.take_along_axis(best, ranked, axis=1)
        return order

    @cached_property
    def _members(self) -> dict[tuple[int, bool], sparse.csr_array]:
        return {}

    def members(self, procedure: Procedure) -> sparse.csr_array:
        """Return each client's set (N, N), of which it is a member itself."""
        key = procedure.size, procedure.nearest
        if key not in self._members:
            self._members[key] = self._find_members(procedure)
        return self._members[key]

    def _find_members(self, procedure: Procedure) -> sparse.csr_array:
        clients = len(self.sums)
        own = sparse.eye_array(clients, format="csr")
        if procedure.nearest:
            members = _as_sets(self.order[:, : procedure.size], clients) + own
            if procedure.size > 1:
                members = without_bridges(sparse.csr_array(members))
        else:
            members = _in_a_circle(clients, procedure.size)
        members = sparse.csr_array((members * (self.sums.rows > 0)).maximum(own))  # who has no rows brings nothing
        members.eliminate_zeros()
        return members

    def circle(self, target: int) -> Integers:
        """Return all others as anybody is taken: those after a client in the circle of all."""
        return (target + np.arange(1, len(self.sums))) % len(self.sums)


def _as_sets(order: Integers, clients: int) -> sparse.csr_array:
    """Return the sets (N, N) that rows of an order (N, m) list."""
    count, size = order.shape
    return sparse.csr_array(
        (np.ones(order.size), order.ravel(), np.arange(0, order.size + 1, size)), shape=(count, clients)
    )


def _in_a_circle(clients: int, size: int) -> sparse.csr_array:
    """Return sets (N, N) of each client and the `size` after it in a circle: everybody is in as many sets."""
    return _as_sets((np.arange(clients)[:, None] + np.arange(size + 1)) % clients, clients)
