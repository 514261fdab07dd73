"""The decision: from a front to coalitions, and the figures that prove them.

`decide` lets every client look for its collaborators, peels stable coalitions, and lets those who lost a collaborator
look again on the face of those who remain. `measure` then finds what each client would have without each of
its collaborators, so that the result can be proved. Both work on a front and know nothing of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from comity.collaborators import Choices, Search
from comity.core import BenefitGraph, Coalition, Game
from comity.descent import Points
from comity.equilibrium import find_equilibrium
from comity.fronts.quadratic import Integers, QuadraticFront
from comity.fronts.simplex import Booleans, Floats
from comity.peels import Equilibrium

Progress = Callable[[int, int], None]
_MOST_NUMBERS = 1e6  # in the systems of one batch, which bounds memory and suits a processor's cache
_ENOUGH_TO_TELL = 60
_FEW_EDGES = 300  # for which a search from all starts is not too much


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """One thing that was measured: `client` does with `members` no worse than `loss`, by cross-fitting."""

    client: int
    members: frozenset[int]
    loss: float


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

    def game(self, measured: Sequence[Measured] = ()) -> Game:
        """Return everything measured, with what was measured since, as a game: utilities are losses with a minus."""
        best: dict[tuple[int, frozenset[int]], float] = {}
        for each in (*self.measured, *measured):
            key = each.client, each.members
            best[key] = min(each.loss, best.get(key, np.inf))
        ordered = sorted(best.items(), key=lambda item: (item[0][0], len(item[0][1]), sorted(item[0][1])))
        return Game((self.clients[i], [self.clients[j] for j in sorted(s)], -loss) for (i, s), loss in ordered)


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
        if first is None:
            strength = choose_strength(front, target, face, search)
        choices = _choose(front, target, face, search, strength, progress)
        first = first or choices
        wanted = {}
        for at, i in enumerate(target.tolist()):
            latest[i] = choices, at
            chosen = frozenset(np.flatnonzero(choices.sets[at]).tolist())
            measured.append(Measured(i, frozenset({i}), float(choices.alone.losses[at])))
            measured.append(Measured(i, chosen, float(choices.chosen.losses[at])))
            measured.append(Measured(i, frozenset(np.flatnonzero(present).tolist()), float(choices.best.losses[at])))
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


def measure(front: QuadraticFront, decision: Decision, search: Search) -> tuple[Measured, ...]:
    """Measure what each client has with its whole coalition, and with this but each of its collaborators.

    A client that does better without somebody than was found with all begins again from there: the larger face holds
    the smaller one.
    """
    homes = _homes(decision)
    asked = [(i, homes[i]) for i in range(front.clients) if homes[i].sum() > 1]
    edges = [
        (i, j, homes[i] & (np.arange(front.clients) != j))
        for i, _ in asked
        for j in np.flatnonzero(decision.sets[i]).tolist()
        if j != i
    ]
    if not asked:
        return ()
    whole = _best_on(front, asked, search, decision.strength)
    targets = np.array([i for i, _ in asked])
    trials = front.trials(targets)
    start = whole.better_of(decision.coalition.some(targets))
    if len(edges) <= _FEW_EDGES:
        reduced = _best_on(front, [(i, face) for i, _, face in edges], search, decision.strength)
    else:
        places = np.searchsorted(targets, [i for i, _, _ in edges])
        reduced = _confined_to(front, start.some(places), [(i, face) for i, _, face in edges], search)
    for at, (i, _, _) in enumerate(edges):
        place = int(np.searchsorted(targets, i))
        if reduced.losses[at] < start.losses[place]:
            start.put(np.array([place]), reduced.some(np.array([at])))
    again = search.continued(trials, start, np.stack([face for _, face in asked]))
    whole = start.better_of(again)
    return tuple(
        Measured(i, frozenset(np.flatnonzero(face).tolist()), float(loss))
        for (i, face), loss in zip(
            [*asked, *((i, face) for i, _, face in edges)], np.append(whole.losses, reduced.losses), strict=True
        )
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
    for batch in _batches(front, target.size):
        trials = front.trials(target[batch])
        parts.append(search.collaborators(trials, face[batch], strength))
        if progress is not None:
            progress(min(batch.stop, target.size), target.size)
    return parts[0] if len(parts) == 1 else _joined(parts)


def _best_on(
    front: QuadraticFront, asked: Sequence[tuple[int, NDArray[np.bool_]]], search: Search, strength: float
) -> Points:
    """Return the best points of clients on faces of their own."""
    target = np.array([i for i, _ in asked])
    parts = []
    for batch in _batches(front, target.size):
        trials = front.trials(target[batch])
        parts.append(search.best(trials, np.stack([face for _, face in asked[batch]]), strength))
    return Points.joined(parts)


def _confined_to(
    front: QuadraticFront, found: Points, asked: Sequence[tuple[int, NDArray[np.bool_]]], search: Search
) -> Points:
    """Return the best points of clients on faces of their own, going on from what was found on larger ones."""
    target = np.array([i for i, _ in asked])
    parts = []
    for batch in _batches(front, target.size):
        face = np.stack([face for _, face in asked[batch]])
        parts.append(search.confined(front.trials(target[batch]), found.some(np.arange(target.size)[batch]), face))
    return Points.joined(parts)


def _batches(front: QuadraticFront, count: int) -> Iterator[slice]:
    size = max(1, int(_MOST_NUMBERS / (front.folds * front.penalised.size**2)))
    for first in range(0, count, size):
        yield slice(first, first + size)


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


def _homes(decision: Decision) -> NDArray[np.bool_]:
    """Return for each client who is in its coalition (N, N)."""
    numbers = np.asarray(decision.equilibrium.numbers)
    return np.asarray(numbers[:, None] == numbers)


__all__ = ["Decision", "Measured", "decide", "measure"]
