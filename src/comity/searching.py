"""Where the search runs: on a front that is here, or at the clients, whose rows say what a model loses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, final

import numpy as np

from comity.collaborators import Choices, Search
from comity.descent import Points
from comity.fronts.quadratic import QuadraticFront
from comity.simplex import Booleans, Floats
from comity.trials import Integers

Progress = Callable[[int, int], None]
_ENOUGH_TO_TELL = 60


class Searching(Protocol):
    """Lets clients (P targets) look for collaborators on faces (P, N) of the simplex, many at a time."""

    @property
    def search(self) -> Search:
        """How collaborators are looked for."""

    @property
    def clients(self) -> int:
        """How many clients there are, N."""

    def strength(self, target: Integers, face: Booleans) -> float:
        """Return how strongly weights should lean towards pooled ones."""

    def choose(self, target: Integers, face: Booleans, strength: float, progress: Progress | None = None) -> Choices:
        """Return what every target chooses."""

    def best(self, target: Integers, face: Booleans) -> Points:
        """Return every target's best point, from several starts."""

    def confined(self, target: Integers, face: Booleans, found: Points) -> Points:
        """Return every target's best point, going on from what was found on a larger face: quicker than `best`."""

    def continued(self, target: Integers, face: Booleans, start: Points) -> Points:
        """Return the best points met on the way downhill from a start."""

    def errors(self, target: Integers, one: Points, other: Points) -> Floats:
        """Return the standard error (P,) of the difference between two points' losses, row by row."""


@final
@dataclass(frozen=True, eq=False)
class OnFront:
    """A search on a front that is here, so many targets at a time as memory allows."""

    front: QuadraticFront
    search: Search

    @property
    def clients(self) -> int:
        """How many clients there are, N."""
        return self.front.clients

    def strength(self, target: Integers, face: Booleans) -> float:
        """Return the strength for these targets; of many, some dozens evenly taken are enough to tell."""
        some = np.unique(np.linspace(0, target.size - 1, min(target.size, _ENOUGH_TO_TELL)).astype(np.intp))
        return self.search.strength(self.front.trials(target[some]), face[some])

    def choose(self, target: Integers, face: Booleans, strength: float, progress: Progress | None = None) -> Choices:
        """Return what every target chooses."""
        parts = []
        for batch in self.front.batches(target.size):
            parts.append(self.search.collaborators(self.front.trials(target[batch]), face[batch], strength))
            if progress is not None:
                progress(min(batch.stop, target.size), target.size)
        return parts[0] if len(parts) == 1 else Choices.joined(parts)

    def best(self, target: Integers, face: Booleans) -> Points:
        """Return every target's best point, from several starts."""
        return Points.joined(
            [self.search.best(self.front.trials(target[b]), face[b]) for b in self.front.batches(target.size)]
        )

    def confined(self, target: Integers, face: Booleans, found: Points) -> Points:
        """Return every target's best point, going on from what was found on a larger face: quicker than `best`."""
        parts = []
        for batch in self.front.batches(target.size):
            there = found.some(np.arange(target.size)[batch])
            parts.append(self.search.confined(self.front.trials(target[batch]), there, face[batch]))
        return Points.joined(parts)

    def continued(self, target: Integers, face: Booleans, start: Points) -> Points:
        """Return the best points met on the way downhill from a start."""
        return self.search.continued(self.front.trials(target), start, face)

    def errors(self, target: Integers, one: Points, other: Points) -> Floats:
        """Return the standard error (P,) of the difference between two points' losses, row by row."""
        parts = []
        for batch in self.front.batches(target.size):
            trials = self.front.trials(target[batch])
            sides = [trials.outcomes(at.weights[batch], at.log_penalty[batch]) for at in (one, other)]
            parts.append(trials.standard_error(*sides))
        return np.concatenate(parts)


def in_order(places: Sequence[tuple[Points, int]]) -> Points:
    """Return points, each taken from a place among others."""
    return Points(
        np.stack([points.weights[at] for points, at in places]),
        np.array([points.log_penalty[at] for points, at in places]),
        np.array([points.losses[at] for points, at in places]),
    )
