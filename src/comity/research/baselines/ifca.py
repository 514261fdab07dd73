"""IFCA: several models, each trained by the clients that it fits best."""

from dataclasses import dataclass
from typing import Annotated, final

import numpy as np
from numpy.typing import NDArray

from comity.core.arrays import Floats, Tensors
from comity.core.settings import whole
from comity.errors import InputError
from comity.research.baselines.method import Method
from comity.research.baselines.session import Session

Labels = NDArray[np.intp]
_RESTARTS, _ITERATIONS = 10, 20  # of the k-means that forms the first clusters


@final
@dataclass(frozen=True)
class IFCA(Method):
    """Iterative federated clustering (Ghosh et al. 2020, Algorithm 1): client i takes the model j with least f_i(w_j).

    Then each of the `clusters` models becomes the average of the models of the clients that took it; a model that no
    client took stays as it is. Clients compare models on their held-out rows, if they hold out any.

    The paper leaves the initial models open. If they were random, one of them would often be best for every client, and
    the others would never be trained. So clients train alone in the first round, k-means clusters the directions of
    their updates, and the averages of the clusters are the initial models.
    """

    clusters: Annotated[int, whole(2)] = 2

    def begin(self, session: Session) -> Tensors:
        """Return the models (K, D), which are all the same at first."""
        if self.clusters > len(session.clients):
            raise InputError(
                f"there are {self.clusters} clusters and {len(session.clients)} clients; take fewer clusters"
            )
        return np.tile(session.base, (self.clusters, 1))

    def step(self, session: Session, state: Tensors, number: int) -> Tensors:
        """Return the models after a round."""
        chosen = self._chosen(session, state) if number else np.zeros(len(session.clients), np.intp)
        trained, _ = session.train(state[chosen], session.budget.descent(number), number)
        if number == 0:
            chosen = cluster_directions((trained - session.base).astype(np.float64), self.clusters, session.recipe.seed)
        averages = state.copy()
        for cluster in np.unique(chosen).tolist():
            members = chosen == cluster
            weights = session.shares[members] / session.shares[members].sum()
            averages[cluster] = np.tensordot(weights, trained[members], axes=1)
        return averages

    def models(self, session: Session, state: Tensors) -> Tensors:
        """Return the model that each client takes (N, D)."""
        return np.asarray(state[self._chosen(session, state)])

    def _chosen(self, session: Session, state: Tensors) -> Labels:
        return np.asarray(session.loss_matrix(state).argmin(axis=1))


def cluster_directions(updates: Floats, clusters: int, seed: int) -> Labels:
    """Return the cluster of each update (N, D), such that the updates of a cluster have similar directions.

    This is Lloyd's algorithm on the directions, started from clients that are far apart; the best of several starts.

    >>> cluster_directions(np.array([[1.0, 0.1], [0.0, 3.0], [5.0, 0.0], [0.1, 1.0]]), 2, seed=0)
    array([0, 1, 0, 1])
    """
    lengths = np.linalg.norm(updates, axis=1, keepdims=True)
    directions = updates / np.where(lengths > 0, lengths, 1.0)
    similarity = directions @ directions.T
    generator = np.random.default_rng(seed)
    best, least = np.zeros(len(updates), np.intp), np.inf
    for _ in range(_RESTARTS):
        centres = [int(generator.integers(len(updates)))]
        while len(centres) < clusters:
            centres.append(int(similarity[:, centres].max(axis=1).argmin()))
        members = np.eye(clusters)[similarity[:, centres].argmax(axis=1)]
        for _ in range(_ITERATIONS):
            members = np.eye(clusters)[_distances(similarity, members).argmin(axis=1)]
        spread = float(_distances(similarity, members).min(axis=1).sum())
        if spread < least - 1e-9:
            best, least = members.argmax(axis=1), spread
    # Clusters are numbered by their first client.
    order = {cluster: place for place, cluster in enumerate(dict.fromkeys(best.tolist()))}
    return np.array([order[cluster] for cluster in best.tolist()])


def _distances(similarity: Floats, members: Floats) -> Floats:
    """Return squared distances (N, K) to the means of clusters, up to a constant for each client."""
    counts = members.sum(axis=0)
    shares = members / np.maximum(counts, 1.0)
    distances = np.einsum("ik,ij,jk->k", shares, similarity, shares) - 2 * similarity @ shares
    return np.where(counts > 0, distances, np.inf)
