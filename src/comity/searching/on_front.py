"""The search on a front that is here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from comity.collaborators import Choices, Search
from comity.descent import Points
from comity.fronts.quadratic import QuadraticFront
from comity.searching.searching import Progress
from comity.simplex import Booleans, Floats
from comity.trials import Integers

_ENOUGH_TO_TELL = 60
_PENALTIES = 25


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

    def best(self, target: Integers, face: Booleans, strength: float) -> Points:
        """Return every target's best point, from several starts."""
        every = self.front.batches(target.size)
        return Points.joined([self.search.best(self.front.trials(target[b]), face[b], strength) for b in every])

    def confined(self, target: Integers, face: Booleans, found: Points, strength: float) -> Points:
        """Return every target's best point, going on from what was found on a larger face: quicker than `best`."""
        parts = []
        for batch in self.front.batches(target.size):
            there = found.some(np.arange(target.size)[batch])
            parts.append(self.search.confined(self.front.trials(target[batch]), there, face[batch], strength))
        return Points.joined(parts)

    def together(self) -> Points:
        """Return the point of all clients with equal weights, N times, with the penalty by which rows lose least."""
        count = self.clients
        weights, everybody = np.full((count, count), 1 / count), np.arange(count)
        low, high = (float(np.max(bound)) for bound in self.front.trials(everybody).bounds)
        fixed = self.search.penalty
        logs = np.linspace(low, max(low, high), _PENALTIES) if fixed is None else np.array([np.log(fixed)])
        tried = np.tile(logs, (count, 1))
        parts = [
            self.front.trials(everybody[batch]).losses_by_penalty(weights[batch], tried[batch])
            for batch in self.front.batches(count)
        ]
        losses = np.concatenate(parts, axis=1)
        least = int((losses @ self.front.rows.sum(axis=1)).argmin())
        return Points(weights, np.full(count, logs[least]), losses[least])

    def errors(self, target: Integers, one: Points, other: Points) -> Floats:
        """Return the standard error (P,) of the difference between two points' losses, row by row."""
        parts = []
        for batch in self.front.batches(target.size):
            trials = self.front.trials(target[batch])
            sides = [trials.outcomes(at.weights[batch], at.log_penalty[batch]) for at in (one, other)]
            parts.append(trials.standard_error(*sides))
        return np.concatenate(parts)
