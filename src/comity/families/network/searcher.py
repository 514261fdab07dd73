"""The search at the clients: each client searches its collaborators on a front that is sent to it."""

from dataclasses import dataclass
from typing import final

import numpy as np

from comity.core.arrays import Booleans, Floats, Integers, Tensors
from comity.core.progress import Advance
from comity.federation import Federation
from comity.questions import HypernetworkSpec, Recipe, SearchFront, SearchFrontAnswer
from comity.questions.networks import SearchTask
from comity.search.choices import Choices
from comity.search.collaborators import Search
from comity.search.descent import Points

_CHOSEN, _BEST, _ALONE = range(3)  # the points of an answer


@final
@dataclass(frozen=True, eq=False)
class ClientSearcher:
    """Searches at the clients in one round of questions: losses are computed where the rows are.

    `recipe`, `network` and `parameters` (K, P) describe the front; `counts` (N,) turn weights into shares of the
    objective; `alone` (N,) is the loss of each client with the model that it trained alone.
    """

    federation: Federation
    recipe: Recipe
    network: HypernetworkSpec
    parameters: Tensors
    counts: Floats
    alone: Floats
    search: Search

    @property
    def clients(self) -> int:
        """The number of clients, N."""
        return len(self.federation.clients)

    def strength(self, target: Integers, face: Booleans) -> float:
        """Return the weakest strength: a hypernetwork, trained for all weights at once, is smooth without a pull."""
        return min(self.search.strengths)

    def choose(self, target: Integers, face: Booleans, strength: float, progress: Advance | None = None) -> Choices:
        """Return the collaborators that every target chooses."""
        found = self._ask("choose", target, face, strength)
        if progress is not None:
            progress(target.size, target.size)
        chosen, best, alone = (_points(found, which) for which in (_CHOSEN, _BEST, _ALONE))
        return Choices(found.sets > 0, chosen, best, alone, found.tolerance)

    def best(self, target: Integers, face: Booleans, strength: float) -> Points:
        """Return every target's best point, from several starts."""
        return _points(self._ask("best", target, face, strength), _BEST)

    def confined(self, target: Integers, face: Booleans, found: Points, strength: float) -> Points:
        """Return every target's best point, starting from the one found on a larger face: faster than `best`."""
        return _points(self._ask("confined", target, face, strength, found.weights), _BEST)

    def together(self) -> Points:
        """Return equal weights for each of the N clients; their losses are not asked for."""
        count = self.clients
        return Points(np.full((count, count), 1 / count), np.zeros(count), np.full(count, np.nan))

    def errors(self, target: Integers, one: Points, other: Points) -> Floats:
        """Return the standard error (P,) of the difference in loss between two points, paired by row."""
        everybody = np.ones(one.weights.shape, np.bool_)
        return self._ask("errors", target, everybody, 0.0, one.weights, other.weights).errors

    def _ask(
        self,
        task: SearchTask,
        target: Integers,
        face: Booleans,
        strength: float,
        start: Floats | None = None,
        other: Floats | None = None,
    ) -> SearchFrontAnswer:
        """Ask every target about all its faces in one round; return the answers as one, in the order of the trials."""
        unused = np.zeros(face.shape)
        start, other = (unused if weights is None else weights for weights in (start, other))
        rows = {own: np.flatnonzero(target == own) for own in np.unique(target).tolist()}
        names = self.federation.clients
        answers = self.federation.ask(
            {
                names[own]: SearchFront(
                    recipe=self.recipe,
                    network=self.network,
                    parameters=self.parameters,
                    counts=self.counts,
                    own=own,
                    alone=float(self.alone[own]),
                    task=task,
                    search=self.search,
                    strength=strength,
                    faces=face[here].astype(np.float64),
                    start=start[here],
                    other=other[here],
                )
                for own, here in rows.items()
            }
        )
        order = np.concatenate(list(rows.values())).argsort()

        def joined(field: str, axis: int = 0) -> Floats:
            return np.concatenate([getattr(answers[names[own]], field) for own in rows], axis).take(order, axis)

        return SearchFrontAnswer(
            joined("sets"), joined("weights", 1), joined("losses", 1), joined("tolerance"), joined("errors")
        )


def _points(found: SearchFrontAnswer, which: int) -> Points:
    return Points(found.weights[which], np.zeros(len(found.sets)), found.losses[which])
