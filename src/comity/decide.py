"""The decision: from wishes to coalitions.

`decide` lets every client look for its collaborators, peels stable coalitions, and lets those who lost a collaborator
look again on the face of those who remain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from comity.collaborators import Choices
from comity.core import BenefitGraph, Coalition
from comity.descent import Points
from comity.equilibrium import find_equilibrium
from comity.peels import Equilibrium
from comity.searching import Progress, Searching, in_order
from comity.simplex import Booleans, Floats


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

    `points` are each client's weights and penalty (N of each) ``alone``, in its ``coalition``, at ``best`` (with
    everybody willing), and all ``together``, where weights are equal; `sets` (N, N) says whom it collaborates with in
    its coalition, `wishes` (N, N) with everybody willing. A gain of up to `tolerance` (N,) counts as none. `measured`
    keeps every loss on the way, and `searched` where each search ended with everybody willing, before it chose a set.
    """

    equilibrium: Equilibrium
    points: Mapping[str, Points]
    sets: Booleans
    wishes: Booleans
    tolerance: Floats
    strength: float
    measured: tuple[Measured, ...]
    searched: Points

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


def decide(searching: Searching, clients: Sequence[str], *, progress: Progress | None = None) -> Decision:
    """Find every client's collaborators and the coalitions that follow."""
    count = searching.clients
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
        if first is None and searching.search.clip_rule is None:
            strength = searching.strength(target, face)
        choices = searching.choose(target, face, strength, progress)
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
        points={
            "alone": first.alone,
            "coalition": in_order([(choices.chosen, at) for choices, at in final]),
            "best": first.chosen,
            "together": searching.together(),
        },
        sets=np.stack([choices.sets[at] for choices, at in final]),
        wishes=first.sets,
        tolerance=np.array([choices.tolerance[at] for choices, at in final]),
        strength=strength,
        measured=tuple(measured),
        searched=first.best,
    )
