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


@final
@dataclass(frozen=True)
class IFCA(Method):
    """Iterative clustering (Ghosh et al. 2020, Algorithm 1): client i takes the model j that has the least f_i(w_j).

    Then each of `clusters` models becomes the average of where the clients that took it went; one that nobody took
    stays. The rows that a client holds out say which model suits it, not those it trains with.
    """

    clusters: int = 2

    def __post_init__(self) -> None:
        if self.clusters < 2:
            raise InputError(f"there are {self.clusters} clusters; it takes 2 or more")

    def begin(self, session: Session) -> Tensors:
        """Return models (K, D), the first the module's own and others drawn anew."""
        others = (session.drawn(session.recipe.seed + 1 + number) for number in range(self.clusters - 1))
        return np.stack([session.base, *others])

    def go_on(self, session: Session, state: Tensors, number: int) -> Tensors:
        """Return them after a round."""
        chosen = self._chosen(session, state)
        rule = Descent(session.budget.steps, session.budget.rate_in(number))
        trained, _ = session.train(state[chosen], rule, number)
        moved = state.copy()
        for cluster in np.unique(chosen).tolist():
            here = chosen == cluster
            weights = session.shares[here] / session.shares[here].sum()
            moved[cluster] = np.tensordot(weights, trained[here], axes=1)
        return moved

    def models(self, session: Session, state: Tensors) -> Tensors:
        """Return the model that each client takes (N, D)."""
        return np.asarray(state[self._chosen(session, state)])

    def _chosen(self, session: Session, state: Tensors) -> NDArray[np.intp]:
        return np.asarray(session.held_by_all(state).argmin(axis=1))
