"""Every subset tried: what each client would have with each set of clients, to score the search by.

There are N·2^(N-1) pairs of a client and a set that holds it, so this is for few clients. Sets are chosen among by
the same rule as in the search (`Search.choose`), so that what differs is only which sets were looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from comity.collaborators import Candidates, Search, take_exact
from comity.core import Coalition, Game
from comity.descent import Points
from comity.equilibrium import find_equilibrium
from comity.errors import InputError
from comity.fronts.quadratic import QuadraticFront
from comity.peels import Equilibrium
from comity.simplex import Booleans, Floats
from comity.trials import Integers

Weights = Literal["pooled", "optimal"]
MOST_CLIENTS = 12


@dataclass(frozen=True, eq=False)
class Exhausted:
    """What every client has with every set that holds it.

    Stage m of the `candidates` is the set of the m-th subset of the other clients, the empty one first.
    """

    front: QuadraticFront
    clients: tuple[str, ...]
    search: Search
    candidates: Candidates

    @cached_property
    def game(self) -> Game:
        """The utilities of every client with every set: cross-fitted losses with a minus."""
        losses = self.candidates.losses
        return Game(
            (client, self._named(members[i]), -float(losses[stage, i]))
            for i, client in enumerate(self.clients)
            for stage, members in enumerate(self.candidates.sets)
        )

    @cached_property
    def choices(self) -> dict[str, Coalition]:
        """Whom every client chooses among all, itself included: the smallest set that is nearly as good as the best."""
        everybody = frozenset(self.clients)
        return {client: frozenset(chosen) for client, chosen in self._choose(self.clients, everybody).items()}

    @cached_property
    def equilibrium(self) -> Equilibrium:
        """The coalitions that nobody wants to leave; who lost a collaborator chose again among those who remained."""
        return find_equilibrium(self.clients, collaborators_of_many=self._choose)

    @property
    def chosen(self) -> Points:
        """Each client's weights and penalty (N of each) with the collaborators that it chooses among all."""
        return self.candidates.at(self._stages(np.arange(len(self.clients)), frozenset(self.clients)))

    def _choose(self, asked: tuple[str, ...], remaining: Coalition) -> dict[str, list[str]]:
        targets = np.array([self.clients.index(client) for client in asked])
        stages = self._stages(targets, remaining)
        sets = self.candidates.sets[stages, targets]
        return {client: self._named(members) for client, members in zip(asked, sets, strict=True)}

    def _stages(self, targets: Integers, remaining: Coalition) -> Integers:
        """Return what some clients choose among the sets of those who remain, as stages."""
        gone = np.array([client not in remaining for client in self.clients])
        # Of every target the same number of sets is left, so that they fit into one array again.
        left = [np.flatnonzero(~(self.candidates.sets[:, i] & gone).any(axis=1)) for i in targets]
        among = np.stack(left, axis=1)
        picked = self.candidates.some(among, targets)
        stages, _ = self.search.choose(self.front.trials(targets), picked)
        return np.asarray(among[stages, np.arange(targets.size)])

    def _named(self, members: Booleans) -> list[str]:
        return [self.clients[j] for j in np.flatnonzero(members)]


def exhaust(front: QuadraticFront, clients: Sequence[str], search: Search, weights: Weights = "optimal") -> Exhausted:
    """Try every subset of at most twelve clients on a front.

    With ``optimal`` weights each set is used as well as the search can; with ``pooled`` ones its rows count alike, as
    in training on all of them, and only the penalty is chosen.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(3, 4, 3, 8))  # three clients with four folds of three rows of eight features
    >>> y = x.sum(axis=3) + rng.normal(size=(3, 4, 3))
    >>> y[2] = -y[2]  # the third is of another kind
    >>> gram, cross = np.einsum("ikna,iknb->ikab", x, x), np.einsum("ikna,ikn->ika", x, y)
    >>> front = QuadraticFront(gram, cross, (y * y).sum(axis=2), np.full((3, 4), 3.0))
    >>> tried = exhaust(front, ["a", "b", "c"], Search(), weights="pooled")
    >>> tried.game
    <Game: 3 clients, 12 utilities>
    >>> tried.equilibrium
    Equilibrium({a, b}, {c})
    """
    names = tuple(clients)
    count = len(names)
    if count > MOST_CLIENTS:
        raise InputError(
            f"every subset of {count} clients would be tried, 2^{count} = {2**count:,} of them; this is for at most "
            f"{MOST_CLIENTS} clients, beyond that search for collaborators (comity.decide)"
        )
    if count != front.clients:
        raise InputError(f"there are {count} names for the {front.clients} clients of the front; give one name each")
    if weights not in get_args(Weights):
        raise InputError(f"weights are {weights!r}; choose one of {', '.join(get_args(Weights))}")
    sets = _sets_of_everybody(count)
    everybody = np.arange(count)
    strength = 0.0
    if weights == "optimal":
        strength = search.strength(front.trials(everybody), np.ones((count, count), np.bool_))
    target, faces = np.tile(everybody, len(sets)), sets.reshape(-1, count)
    parts: list[Points] = []
    outcomes: list[Floats] = []
    for batch in front.batches(target.size):
        trials, face = front.trials(target[batch]), faces[batch]
        if weights == "optimal":
            points = search.best(trials, face, strength)
        else:
            points = search.with_best_penalty(trials, face / face.sum(axis=1, keepdims=True))
        take_exact(trials, points, face)
        parts.append(points)
        outcomes.append(trials.outcomes(points.weights, points.log_penalty))
    stages = np.arange(target.size).reshape(len(sets), count)
    found = Points.joined(parts)
    every = np.concatenate(outcomes).reshape(len(sets), count, front.folds, -1)
    candidates = Candidates(sets, found.some(stages), every)
    return Exhausted(front, names, search, candidates)


def _sets_of_everybody(count: int) -> Booleans:
    """Return for each of N clients every set that holds it (2^(N-1), N, N): the subsets of the others, and itself."""
    subsets = (np.arange(2 ** (count - 1))[:, None] >> np.arange(count - 1)) & 1 == 1
    sets = np.ones((len(subsets), count, count), np.bool_)
    for client in range(count):
        sets[:, client, np.arange(count) != client] = subsets
    return sets


__all__ = ["Exhausted", "exhaust"]
