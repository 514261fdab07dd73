"""The decision: from a front to coalitions.

`decide` lets every client look for its collaborators, peels stable coalitions, and lets those who lost a collaborator
look again on the face of those who remain. It works on a front and knows nothing of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from comity.collaborators import Choices, Search
from comity.core import BenefitGraph, Coalition
from comity.descent import Points
from comity.equilibrium import find_equilibrium
from comity.fronts.quadratic import Integers, QuadraticFront
from comity.fronts.simplex import Booleans, Floats
from comity.peels import Equilibrium

Progress = Callable[[int, int], None]
_ENOUGH_TO_TELL = 60


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """One thing that was measured: `client` has `loss`, by cross-fitting, with these weights on `members`."""

    client: int
    members: frozenset[int]
    loss: float
    weights: Floats
    log_penalty: float

    @classmethod
    def at(cls, client: int, members: Iterable[int], points: Points, place: int) -> Self:
        """Return what was measured at one of some points."""
        place_of = (float(points.losses[place]), points.weights[place], float(points.log_penalty[place]))
        return cls(client, frozenset(members), *place_of)


@dataclass(frozen=True, eq=False)
class Decision:
    """What was decided for N clients on one front.

    `alone`, `coalition` and `best` are each client's weights and penalty (N of each) by itself, in its coalition,
    and with everybody willing; `sets` (N, N) says whom it collaborates with in its coalition, `wishes` (N, N) with
    everybody willing. A gain of up to `tolerance` (N,) counts as none. `measured` keeps every loss on the way.
    """

    equilibrium: Equilibrium
    alone: Points
    coalition: Points
    best: Points
    sets: Booleans
    wishes: Booleans
    tolerance: Floats
    strength: float
    measured: tuple[Measured, ...]

    @property
    def clients(self) -> tuple[str, ...]:
        """The names of the clients."""
        return self.equilibrium.clients

    @property
    def graph(self) -> BenefitGraph:
        """Who is a collaborator of whom with everybody willing."""
        return BenefitGraph(
            {client: [self.clients[j] for j in np.flatnonzero(self.wishes[i])] for i, client in enumerate(self.clients)}
        )


def decide(
    front: QuadraticFront,
    clients: Sequence[str],
    search: Search,
    *,
    progress: Progress | None = None,
) -> Decision:
    """Find every client's collaborators and the coalitions that follow."""
    count = front.clients
    position = {client: index for index, client in enumerate(clients)}
    strength = 0.0
    first: Choices | None = None
    latest: dict[int, tuple[Choices, int]] = {}
    measured: list[Measured] = []

    def answer(asked: tuple[str, ...], remaining: Coalition) -> dict[str, list[str]]:
        nonlocal first, strength
        target = np.array([position[client] for client in asked])
        present = np.zeros(count, np.bool_)
        present[[position[client] for client in remaining]] = True
        face = np.tile(present, (target.size, 1))
        if first is None and search.clip_rule is None:
            strength = choose_strength(front, target, face, search)
        choices = _choose(front, target, face, search, strength, progress)
        first = first or choices
        wanted = {}
        for at, i in enumerate(target.tolist()):
            latest[i] = choices, at
            chosen = frozenset(np.flatnonzero(choices.sets[at]).tolist())
            measured.append(Measured.at(i, {i}, choices.alone, at))
            measured.append(Measured.at(i, chosen, choices.chosen, at))
            measured.append(Measured.at(i, np.flatnonzero(present).tolist(), choices.best, at))
            wanted[clients[i]] = [clients[j] for j in sorted(chosen)]
        return wanted

    equilibrium = find_equilibrium(clients, collaborators_of_many=answer)
    assert first is not None
    final = [latest[i] for i in range(count)]
    return Decision(
        equilibrium,
        alone=first.alone,
        coalition=_gather([(choices.chosen, at) for choices, at in final]),
        best=first.chosen,
        sets=np.stack([choices.sets[at] for choices, at in final]),
        wishes=first.sets,
        tolerance=np.array([choices.tolerance[at] for choices, at in final]),
        strength=strength,
        measured=tuple(measured),
    )


def choose_strength(front: QuadraticFront, target: Integers, face: Booleans, search: Search) -> float:
    """Return the strength for these targets; of many, some dozens evenly taken are enough to tell."""
    some = np.unique(np.linspace(0, target.size - 1, min(target.size, _ENOUGH_TO_TELL)).astype(np.intp))
    return search.strength(front.trials(target[some]), face[some])


def _choose(
    front: QuadraticFront,
    target: Integers,
    face: Booleans,
    search: Search,
    strength: float,
    progress: Progress | None,
) -> Choices:
    """Let targets choose on their faces, so many at a time as memory allows."""
    parts = []
    for batch in front.batches(target.size):
        trials = front.trials(target[batch])
        parts.append(search.collaborators(trials, face[batch], strength))
        if progress is not None:
            progress(min(batch.stop, target.size), target.size)
    return parts[0] if len(parts) == 1 else _joined(parts)


def best_on(
    front: QuadraticFront, asked: Sequence[tuple[int, NDArray[np.bool_]]], search: Search, strength: float
) -> Points:
    """Return the best points of clients on faces of their own."""
    target = np.array([i for i, _ in asked])
    parts = []
    for batch in front.batches(target.size):
        trials = front.trials(target[batch])
        parts.append(search.best(trials, np.stack([face for _, face in asked[batch]]), strength))
    return Points.joined(parts)


def confined_on(
    front: QuadraticFront,
    found: Points,
    asked: Sequence[tuple[int, NDArray[np.bool_]]],
    search: Search,
    strength: float,
) -> Points:
    """Return the best points of clients on faces of their own, going on from what was found on larger ones."""
    target = np.array([i for i, _ in asked])
    parts = []
    for batch in front.batches(target.size):
        face = np.stack([face for _, face in asked[batch]])
        there = found.some(np.arange(target.size)[batch])
        parts.append(search.confined(front.trials(target[batch]), there, face, strength))
    return Points.joined(parts)


def _joined(parts: Sequence[Choices]) -> Choices:
    return Choices(
        np.concatenate([part.sets for part in parts]),
        Points.joined([part.chosen for part in parts]),
        Points.joined([part.best for part in parts]),
        Points.joined([part.alone for part in parts]),
        np.concatenate([part.tolerance for part in parts]),
    )


def _gather(places: Sequence[tuple[Points, int]]) -> Points:
    return Points(
        np.stack([points.weights[at] for points, at in places]),
        np.array([points.log_penalty[at] for points, at in places]),
        np.array([points.losses[at] for points, at in places]),
    )
