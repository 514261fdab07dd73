"""A view of the rows in which a client's model is a weighted sum of models that clients trained: a stack.

The personal model of client i with a set S of collaborators is

    f(x) = aᵢ mᵢ(x) + bᵢ mean of m_j(x) over the others in S, by their rows, + cᵢ

where m_j is what client j trained on its own rows. The weights (a, b, c) of a client are taken as drawn from a normal
distribution, which is learned from all clients (`comity.families.glm.hierarchy`): one with few rows has the weights
that serve clients like it. Its own model is judged on rows that did not train it. In all, a model is a vector of
parameters: a weight for the model of each client, and the intercepts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np
from scipy import sparse

from comity.core.arrays import Floats, Integers
from comity.families.glm.hierarchy import Hierarchy
from comity.families.glm.procedures import Procedure
from comity.families.glm.sums import Sums
from comity.families.glm.view import View

_SCALE_ALONE = 0.5  # the expected scale of a model alone, and its standard deviation
_ROUNDS_ALONE = 4  # in which the noise of a client is learned
_ROWS_OF_NOISE = 1e-3  # with a variance of one, so that no noise is zero
_TINY = 1e-9
_BORROWED_ROWS = 20.0  # before a client's own rows say how sure a prediction is


@final
@dataclass(eq=False)
class StackView(View):
    """What is learned from a view of the rows by stacks.

    Attributes:
        sums: The losses on these rows, by the weights of all clients' models and the intercepts.
        intercepts: The number of intercepts, which are the last parameters.
        noise: The variance of the noise, learned unless given.
        order: The others of each client, the nearest first.
    """

    sums: Sums
    intercepts: int
    noise: float | None
    order: Integers = field(init=False)

    def __post_init__(self) -> None:
        self.order = self._nearest(np.eye(len(self.sums), self.sums.size))

    @property
    def freedom(self) -> int:
        """The number of parameters that rows choose: the weights of a stack."""
        return 2 + self.intercepts

    @property
    def retrained(self) -> bool:
        """Whether models alone change with the rows by more than their parameters: clients train theirs anew."""
        return True

    @cached_property
    def alone(self) -> Floats:
        """The models alone (N, d): each client's own, scaled and shifted by its own rows; without any, the mean of all.

        The scale is drawn from N(½, ½²), whoever the others are: what few rows train predicts too much.
        """
        clients, rows = len(self.sums), self.sums.rows
        columns = np.zeros((clients, self.sums.size, 1 + self.intercepts))
        columns[np.arange(clients), np.arange(clients), 0] = 1.0
        columns[:, clients:, 1:] = np.eye(self.intercepts)
        here, prior = _turned(self.sums, columns), np.eye(1 + self.intercepts) / _SCALE_ALONE**2
        start = np.zeros(1 + self.intercepts)
        start[0] = _SCALE_ALONE
        noise = np.full(clients, self.noise or 1.0)
        for _ in range(_ROUNDS_ALONE):
            system = here.gram / noise[:, None, None] + prior
            right = here.cross / noise[:, None] + prior @ start
            weights = np.linalg.solve(system, right[..., None])[..., 0]
            if self.noise is None:
                noise = np.maximum((here.losses(weights) + _ROWS_OF_NOISE) / (rows + _ROWS_OF_NOISE), _TINY)
        found = (columns @ weights[..., None])[..., 0]
        found[rows == 0] = 0.0
        found[rows == 0, :clients] = rows / max(rows.sum(), 1.0)
        return np.asarray(found)

    @cached_property
    def _learned(self) -> dict[tuple[int, bool], Hierarchy]:
        return {}

    def _weights_of(self, procedure: Procedure) -> Hierarchy:
        """Return what the weights of the clients' stacks by a procedure have in common."""
        key = procedure.size, procedure.nearest
        if key not in self._learned:
            columns = self._columns(np.arange(len(self.sums)), self.members(procedure))
            self._learned[key] = Hierarchy.learn(_turned(self.sums, columns), self.intercepts, self.noise)
        return self._learned[key]

    def _forget(self) -> None:
        """Forget what depends on the order."""
        super()._forget()
        self._learned.clear()

    def _columns(self, target: Integers, members: sparse.csr_array) -> Floats:
        """Return what each target's stack is a sum of (P, d, q): its own model, the mean of the others', intercepts."""
        clients, everybody = len(self.sums), np.arange(target.size)
        others = members.toarray() * self.sums.rows
        others[everybody, target] = 0.0
        columns = np.zeros((target.size, self.sums.size, self.freedom))
        columns[everybody, target, 0] = self.sums.rows[target] > 0
        columns[:, :clients, 1] = others / np.maximum(others.sum(axis=1, keepdims=True), 1.0)
        columns[:, clients:, 2:] = np.eye(self.intercepts)
        return columns

    def models(self, procedure: Procedure) -> Floats:
        """Return every client's model (N, d) by a procedure."""
        if not procedure.size:
            return self.alone
        return self.personal(procedure, np.arange(len(self.sums)), self.members(procedure))

    def tried(self, chosen: Sequence[Procedure]) -> list[Floats]:
        """Return every client's model (1, N, d) by some procedures."""
        return [self.models(each)[None] for each in chosen]

    def personal(self, procedure: Procedure, target: Integers, members: sparse.csr_array) -> Floats:
        """Return the models (P, d) of targets with sets (P, N), which hold them, with the weights of a procedure."""
        columns = self._columns(target, members)
        return np.asarray((columns @ self._posterior(procedure, target, columns)[0][..., None])[..., 0])

    def _posterior(self, procedure: Procedure, target: Integers, columns: Floats) -> tuple[Floats, Floats]:
        """Return the expected weights of targets' stacks (P, q), and their covariances (P, q, q)."""
        learned, here = self._weights_of(procedure), _turned(self.sums.some(target), columns)
        prior = np.linalg.inv(learned.spread)
        covariance = np.linalg.inv(here.gram / learned.noise + prior)
        right = here.cross / learned.noise + prior @ learned.mean
        return np.asarray((covariance @ right[..., None])[..., 0]), np.asarray(covariance)

    def spread(
        self, procedure: Procedure, apart: Floats, turned: Floats, target: Integers | slice = slice(None)
    ) -> Floats:
        """Return the covariance (P, K, K) of the products of what a procedure's models leave open with differences.

        The weights of the stack are uncertain, and in other directions the rows leave open what least squares would.
        """
        target = np.arange(len(self.sums))[target]
        columns = self._columns(target, self.members(procedure)[target])
        turned_to = turned @ columns
        by_weights = (turned_to @ self._posterior(procedure, target, columns)[1]) @ turned_to.transpose(0, 2, 1)
        noise = self._weights_of(procedure).noise / (self.sums.rows[target] + _BORROWED_ROWS)
        return np.asarray(by_weights + noise[:, None, None] * (turned @ apart.transpose(0, 2, 1)))

    def misfit(
        self,
        procedure: Procedure,
        curvature: Floats,
        target: Integers,
        members: sparse.csr_array,
        without: sparse.csr_array,
    ) -> Floats:
        """Return zeros (P,): a stack does not tell whether a collaborator is unlike the others."""
        return np.zeros(target.size)

    def shares(self, procedure: Procedure, target: Integers, members: sparse.csr_array) -> Floats:
        """Return the sizes of the weights (P, N) of whose models."""
        return np.abs(self.personal(procedure, target, members)[:, : len(self.sums)])


def _turned(sums: Sums, columns: Floats) -> Sums:
    """Return the losses of stacks as functions of their weights, from columns (N, d, q)."""
    right = (sums.cross[:, None, :] @ columns)[:, 0]
    return Sums(columns.transpose(0, 2, 1) @ sums.gram @ columns, right, sums.square, sums.rows)
