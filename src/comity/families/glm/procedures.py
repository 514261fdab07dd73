"""Procedures by which clients choose collaborators, and what follows from them in one view of the rows.

A *procedure* says how a client's collaborators and its pull towards their model follow from the rows: alone, with the
nearest m others, or with anybody. *Near* is whose model does well on the client's rows. Weak bridges are left out of
the sets of the nearest: see `comity.deciding.bridges`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from comity.core.arrays import Floats, Integers
from comity.deciding.bridges import without_bridges
from comity.families.glm.hierarchy import Hierarchy, Pulled
from comity.families.glm.own import fit_own
from comity.families.glm.sums import Sums

_SIZES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64)
_COARSE_SIZES = (1, 2, 4, 8, 16, 32, 64)
MAX_COLLABORATORS = 64  # of a client
_ALL_PULLS = (
    (2.0, 1.0, 0.7, 0.4, 0.1, 0.03, 0.006),  # towards the nearest
    (8.0, 4.0, 2.0, 1.4, 1.0, 0.7, 0.5, 0.3, 0.1, 0.03, 0.01, 0.002),  # towards anybody
)
_ROUNDS = 6  # of finding the nearest anew by the models that result; half of them with many clients
_FEW = 200  # clients, who need all the evidence there is
_NEGLIGIBLE = 0.02  # a pull with a smaller weight is left out
_BATCH = 2e7  # numbers in an array of a batch


@dataclass(frozen=True, slots=True)
class Procedure:
    """How a client's model comes about: with `size` collaborators, the nearest or anybody; with none, alone.

    The model is the mean of those with each of `pulls`, by their `weights`, which sum to one.
    """

    size: int
    nearest: bool = True
    pulls: tuple[float, ...] = ()
    weights: tuple[float, ...] = ()

    def weighted(self, deviances: Floats, prior: float) -> Procedure:
        """Return it with pulls weighted by likelihood, whose logarithm is minus half the deviance, and a prior.

        The prior weight of a pull c is min(c, 1) to the power `prior`.
        """
        weights = np.minimum(self.pulls, 1.0) ** prior * np.exp((deviances.min() - deviances) / 2)
        weights = np.where(weights < _NEGLIGIBLE * weights.sum(), 0.0, weights)
        kept = np.flatnonzero(weights).tolist()
        total = float(weights.sum())
        return replace(
            self, pulls=tuple(self.pulls[at] for at in kept), weights=tuple(float(weights[at]) / total for at in kept)
        )


def procedures(clients: int) -> tuple[Procedure, ...]:
    """Return the procedures to try with N clients, the first of which is to be alone; a few of them if N is large.

    >>> [each.size for each in procedures(3)]
    [0, 1, 2]
    >>> [each.size for each in procedures(500)]
    [0, 1, 2, 4, 8, 16, 32, 64, 64]
    """
    few = clients <= _FEW
    return _procedures(clients, _SIZES if few else _COARSE_SIZES, *(each if few else each[::2] for each in _ALL_PULLS))


def procedures_near(clients: int, kept: Sequence[Procedure], best: int) -> tuple[Procedure, ...]:
    """Return the procedures to try next, when some have been kept; if N is large, more near the best and fewer others.

    >>> first = procedures(500)
    >>> [each.size for each in procedures_near(500, first, 8)]
    [0, 1, 2, 4, 5, 6, 8, 10, 12, 16, 32, 64, 64]
    """
    if clients <= _FEW:
        return procedures(clients)
    sizes = [size for size in _SIZES if size in _COARSE_SIZES or best / 2 < size < best * 2]
    pulls = []
    for nearest, each in zip((True, False), _ALL_PULLS, strict=True):
        seen = {each.index(pull) for one in kept if one.nearest is nearest for pull in one.pulls}
        pulls.append(tuple(pull for at, pull in enumerate(each) if seen & {at - 1, at, at + 1}))
    return _procedures(clients, sizes, *pulls)


def _procedures(
    clients: int, sizes: Sequence[int], pulls: tuple[float, ...], to_anybody: tuple[float, ...]
) -> tuple[Procedure, ...]:
    nearest = [Procedure(size, pulls=pulls) for size in sizes if size < min(clients - 1, MAX_COLLABORATORS + 1)]
    anybody = Procedure(min(clients - 1, MAX_COLLABORATORS), nearest=False, pulls=to_anybody)
    return (Procedure(0), *nearest, anybody)


@dataclass(eq=False)
class View:
    """What is learned from a view of the rows.

    Attributes:
        sums: The losses on these rows.
        intercepts: How many of the parameters, the last ones, are intercepts.
        noise: The variance of the noise, learned unless given.
        own: Models alone that were fitted elsewhere (N, d).
        keep: Whether to keep all that personal models are made of, for the next time.
        own_level: Whether another is near whatever its intercept: if its model does well with this client's own level.
        order: The others of each client (N, at most `MAX_COLLABORATORS`), the nearest first.
    """

    sums: Sums
    intercepts: int
    noise: float | None
    own: Floats | None = None
    keep: bool = True
    own_level: bool = False
    order: Integers = field(init=False)

    def __post_init__(self) -> None:
        self.order = self._nearest(self.hierarchy.models)

    @cached_property
    def hierarchy(self) -> Hierarchy:
        """What the clients have in common."""
        return Hierarchy.learn(self.sums, self.intercepts, self.noise)

    @cached_property
    def alone(self) -> Floats:
        """The models alone (N, d); a client without rows has the typical one."""
        own = fit_own(self.sums)[0] if self.own is None else self.own
        return np.where(self.sums.rows[:, None] > 0, own, self.hierarchy.mean)

    @cached_property
    def _pulled(self) -> dict[float, Pulled]:
        return {}

    def pulled(self, pull: float) -> Pulled:
        """Return what personal models with a pull are made of."""
        found = self._pulled.get(pull)
        if found is None:
            found = self.hierarchy.pulled(pull)
            if self.keep:
                self._pulled[pull] = found
        return found

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

    def settle(self, procedure: Procedure) -> None:
        """Find the nearest again, by the models that a procedure gives."""
        if procedure.nearest and procedure.size:
            for _ in range(_ROUNDS if len(self.sums) <= _FEW else _ROUNDS // 2):
                self.order = self._nearest(self.models(procedure))
                self._members.clear()

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

    def models(self, procedure: Procedure) -> Floats:
        """Return every client's model (N, d) by a procedure."""
        if not procedure.size:
            return self.alone
        members, models = self._members_or_all(procedure), np.zeros_like(self.sums.cross)
        for pull, weight in zip(procedure.pulls, procedure.weights, strict=True):
            models += weight * self.pulled(pull).models(members)
        return models

    def tried(self, chosen: Sequence[Procedure]) -> list[Floats]:
        """Return every client's model (T, N, d) by some procedures with each of their T pulls; alone there is one."""
        by_pull = {}
        for pull in {pull for each in chosen for pull in each.pulls}:
            pulled = self.pulled(pull)
            for each in chosen:
                if pull in each.pulls:
                    by_pull[each, pull] = pulled.models(self._members_or_all(each))
        return [
            np.stack([by_pull[each, pull] for pull in each.pulls] if each.size else [self.alone]) for each in chosen
        ]

    def covariance(self, procedure: Procedure) -> Floats:
        """Return the covariance (N, d, d) of what a procedure's models leave open."""
        members, mean = self._members_or_all(procedure), self.models(procedure)
        found = np.zeros_like(self.sums.gram)
        for pull, weight in zip(procedure.pulls, procedure.weights, strict=True):
            pulled = self.pulled(pull)
            of_mean = np.linalg.inv(pulled.set_means(members)[0])
            found += weight * (pulled.posterior + pulled.drawn @ of_mean @ pulled.drawn.transpose(0, 2, 1))
            if len(procedure.pulls) > 1:
                apart = pulled.models(members) - mean
                found += weight * apart[:, :, None] * apart[:, None, :]
        return found

    def _members_or_all(self, procedure: Procedure) -> sparse.csr_array | None:
        everybody = procedure.size == len(self.sums) - 1 and not procedure.nearest
        return None if everybody else self.members(procedure)


def _as_sets(order: Integers, clients: int) -> sparse.csr_array:
    """Return the sets (N, N) that rows of an order (N, m) list."""
    count, size = order.shape
    return sparse.csr_array(
        (np.ones(order.size), order.ravel(), np.arange(0, order.size + 1, size)), shape=(count, clients)
    )


def _in_a_circle(clients: int, size: int) -> sparse.csr_array:
    """Return sets (N, N) of each client and the `size` after it in a circle: everybody is in as many sets."""
    return _as_sets((np.arange(clients)[:, None] + np.arange(size + 1)) % clients, clients)
