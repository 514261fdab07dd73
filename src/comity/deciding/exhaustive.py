"""Every set of collaborators tried, for few clients: an answer without a search, and what a search is scored by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from comity.core.arrays import Booleans, Floats, Integers
from comity.core.progress import Advance
from comity.deciding.searcher import Searcher
from comity.errors import InputError
from comity.search.choices import Candidates, Choices
from comity.search.collaborators import Search
from comity.search.descent import Points

MAX_CLIENTS = 12


@final
@dataclass(frozen=True, eq=False)
class Exhaustive:
    """Tries every set that holds a client, with the models of another searcher, and chooses among them by its rule.

    There are N 2^(N-1) pairs of a client and a set that holds it, so there may be at most twelve clients.
    """

    searcher: Searcher

    def __post_init__(self) -> None:
        if self.clients > MAX_CLIENTS:
            raise InputError(
                f"the exhaustive search would try every subset of {self.clients} clients, 2^{self.clients} = "
                f"{2**self.clients:,} of them; it is for at most {MAX_CLIENTS} clients, take another search"
            )
        if self.search.clip_rule is not None:
            raise InputError("the exhaustive search has no weights to clip; take the rule 'smallest'")

    @property
    def search(self) -> Search:
        """How collaborators are chosen among sets."""
        return self.searcher.search

    @property
    def clients(self) -> int:
        """How many clients there are, N."""
        return self.searcher.clients

    def strength(self, target: Integers, face: Booleans) -> float:
        """Return how strongly weights lean towards pooled ones."""
        return self.searcher.strength(target, face)

    def candidates(self, target: Integers, face: Booleans, strength: float) -> Candidates:
        """Return every set on each target's face (P, N), the target alone first, with its best weights.

        All targets need faces of the same size.
        """
        sets = np.stack([subsets_with(i, members) for i, members in zip(target, face, strict=True)], axis=1)
        targets = np.tile(target, len(sets))
        points = self.searcher.best(targets, sets.reshape(-1, self.clients), strength)
        alone = self.searcher.choose(target, sets[0], strength).alone  # known more exactly than from the front
        points.put(np.arange(target.size), alone)
        stages = points.some(np.arange(targets.size).reshape(len(sets), target.size))
        return Candidates(sets, stages, _as_array(stages))

    def choose(self, target: Integers, face: Booleans, strength: float, progress: Advance | None = None) -> Choices:
        """Return what every target chooses: the smallest set that is nearly as good as the best."""
        tried = self.candidates(target, face, strength)
        places = np.arange(target.size)
        stages, tolerance = self.search.choose(_Errors(self.searcher, target), tried)
        if progress is not None:
            progress(target.size, target.size)
        best = tried.at(tried.losses.argmin(axis=0))
        return Choices(tried.sets[stages, places], tried.at(stages), best, tried.points.some(0), tolerance)

    def best(self, target: Integers, face: Booleans, strength: float) -> Points:
        """Return every target's best point on its face."""
        return self.searcher.best(target, face, strength)

    def confined(self, target: Integers, face: Booleans, found: Points, strength: float) -> Points:
        """Return every target's best point on its face, starting from a point of a larger face."""
        return self.searcher.confined(target, face, found, strength)

    def together(self) -> Points:
        """Return the point of all clients with equal weights."""
        return self.searcher.together()

    def errors(self, target: Integers, one: Points, other: Points) -> Floats:
        """Return the standard error (P,) of the difference between two points' losses."""
        return self.searcher.errors(target, one, other)


def subsets_with(target: int, members: Booleans) -> Booleans:
    """Return every subset (2^(n-1), N) of n members that holds the target, itself alone first.

    >>> subsets_with(0, np.array([True, False, True])).astype(int)
    array([[1, 0, 0],
           [1, 0, 1]])
    """
    others = np.flatnonzero(members & (np.arange(members.size) != target))
    sets = np.zeros((2**others.size, members.size), np.bool_)
    sets[:, target] = True
    sets[:, others] = (np.arange(len(sets))[:, None] >> np.arange(others.size)) & 1 == 1
    return sets


@dataclass(frozen=True, eq=False)
class _Errors:
    """Standard errors between points written as arrays: what choosing among sets needs to know of a front."""

    searcher: Searcher
    target: Integers

    def __len__(self) -> int:
        return self.target.size

    def standard_error(self, one: Floats, other: Floats) -> Floats:
        return self.searcher.errors(self.target, _as_points(one), _as_points(other))


def _as_array(points: Points) -> Floats:
    """Return points as arrays (…, N + 2): weights, penalty, loss."""
    return np.concatenate([points.weights, points.log_penalty[..., None], points.losses[..., None]], axis=-1)


def _as_points(array: Floats) -> Points:
    return Points(array[..., :-2], array[..., -2], array[..., -1])
