"""The search for collaborators on a quadratic front, which needs no questions to clients."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from comity.core.arrays import Booleans, Floats, Integers
from comity.core.progress import Advance
from comity.families.glm.quadratic_front import QuadraticFront
from comity.families.glm.quadratic_trials import QuadraticTrials
from comity.search.choices import Choices
from comity.search.collaborators import Search
from comity.search.descent import Points

_MAX_TARGETS_FOR_STRENGTH = 60
_PENALTIES = 25


@final
@dataclass(frozen=True, eq=False)
class FrontSearcher:
    """Searches collaborators on a front held in memory, in batches of targets."""

    front: QuadraticFront
    search: Search

    @property
    def clients(self) -> int:
        """The number of clients, N."""
        return self.front.clients

    def strength(self, target: Integers, face: Booleans) -> float:
        """Return the strength of the pull towards pooled weights, chosen by an even sample of many targets."""
        sample = np.linspace(0, target.size - 1, min(target.size, _MAX_TARGETS_FOR_STRENGTH)).astype(np.intp)
        chosen = np.unique(sample)
        return self.search.strength(self.front.trials(target[chosen]), face[chosen])

    def choose(self, target: Integers, face: Booleans, strength: float, progress: Advance | None = None) -> Choices:
        """Return the collaborators that every target chooses."""
        parts = []
        for batch, trials in self._batches(target):
            parts.append(self.search.collaborators(trials, face[batch], strength))
            if progress is not None:
                progress(min(batch.stop, target.size), target.size)
        return parts[0] if len(parts) == 1 else Choices.joined(parts)

    def best(self, target: Integers, face: Booleans, strength: float) -> Points:
        """Return every target's best point, from several starts."""
        batches = self._batches(target)
        return Points.joined([self.search.best(trials, face[batch], strength) for batch, trials in batches])

    def confined(self, target: Integers, face: Booleans, found: Points, strength: float) -> Points:
        """Return every target's best point, starting from the one found on a larger face: faster than `best`."""
        batches = self._batches(target)
        return Points.joined(
            [self.search.confined(t, found.some(batch), face[batch], strength) for batch, t in batches]
        )

    def together(self) -> Points:
        """Return equal weights for each of the N clients, with the penalty of least loss over all rows."""
        count = self.clients
        weights, everybody = np.full((count, count), 1 / count), np.arange(count)
        low, high = (float(np.max(bound)) for bound in self.front.trials(everybody).bounds)
        fixed = self.search.penalty
        logs = np.linspace(low, max(low, high), _PENALTIES) if fixed is None else np.array([np.log(fixed)])
        batches = self._batches(everybody)
        parts = [t.losses_by_penalty(weights[batch], np.tile(logs, (len(t), 1))) for batch, t in batches]
        losses = np.concatenate(parts, axis=1)
        least = int((losses @ self.front.rows.sum(axis=1)).argmin())
        return Points(weights, np.full(count, logs[least]), losses[least])

    def errors(self, target: Integers, one: Points, other: Points) -> Floats:
        """Return the standard error (P,) of the difference in loss between two points, paired by row."""
        parts = []
        for batch, trials in self._batches(target):
            models = [trials.outcomes(points.weights[batch], points.log_penalty[batch]) for points in (one, other)]
            parts.append(trials.standard_error(*models))
        return np.concatenate(parts)

    def _batches(self, target: Integers) -> Iterator[tuple[slice, QuadraticTrials]]:
        """Yield the trials of some targets at a time, with their places."""
        for batch in self.front.batches(target.size):
            yield batch, self.front.trials(target[batch])
