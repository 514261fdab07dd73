"""IFCA: several models, and every client trains the one that suits it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from comity.baselines.method import Method
from comity.baselines.session import Session
from comity.errors import InputError
from comity.neural.rules import Descent
from comity.questions import Tensors
from comity.simplex import Floats

Numbers = NDArray[np.intp]
_STARTS, _MOVES = 10, 20  # of the first grouping, which is tried from several clients


@final
@dataclass(frozen=True)
class IFCA(Method):
    """Iterative clustering (Ghosh et al. 2020, Algorithm 1): client i takes the model j that has the least f_i(w_j).

    Then each of `clusters` models becomes the average of where the clients that took it went; one that nobody took
    stays. The rows that a client holds out say which model suits it, if it holds out any.

    The paper leaves open what models begin as. If they were drawn at random, one would often be less bad for everybody,
    and the others never trained. So in the first round clients train alone, and the averages of those that went the
    same way, by k-means on the directions, are the models to begin with.
    """

    clusters: int = 2

    def __post_init__(self) -> None:
        if self.clusters < 2:
            raise InputError(f"there are {self.clusters} clusters; it takes 2 or more")

    def begin(self, session: Session) -> Tensors:
        """Return the models (K, D), which are the same as yet."""
        if self.clusters > len(session.clients):
            raise InputError(
                f"there are {self.clusters} clusters and {len(session.clients)} clients; take fewer clusters"
            )
        return np.tile(session.base, (self.clusters, 1))

    def go_on(self, session: Session, state: Tensors, number: int) -> Tensors:
        """Return them after a round."""
        chosen = self._chosen(session, state) if number else np.zeros(len(session.clients), np.intp)
        rule = Descent(session.budget.steps, session.budget.rate_in(number))
        trained, _ = session.train(state[chosen], rule, number)
        if number == 0:
            chosen = grouped((trained - session.base).astype(np.float64), self.clusters, session.recipe.seed)
        moved = state.copy()
        for cluster in np.unique(chosen).tolist():
            here = chosen == cluster
            weights = session.shares[here] / session.shares[here].sum()
            moved[cluster] = np.tensordot(weights, trained[here], axes=1)
        return moved

    def models(self, session: Session, state: Tensors) -> Tensors:
        """Return the model that each client takes (N, D)."""
        return np.asarray(state[self._chosen(session, state)])

    def _chosen(self, session: Session, state: Tensors) -> Numbers:
        return np.asarray(session.held_by_all(state).argmin(axis=1))


def grouped(changes: Floats, groups: int, seed: int) -> Numbers:
    """Return the group of each of some changes (N, D), such that those of a group have nearly the same direction.

    It is Lloyd's algorithm on directions, from clients that are far from each other; of several starts the best.

    >>> grouped(np.array([[1.0, 0.1], [0.0, 3.0], [5.0, 0.0], [0.1, 1.0]]), 2, seed=0)
    array([0, 1, 0, 1])
    """
    sizes = np.linalg.norm(changes, axis=1, keepdims=True)
    directions = changes / np.where(sizes > 0, sizes, 1.0)
    likeness = directions @ directions.T
    generator = np.random.default_rng(seed)
    best, least = np.zeros(len(changes), np.intp), np.inf
    for _ in range(_STARTS):
        centres = [int(generator.integers(len(changes)))]
        while len(centres) < groups:
            centres.append(int(likeness[:, centres].max(axis=1).argmin()))
        members = np.eye(groups)[likeness[:, centres].argmax(axis=1)]
        for _ in range(_MOVES):
            distances = _distances(likeness, members)
            members = np.eye(groups)[distances.argmin(axis=1)]
        spread = float(_distances(likeness, members).min(axis=1).sum())
        if spread < least - 1e-9:
            best, least = members.argmax(axis=1), spread
    # The first client's group is the first, and so on.
    order = {group: place for place, group in enumerate(dict.fromkeys(best.tolist()))}
    return np.array([order[group] for group in best.tolist()])


def _distances(likeness: Floats, members: Floats) -> Floats:
    """Return squared distances (N, K), but for what is the same for all groups of one, to the means of groups."""
    counts = members.sum(axis=0)
    shares = members / np.maximum(counts, 1.0)
    distances = np.einsum("ik,ij,jk->k", shares, likeness, shares) - 2 * likeness @ shares
    return np.where(counts > 0, distances, np.inf)
