"""The search at the clients: each looks for its own collaborators on a front that it is sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from comity.collaborators import Choices, Search
from comity.descent import Points
from comity.federation import Federation
from comity.questions import Found, SearchFront, Tensors
from comity.searching.searching import Progress
from comity.simplex import Booleans, Floats
from comity.trials import Integers

_CHOSEN, _BEST, _ALONE = range(3)


@final
@dataclass(frozen=True, eq=False)
class AtClients:
    """A search in one round: what a model loses is known where the rows are, and all that comes back is what was found.

    `recipe`, `network` and `parameters` (K, P) are the front; `counts` (N,) turn weights into shares of the objective;
    `alone` (N,) is what each client loses with the model that it trained by itself.
    """

    federation: Federation
    recipe: str
    network: str
    parameters: Tensors
    counts: Floats
    alone: Floats
    search: Search

    @property
    def clients(self) -> int:
        """How many clients there are, N."""
        return len(self.federation.clients)

    def strength(self, target: Integers, face: Booleans) -> float:
        """Return the weakest strength: a hypernetwork, trained for all weights at once, is smooth enough by itself."""
        return min(self.search.strengths)

    def choose(self, target: Integers, face: Booleans, strength: float, progress: Progress | None = None) -> Choices:
        """Return what every target chooses."""
        found = self._ask("choose", target, face, strength)
        if progress is not None:
            progress(target.size, target.size)
        return Choices(
            np.stack([each.sets[row] > 0 for each, row in found]),
            _points(found, _CHOSEN),
            _points(found, _BEST),
            _points(found, _ALONE),
            np.array([each.tolerance[row] for each, row in found]),
        )

    def best(self, target: Integers, face: Booleans, strength: float) -> Points:
        """Return every target's best point, from several starts."""
        return _points(self._ask("best", target, face, strength), _BEST)

    def confined(self, target: Integers, face: Booleans, found: Points, strength: float) -> Points:
        """Return every target's best point, going on from what was found on a larger face: quicker than `best`."""
        return _points(self._ask("confined", target, face, strength, found.weights), _BEST)

    def together(self) -> Points:
        """Return the point of all clients with equal weights, N times; what it loses is not asked."""
        count = self.clients
        return Points(np.full((count, count), 1 / count), np.zeros(count), np.full(count, np.nan))

    def errors(self, target: Integers, one: Points, other: Points) -> Floats:
        """Return the standard error (P,) of the difference between two points' losses, row by row."""
        everybody = np.ones(one.weights.shape, np.bool_)
        found = self._ask("errors", target, everybody, 0.0, one.weights, other.weights)
        return np.array([each.errors[row] for each, row in found])

    def _ask(
        self,
        task: str,
        target: Integers,
        face: Booleans,
        strength: float,
        start: Floats | None = None,
        other: Floats | None = None,
    ) -> list[tuple[Found, int]]:
        """Ask every target for all its faces in one round; return each one's answer, and its row in it."""
        nowhere = np.zeros(face.shape)
        start, other = (nowhere if each is None else each for each in (start, other))
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
                    search=self.search.to_json(),
                    strength=strength,
                    faces=face[here].astype(np.float64),
                    start=start[here],
                    other=other[here],
                )
                for own, here in rows.items()
            }
        )
        return [
            (answers[names[own]], int(np.flatnonzero(rows[own] == at)[0])) for at, own in enumerate(target.tolist())
        ]


def _points(found: list[tuple[Found, int]], kind: int) -> Points:
    return Points(
        np.stack([each.weights[kind, row] for each, row in found]),
        np.zeros(len(found)),
        np.array([each.losses[kind, row] for each, row in found]),
    )
