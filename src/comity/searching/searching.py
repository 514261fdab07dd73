"""What a decision needs: clients that look for collaborators, wherever the search runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from comity.collaborators import Choices, Search
from comity.descent import Points
from comity.simplex import Booleans, Floats
from comity.trials import Integers

Progress = Callable[[int, int], None]


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

    def best(self, target: Integers, face: Booleans, strength: float) -> Points:
        """Return every target's best point, from several starts."""

    def confined(self, target: Integers, face: Booleans, found: Points, strength: float) -> Points:
        """Return every target's best point, going on from what was found on a larger face: quicker than `best`."""

    def together(self) -> Points:
        """Return the point of all clients with equal weights, the same for everybody (N): one model for all."""

    def errors(self, target: Integers, one: Points, other: Points) -> Floats:
        """Return the standard error (P,) of the difference between two points' losses, row by row."""


def in_order(places: Sequence[tuple[Points, int]]) -> Points:
    """Return points, each taken from a place among others."""
    return Points(
        np.stack([points.weights[at] for points, at in places]),
        np.array([points.log_penalty[at] for points, at in places]),
        np.array([points.losses[at] for points, at in places]),
    )
