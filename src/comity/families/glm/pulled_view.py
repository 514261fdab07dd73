"""A view of the rows in which personal models are pulled towards the model of a set: see `hierarchy`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np
from scipy import sparse

from comity.core.arrays import Floats, Integers
from comity.core.progress import Advance
from comity.families.glm.borrowing import Borrowing
from comity.families.glm.hierarchy import Hierarchy, Pulled
from comity.families.glm.own import fit_own
from comity.families.glm.procedures import Procedure
from comity.families.glm.sums import Parts, Sums
from comity.families.glm.view import View

_MISFIT = 6.0  # by how much a collaborator that is not like the others changes a model more, squared
_BATCH = 2e7  # numbers in an array of a batch
_KEPT = 1e6  # numbers in the sums of a view that keeps what its models are made of


def borrowing_of(
    parts: Parts,
    intercepts: int,
    noise: float | None = None,
    own: Floats | None = None,
    progress: Advance | None = None,
    *,
    own_level: bool = False,
) -> Borrowing:
    """Return what borrowing is decided by, with personal models that are pulled towards the models of sets.

    Args:
        parts: The losses on disjoint parts of the rows.
        intercepts: How many of the parameters, the last ones, are intercepts.
        noise: The variance of the noise, learned unless given.
        own: Models alone on all rows and without each part (1 + F, N, d), if they were fitted elsewhere.
        progress: Called while it works.
        own_level: Whether a client is near whatever its intercept.
    """

    def learn(sums: Sums, number: int) -> View:
        keep = not number or sums.gram.size <= _KEPT
        return PulledView(sums, intercepts, noise, None if own is None else own[number], keep, own_level)

    return Borrowing(parts, learn, noise, progress)


@final
@dataclass(eq=False)
class PulledView(View):
    """What is learned from a view of the rows by generalised linear models.

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

    @property
    def freedom(self) -> int:
        """The number of parameters that rows choose."""
        return self.sums.size

    @property
    def retrained(self) -> bool:
        """Whether models alone change with the rows by more than their parameters: they do not."""
        return False

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

    @cached_property
    def _covariances(self) -> dict[Procedure, Floats]:
        return {}

    def pulled(self, pull: float) -> Pulled:
        """Return what personal models with a pull are made of."""
        found = self._pulled.get(pull)
        if found is None:
            found = self.hierarchy.pulled(pull)
            if self.keep:
                self._pulled[pull] = found
        return found

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

    def personal(self, procedure: Procedure, target: Integers, members: sparse.csr_array) -> Floats:
        """Return the models (P, d) of targets with sets (P, N), which hold them, by the pulls of a procedure."""
        models = np.zeros((target.size, self.sums.size))
        step = max(1, int(_BATCH // self.sums.size**2))
        for pull, weight in zip(procedure.pulls, procedure.weights, strict=True):
            for first in range(0, target.size, step):
                some = slice(first, first + step)
                models[some] += weight * self.pulled(pull).models(members[some], target[some])
        return models

    def spread(
        self, procedure: Procedure, apart: Floats, turned: Floats, target: Integers | slice = slice(None)
    ) -> Floats:
        """Return the covariance (P, K, K) of the products of what a procedure's models leave open with differences."""
        covariance = self._covariances.get(procedure)
        if covariance is None:
            covariance = self.covariance(procedure)
            if self.keep:
                self._covariances[procedure] = covariance
        return np.asarray((turned @ covariance[target]) @ turned.transpose(0, 2, 1))

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

    def misfit(
        self,
        procedure: Procedure,
        curvature: Floats,
        target: Integers,
        members: sparse.csr_array,
        without: sparse.csr_array,
    ) -> Floats:
        """Return log likelihood ratios (P,) that a collaborator is not like the others of a target's set.

        If it is like them, the model without it lies from that with it as far as follows from what both leave open. If
        it is not, squared distances are `_MISFIT` times as large.

        Args:
            procedure: The procedure whose pulls models have.
            curvature: Second moments (N, d, d) of the clients' rows.
            target: The clients whose models are compared.
            members: Their sets (P, N).
            without: The same without the collaborator in question.
        """
        size = self.sums.size
        found = np.empty(target.size)
        step = max(1, int(_BATCH // size**2))
        for first in range(0, target.size, step):
            some = slice(first, first + step)
            clients, sets = target[some], (without[some], members[some])
            moved = np.zeros((clients.size, size, size))
            for pull, weight in zip(procedure.pulls, procedure.weights, strict=True):
                pulled = self.pulled(pull)
                left_open = [np.linalg.inv(pulled.set_means(each)[0]) for each in sets]
                drawn = pulled.drawn[clients]
                moved += weight * drawn @ (left_open[0] - left_open[1]) @ drawn.transpose(0, 2, 1)
            turned = curvature[clients] @ moved
            mean = np.maximum(np.trace(turned, axis1=1, axis2=2), np.finfo(np.float64).tiny)
            freedom = mean**2 / np.maximum(np.einsum("pij,pji->p", turned, turned), mean**2 / size)
            one, other = (self.personal(procedure, clients, each) for each in sets)
            apart = one - other
            ratio = ((curvature[clients] @ apart[..., None])[..., 0] * apart).sum(axis=1) / mean
            found[some] = freedom / 2 * (ratio * (1 - 1 / _MISFIT) - np.log(_MISFIT))
        return found

    def shares(self, procedure: Procedure, target: Integers, members: sparse.csr_array) -> Floats:
        """Return how much of each target's model comes from whose rows (P, N), up to a factor for each target."""
        clients, size = len(self.sums), self.sums.size
        shares = np.zeros((target.size, clients))
        step = max(1, int(_BATCH // max(size**2, clients)))
        for pull, weight in zip(procedure.pulls, procedure.weights, strict=True):
            pulled = self.pulled(pull)
            flat = pulled.precision.transpose(0, 2, 1).reshape(clients, -1)
            for first in range(0, target.size, step):
                some = np.arange(first, min(first + step, target.size))
                means = np.linalg.inv(pulled.set_means(members[some])[0])
                through = (pulled.drawn[target[some]] @ means).reshape(some.size, -1) @ flat.T
                shares[some] += weight * np.maximum(through, 0.0) * (members[some].toarray() > 0)
                own = np.einsum("pab,pba->p", pulled.posterior[target[some]], self.sums.gram[target[some]])
                shares[some, target[some]] += weight * own / self.hierarchy.noise
        return shares

    def _members_or_all(self, procedure: Procedure) -> sparse.csr_array | None:
        everybody = procedure.size == len(self.sums) - 1 and not procedure.nearest
        return None if everybody else self.members(procedure)
