"""The decision: every client's collaborators, and the coalitions that follow from them (paper, Algorithm 1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from comity.core.arrays import Booleans, Floats
from comity.core.kinds import ModelKind
from comity.core.names import Coalition
from comity.core.progress import Advance
from comity.deciding.exhaustive import check_exhaustive, try_every_set
from comity.deciding.searcher import Searcher
from comity.game.equilibrium import find_equilibrium
from comity.game.graph import BenefitGraph
from comity.game.peels import Equilibrium
from comity.search.choices import Choices
from comity.search.descent import Points


@dataclass(frozen=True, slots=True, eq=False)
class Measurement:
    """The cross-validated loss of a client with certain weights on the members of a set."""

    client: int
    members: frozenset[int]
    point: Points

    @property
    def pair(self) -> tuple[int, frozenset[int]]:
        """The client and the set."""
        return self.client, self.members

    @property
    def loss(self) -> float:
        """The loss."""
        return float(self.point.losses)


@dataclass(frozen=True, eq=False)
class Decision:
    """The collaborators and coalitions of N clients on one front.

    Attributes:
        equilibrium: The coalitions, with the peels that produced them.
        points: Each client's weights and penalty (N of each) ``alone``, in its ``coalition``, at ``best`` (with the
            collaborators that it chose among all clients), and all ``together`` with equal weights.
        sets: The collaborators of each client in its coalition (N, N).
        wishes: The collaborators of each client among all clients (N, N).
        tolerance: A gain of up to this much does not count (N,).
        strength: How strongly weights were pulled towards equal ones.
        measured: Every loss that was measured on the way.
        searched: The best point of each client among all clients, before the smallest set was chosen (N of each).
    """

    equilibrium: Equilibrium
    points: Mapping[str, Points]
    sets: Booleans
    wishes: Booleans
    tolerance: Floats
    strength: float
    measured: tuple[Measurement, ...]
    searched: Points

    @property
    def clients(self) -> tuple[str, ...]:
        """The names of the clients."""
        return self.equilibrium.clients

    @property
    def weights(self) -> dict[ModelKind, Floats]:
        """Of each kind of model, each client's weights over the clients (N, N)."""
        return {kind: self.points[kind].weights for kind in ModelKind}

    @property
    def graph(self) -> BenefitGraph:
        """The benefit graph of all clients, before any coalition has left."""
        return BenefitGraph(
            {client: [self.clients[j] for j in np.flatnonzero(self.wishes[i])] for i, client in enumerate(self.clients)}
        )


def decide(
    searcher: Searcher, clients: Sequence[str], *, exhaustive: bool = False, progress: Advance | None = None
) -> Decision:
    """Find every client's collaborators and the coalitions that follow.

    1. Every client searches for its collaborators among all clients.
    2. Stable coalitions leave (`find_equilibrium`).
    3. The clients that lost a collaborator search again on the face of the simplex of those that remain; repeat.

    If `exhaustive`, the clients try every set instead of searching.
    """
    count, search = searcher.clients, searcher.search
    if exhaustive:
        check_exhaustive(search, count)
    position = {client: index for index, client in enumerate(clients)}
    strength = 0.0
    first: Choices | None = None
    sets, tolerance = np.zeros((count, count), np.bool_), np.zeros(count)
    in_coalition = Points(np.zeros((count, count)), np.zeros(count), np.zeros(count))
    measured: list[Measurement] = []

    def answer(asked: tuple[str, ...], remaining: Coalition) -> dict[str, list[str]]:
        nonlocal first, strength
        target = np.array([position[client] for client in asked])
        present = np.zeros(count, np.bool_)
        present[[position[client] for client in remaining]] = True
        face, everybody = np.tile(present, (target.size, 1)), frozenset(np.flatnonzero(present).tolist())
        if first is None and search.clip_rule is None:
            strength = searcher.strength(target, face)
        if exhaustive:
            choices = search.choose(try_every_set(searcher, target, face, strength))
        else:
            choices = searcher.choose(target, face, strength, progress)
        first = first or choices
        sets[target], tolerance[target] = choices.sets, choices.tolerance
        in_coalition.put(target, choices.chosen)
        collaborators = {}
        for row, i in enumerate(target.tolist()):
            chosen = frozenset(np.flatnonzero(choices.sets[row]).tolist())
            measured.append(Measurement(i, frozenset({i}), choices.alone.some(row)))
            measured.append(Measurement(i, chosen, choices.chosen.some(row)))
            measured.append(Measurement(i, everybody, choices.best.some(row)))
            collaborators[clients[i]] = [clients[j] for j in sorted(chosen)]
        return collaborators

    equilibrium = find_equilibrium(clients, collaborators_of_many=answer)
    assert first is not None
    together = searcher.together()
    points = {"alone": first.alone, "coalition": in_coalition, "best": first.chosen, "together": together}
    return Decision(equilibrium, points, sets, first.sets, tolerance, strength, tuple(measured), first.best)
