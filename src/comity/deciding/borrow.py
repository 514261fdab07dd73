"""Deciding with borrowed strength: what helps one client tells what will help the next.

1. Every client gets from the evidence of all an expected loss alone and with each number of collaborators.
2. It takes the smallest number that gives up hardly anything of its best expected gain, or stays alone if that gain is
   not worth it.
3. Stable coalitions leave. A client that lost a collaborator asks again for the nearest of those that remain.

Expected losses are the utilities of the game, with a minus. A client is thought to do best with the model of its
collaborators; the loss with any other set is higher by the expected squared difference of the predictions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import sparse
from scipy.special import expit

from comity.core.arrays import Booleans, Floats, Integers
from comity.core.estimates import Contribution
from comity.core.kinds import ModelKind
from comity.core.names import Coalition
from comity.deciding.bridges import without_bridges
from comity.deciding.evidence import Evidence, weigh
from comity.game.certificate import Certificate, certify
from comity.game.equilibrium import find_equilibrium
from comity.game.game import Game
from comity.game.graph import BenefitGraph
from comity.game.peels import Equilibrium
from comity.game.proof import edges_to_check

_MIN_GAIN = 1e-9  # in units of the loss: less may be rounding
_STRONG = 0.8  # probabilities above which it is checked whether a collaborator is like the others
_PRIOR_OF_ALIKE = 3.0  # the logarithm of the odds that it is
_IF_UNLIKE = 0.25  # the probability that one which is not brings something
_SURE_OF_ONE = 0.75  # how far the odds of a single collaborator, the best of many, are as good as they seem
_FOLLOWING = 0.5  # of what is worth it, for a client among clients to whom it is worth it
_GIVEN_UP, _MAX_GIVEN_UP = 0.02, 0.003  # for a smaller set: of the best expected gain, but no more of the loss


class Lender(Protocol):
    """What a family of models tells about N clients and K procedures, the first of which is to be alone."""

    @property
    def clients(self) -> int:
        """The number of clients, N."""

    @property
    def number(self) -> int:
        """The number of the common procedure."""

    @property
    def level(self) -> Floats:
        """The expected loss of each client with the common procedure (N,)."""

    @property
    def final(self) -> Floats:
        """The models of the procedures (N, K, d), learned from all rows."""

    def evidence(self) -> Evidence:
        """Return what is known about the procedures."""

    def pull_of(self, number: int) -> float:
        """Return the pull of a procedure."""

    def is_nearest(self, number: int) -> bool:
        """Return whether the collaborators of a procedure are the nearest, and not anybody."""

    def members_of(self, number: int) -> sparse.csr_array:
        """Return every client's set (N, N) by a procedure."""

    def others_of(self, target: int, present: Booleans, number: int) -> Integers:
        """Return the others that are present, in the order in which a client takes them by a procedure."""

    def personal(self, target: Integers, members: sparse.csr_array, number: Integers) -> Floats:
        """Return the models (P, d) of targets with sets (P, N) and the pulls of procedures."""

    def distance(self, target: Integers, one: Floats, other: Floats) -> tuple[Floats, Floats]:
        """Return the expected excess losses (P,) of models over others that are thought best, and their errors."""

    def misfit(
        self, target: Integers, members: sparse.csr_array, without: sparse.csr_array, number: Integers
    ) -> Floats:
        """Return log likelihood ratios (P,) that the collaborator left out is not like the others of a set (P, N)."""

    def shares(self, target: Integers, members: sparse.csr_array, number: Integers) -> Floats:
        """Return how much of each target's model comes from whose rows (P, N)."""


@dataclass(frozen=True, eq=False)
class Borrowed:
    """The collaborators and coalitions of N clients, and what they may expect.

    Attributes:
        equilibrium: The coalitions, with the peels that produced them.
        wishes: The collaborators of each client among all clients (N, N).
        sets: The collaborators of each client in its coalition (N, N).
        weights: Of each kind of model, how much comes from whose rows (N, N).
        models: The personal models (N, d) in the coalition and at best.
        pulls: Their pulls (N,).
        by: The number of the procedure (N,) whose pulls a client has.
        alone: The expected loss of each client alone (N,).
        gains: The expected gains (N,) in the coalition and at best, in units of the loss.
        errors: The standard deviations (N,) of these gains.
        common_error: The part (N,) of these deviations that is common to all clients.
        probabilities: The probability (N,) that each client gains in its coalition, and at best.
        contributions: What each collaborator brings to each client of its coalition.
        game: The expected utilities.
        certificate: What they prove.
    """

    equilibrium: Equilibrium
    wishes: Booleans
    sets: Booleans
    weights: Mapping[ModelKind, Floats]
    models: Mapping[ModelKind, Floats]
    pulls: Mapping[ModelKind, Floats]
    by: Integers
    alone: Floats
    gains: Mapping[ModelKind, Floats]
    errors: Mapping[ModelKind, Floats]
    common_error: Floats
    probabilities: Mapping[ModelKind, Floats]
    contributions: tuple[Contribution, ...]
    game: Game
    certificate: Certificate

    @property
    def clients(self) -> tuple[str, ...]:
        """The names of the clients."""
        return self.equilibrium.clients

    @property
    def graph(self) -> BenefitGraph:
        """The benefit graph of all clients, before any coalition has left."""
        return self.equilibrium.peels[0].graph


def borrow(lender: Lender, clients: Sequence[str], worth: float) -> Borrowed:
    """Decide who collaborates with whom; less than `worth`, as a share of the loss alone, is not worth it."""
    return _Borrower(lender, clients, worth).decide()


class _Borrower:
    """One decision: the choices of all clients as they are made."""

    def __init__(self, lender: Lender, clients: Sequence[str], worth: float) -> None:
        self.lender, self.clients = lender, tuple(clients)
        self.position = {client: index for index, client in enumerate(self.clients)}
        count = len(self.clients)
        self.common = common = lender.number
        found = weigh(lender.evidence())
        self.excess, self.common_error = found.mean, found.common_error
        self.error, self.posterior = found.error, found
        self.alone = np.maximum(lender.level + self.excess[:, 0], 0.0)
        self.members = {number: lender.members_of(number) for number in range(1, self.excess.shape[1])}
        for number, members in self.members.items():
            lonely = members.sum(axis=1) == 1  # the nearest found no support
            self.excess[lonely, number] = self.excess[lonely, 0]
        self.least = self._least_gains(worth)
        self.first = self._choose_first()
        self.by = np.where(self.first > 0, self.first, common)  # the procedure whose pulls a client has
        self.model = lender.final[np.arange(count), self.first].copy()
        self.loss = lender.level + self.excess[np.arange(count), self.first]  # with the set that is chosen
        self.tolerance = np.maximum(self.loss - lender.level - self.excess.min(axis=1), 0.0)
        self.loss = np.maximum(self.loss, 0.0)
        self.least_loss = np.zeros(count)  # no set of those that remain does better than what is chosen among all
        self.sets = np.eye(count, dtype=np.bool_)
        self.records: dict[tuple[int, frozenset[int]], float] = {}
        for i in range(count):
            self.records[i, frozenset({i})] = float(self.alone[i])

    def _least_gains(self, worth: float) -> Floats:
        """Return the expected gain (N,) for which each client joins others.

        Where clients gain on average what is worth it, a client follows them for half of it: what it can expect by
        itself is less certain than what all can.
        """
        gains = self.excess[:, 0] - self.excess.min(axis=1)
        share = _FOLLOWING if gains.sum() >= worth * self.alone.sum() else 1.0
        return np.maximum(share * worth * self.alone, _MIN_GAIN)

    def _choose_first(self) -> Integers:
        """Return the number of the procedure that each client chooses among all clients."""
        best = self.excess.min(axis=1)
        gain = self.excess[:, 0] - best
        given_up = _given_up(gain, self.lender.level + best)
        chosen = (self.excess <= (best + given_up)[:, None]).argmax(axis=1)
        return np.where(gain < self.least, 0, chosen)

    def decide(self) -> Borrowed:
        for number in np.unique(self.first[self.first > 0]).tolist():
            here = np.flatnonzero(self.first == number)
            self.sets[here] = self.members[number][here].toarray() > 0
        self._drop_bridges()
        self.wishes = self.sets.copy()
        best = self.model.copy()
        self.least_loss = self.loss.copy()
        for i in np.flatnonzero(self.first).tolist():
            self._record(i, np.flatnonzero(self.sets[i]), self.loss[i])
        equilibrium = find_equilibrium(self.clients, collaborators_of_many=self._answer)
        self._report_alone()
        contributions = self._contributions(equilibrium)
        game = Game(
            (self.clients[i], [self.clients[j] for j in sorted(members)], -loss)
            for (i, members), loss in sorted(self.records.items(), key=lambda item: (item[0][0], len(item[0][1])))
        )
        forgiven = dict(zip(self.clients, self.tolerance.tolist(), strict=True))
        models = {ModelKind.COALITION: self.model, ModelKind.BEST: best}
        pull = np.array([self.lender.pull_of(number) for number in self.by.tolist()])
        gains = {ModelKind.COALITION: self.alone - self.loss, ModelKind.BEST: self.alone - self.least_loss}
        errors = {
            kind: np.where(sets.sum(axis=1) > 1, self.error, 0.0)
            for kind, sets in ((ModelKind.COALITION, self.sets), (ModelKind.BEST, self.wishes))
        }
        return Borrowed(
            equilibrium=equilibrium,
            wishes=self.wishes,
            sets=self.sets,
            weights=self._weights(),
            models=models,
            pulls=dict.fromkeys(models, pull),
            by=self.by,
            alone=self.alone,
            gains=gains,
            errors=errors,
            common_error=self.common_error,
            probabilities={
                ModelKind.COALITION: self._probability(gains[ModelKind.COALITION], self.sets),
                ModelKind.BEST: self._probability(gains[ModelKind.BEST], self.wishes),
            },
            contributions=contributions,
            game=game,
            certificate=certify(equilibrium, game, forgiven=forgiven),
        )

    def _report_alone(self) -> None:
        """Replace the losses alone by which members of coalitions decided by those that are reported.

        They stay above the losses in the coalitions, for the proof. Who stays alone keeps the loss by which it decided.
        """
        reported = np.maximum(self.lender.level + self.posterior.alone, self.loss + _MIN_GAIN)
        for i in np.flatnonzero(self.sets.sum(axis=1) > 1).tolist():
            self.alone[i] = self.records[i, frozenset({i})] = float(reported[i])

    def _drop_bridges(self) -> None:
        """Leave out collaborators with little support: one chance likeness must not tie two groups together."""
        near = np.array([self.lender.is_nearest(number) for number in self.by.tolist()])
        kept = without_bridges(sparse.csr_array(self.sets, dtype=np.float64), near)
        changed = np.flatnonzero(kept.sum(axis=1) != self.sets.sum(axis=1)).tolist()
        tried = {target: [_members(kept, target)] for target in changed}
        for target in changed:
            if self.first[target] != self.common:
                tried[target].append(_members(self.members[self.common], target))
        self._take({target: [each for each in sets if each.size > 1] for target, sets in tried.items()})
        self.first[[target for target in changed if self.sets[target].sum() == 1]] = 0

    def _record(self, target: int, members: Integers, loss: float) -> None:
        key = target, frozenset(members.tolist())
        self.records[key] = min(float(loss), self.records.get(key, np.inf))

    def _answer(self, asked: tuple[str, ...], remaining: Coalition) -> dict[str, list[str]]:
        """Return the collaborators of clients among those that remain; who lost one chooses again."""
        present = np.zeros(len(self.clients), np.bool_)
        present[[self.position[client] for client in remaining]] = True
        lost = [at for at in map(self.position.__getitem__, asked) if (self.sets[at] & ~present).any()]
        self._take({target: self._left(target, present) for target in lost})
        return {
            client: [self.clients[j] for j in np.flatnonzero(self.sets[self.position[client]]).tolist()]
            for client in asked
        }

    def _left(self, target: int, present: Booleans) -> list[Integers]:
        """Return sets of a client with some that are present: what is left of its wishes, and the next by order."""
        others = self.lender.others_of(target, present, int(self.by[target]))
        left = np.flatnonzero(self.wishes[target] & present)
        tried = [left] if left.size > 1 else []
        size = 1
        while size <= len(others):
            tried.append(np.sort(np.append(others[:size], target)))
            size = len(others) if size < len(others) <= size * 3 // 2 else max(size + 1, size * 3 // 2)
        return tried

    def _take(self, tried: Mapping[int, list[Integers]]) -> None:
        """Let each of some clients take the smallest of its sets that gives up hardly anything, or stay alone."""
        for target, sets in tried.items():
            sets.sort(key=len)
            self._settle(target, np.array([target]), self.alone[target], self.lender.final[target, 0])
        several = np.repeat([*tried], [len(sets) for sets in tried.values()]).astype(np.intp)
        models = self._models(several, [members for sets in tried.values() for members in sets])
        thought, base = self.lender.final[several, self.first[several]], self.excess[several, self.first[several]]
        worth = self.posterior.curves[1](self.lender.distance(several, models, thought)[0])
        all_losses, at = np.maximum(self.lender.level[several] + base + worth, self.least_loss[several]), 0
        for target, sets in tried.items():
            losses, first, at = all_losses[at : at + len(sets)], at, at + len(sets)
            if not sets:
                continue
            gain = self.alone[target] - losses.min()
            if gain < self.least[target]:
                self.tolerance[target] = max(self.tolerance[target], float(gain), 0.0)
                continue
            chosen = int((losses <= losses.min() + _given_up(gain, losses.min())).argmax())
            self._settle(target, sets[chosen], losses[chosen], models[first + chosen])
            self.tolerance[target] = max(self.tolerance[target], float(losses[chosen] - losses.min()))
            self._record(target, sets[chosen], float(losses[chosen]))

    def _settle(self, target: int, members: Integers, loss: float, model: Floats) -> None:
        """Give a client a set, with the expected loss and the model that follow."""
        self.sets[target] = False
        self.sets[target, members] = True
        self.loss[target], self.model[target] = loss, model

    def _models(self, target: Integers, members: Sequence[Integers]) -> Floats:
        """Return the personal models (P, d) of targets with sets, by the pulls of each target's procedure."""
        return self.lender.personal(target, self._as_sets(members), self.by[target])

    def _as_sets(self, members: Sequence[Integers]) -> sparse.csr_array:
        """Return sets (P, N) from the numbers of their members."""
        ends = np.cumsum([0, *map(len, members)])
        columns = np.concatenate([np.empty(0, np.intp), *members])
        return sparse.csr_array((np.ones(columns.size), columns, ends), shape=(len(members), len(self.clients)))

    def _contributions(self, equilibrium: Equilibrium) -> tuple[Contribution, ...]:
        """Measure what every collaborator brings, and record the utilities that the proof asks for."""
        receiver, giver = np.nonzero(self.sets & ~np.eye(len(self.clients), dtype=np.bool_))
        sets = [np.flatnonzero(each) for each in self.sets]
        needed = {(self.position[i], self.position[j]) for j, i in edges_to_check(equilibrium)}
        found = []
        step = 20_000
        for first in range(0, receiver.size, step):
            to, by = receiver[first : first + step], giver[first : first + step]
            members = [others[others != j] for others, j in ((sets[i], j) for i, j in zip(to, by, strict=True))]
            brought, error = self.lender.distance(to, self._models(to, members), self.model[to])
            last = np.array([each.size == 1 for each in members])  # without its only collaborator a client is alone
            brought = np.where(last, self.alone[to] - self.loss[to], brought)
            gaining = self._probability(self.alone - self.loss, self.sets)[to]
            chance = np.where(last, gaining, self.posterior.probability_of_loss(to, brought, error))
            brought = np.minimum(brought, self.alone[to] - self.loss[to])  # without it, a client may be alone
            strong = np.flatnonzero(~last & (chance > _STRONG))
            if strong.size:
                chance[strong] = self._if_alike(chance[strong], to[strong], [members[at] for at in strong])
            for i, j, value, sure, left in zip(to.tolist(), by.tolist(), brought, chance, members, strict=True):
                if (i, j) in needed and left.size > 1:
                    self._record(i, left, float(self.loss[i] + value))
                found.append(Contribution(self.clients[j], self.clients[i], float(value), float(sure)))
        return tuple(found)

    def _probability(self, gains: Floats, sets: Booleans) -> Floats:
        """Return the probability (N,) that clients with sets (N, N) gain: less sure with a single collaborator."""
        found = self.posterior.probability(gains)
        if len(self.clients) == 2:  # there was no other to choose
            return found
        return np.where(sets.sum(axis=1) == 2, 0.5 + _SURE_OF_ONE * (found - 0.5), found)

    def _if_alike(self, chance: Floats, target: Integers, without: Sequence[Integers]) -> Floats:
        """Return probabilities (P,) that collaborators bring something, lower for those that are unlike the others.

        A collaborator that changes a model much either brings much or is unlike the others. `chance` (P,) holds for
        one that is like them.
        """
        every = self._as_sets([np.flatnonzero(self.sets[i]) for i in target.tolist()])
        alike = expit(_PRIOR_OF_ALIKE - self.lender.misfit(target, every, self._as_sets(without), self.by[target]))
        return np.asarray(alike * chance + (1 - alike) * _IF_UNLIKE)

    def _weights(self) -> dict[ModelKind, Floats]:
        everybody = np.arange(len(self.clients))
        weights = {}
        for kind, sets in ((ModelKind.COALITION, self.sets), (ModelKind.BEST, self.wishes)):
            shares = self.lender.shares(everybody, sparse.csr_array(sets.astype(np.float64)), self.by)
            alone = np.flatnonzero(sets.sum(axis=1) == 1)
            shares[alone] = 0.0
            shares[alone, alone] = 1.0
            weights[kind] = shares
        count = everybody.size
        return {
            ModelKind.ALONE: np.eye(count),
            **weights,
            ModelKind.TOGETHER: np.broadcast_to(1 / count, (count, count)),
        }


def _given_up(gain: Floats, loss: Floats) -> Floats:
    """Return what may be given up of an expected gain for a smaller set, if the loss is then hardly any larger."""
    return np.asarray(np.maximum(np.minimum(_GIVEN_UP * gain, _MAX_GIVEN_UP * loss), 0.0))


def _members(sets: sparse.csr_array, target: int) -> Integers:
    """Return the members of a client's set, of sets (N, N), in order."""
    return np.sort(sets.indices[sets.indptr[target] : sets.indptr[target + 1]])
