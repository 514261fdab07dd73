"""Finding collaborators: the search on the simplex, then the smallest set that is nearly as good (paper, Section 4.2).

For every target at once: minimise its cross-fitted loss over weights on the simplex and the penalty, from several
starts; then drop collaborators one at a time, the least missed first, and keep the smallest set whose loss is
within some standard errors of the best. All of it speaks to a front through `Trials` and knows nothing of rows.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import reduce
from typing import Any

import numpy as np

from comity.descent import Floored, Leaning, Points, descend
from comity.errors import InputError
from comity.simplex import Booleans, Floats
from comity.trials import Bounds, Integers, Trials

PENALTIES: Floats = np.logspace(-8, 2, 11)
_NEAR = np.log([0.1, 1.0, 10.0])  # penalties tried around the last one, when a set has shrunk
_SMALL = 1e-2
_MANY = 12
_SIGNIFICANT = 2.0  # standard errors
_NOTHING = 1e-9  # a loss, in units of the target's variance or of log loss, that may be rounding
_SHORT = 8  # this part of the steps does to tell starts apart, and when a set has shrunk: weights are nearly right then


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """For each of P targets, M sets of collaborators to choose among, one of which is the target alone.

    `sets` (M, P, N), their `points` (M, P of each) and their `outcomes` (M, P, …), which standard errors come from. On
    a path, sets shrink from what the search found down to the target alone; a target whose set is exhausted stays
    alone for the rest.
    """

    sets: Booleans
    points: Points
    outcomes: Floats

    @property
    def losses(self) -> Floats:
        """The losses of every stage (M, P)."""
        return self.points.losses

    def some(self, stages: Integers, targets: Integers) -> Candidates:
        """Return some of the sets, by stage (M', P'), of some of the targets (P',)."""
        return Candidates(self.sets[stages, targets], self.points.at(stages, targets), self.outcomes[stages, targets])

    def at(self, stages: Integers) -> Points:
        """Return each target's point at its own stage (P,)."""
        return self.points.at(stages, np.arange(stages.size))


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    """What P targets choose on their faces of the simplex.

    `sets` (P, N) are the collaborators, `chosen` the points with them; `best` is the best point met on the
    face; `alone` the target by itself. A loss up to `tolerance` (P,) above the best counts as none.
    """

    sets: Booleans
    chosen: Points
    best: Points
    alone: Points
    tolerance: Floats

    @classmethod
    def joined(cls, parts: Sequence[Choices]) -> Choices:
        """Return the choices of all parts, one after the other."""
        return cls(
            np.concatenate([part.sets for part in parts]),
            Points.joined([part.chosen for part in parts]),
            Points.joined([part.best for part in parts]),
            Points.joined([part.alone for part in parts]),
            np.concatenate([part.tolerance for part in parts]),
        )


@dataclass(frozen=True, slots=True)
class ClipRule:
    """The paper's own way to a set: no weight below `floor` while searching, then whoever is above `threshold`.

    It binds clients that gain nothing (docs/method.md) and is here to reproduce the paper's tables. With `steps`, the
    search is the paper's too: so many of them down the slope at a fixed `rate`, from equal weights, each clipped and
    scaled to sum to one; the last iterate is taken, and its loss is that before it was scaled.
    """

    floor: float = 0.05
    threshold: float = 0.1
    steps: int = 0
    rate: float = 0.01

    def check(self, clients: int) -> None:
        """Check that with so many clients one can be above the threshold while all others are at the floor."""
        highest = 1 - self.floor * (clients - 1)
        if not self.steps and clients > 1 and highest <= self.threshold:
            raise InputError(
                f"with {clients} clients and no weight below {self.floor:g}, none can be above {self.threshold:g}: the "
                "paper's rule (clip) has nothing to choose; take the rule 'smallest', or fewer clients"
            )


@dataclass(frozen=True, slots=True)
class Search:
    """How collaborators are looked for.

    `steps` of spectral projected gradient from the best start. A set counts as good as the best if its loss is within
    `standard_errors` of the best; only a gain over training alone of more than `standard_errors_to_join` standard
    errors is a reason to join. Weights lean towards pooled ones with a strength, relative to the loss, of those in
    `strengths` that serves best on inner splits. With a `clip_rule`, sets are found as the paper does; with a
    `penalty`, that is taken for all models instead of one chosen by the folds.
    """

    steps: int = 40
    standard_errors: float = 1.0
    standard_errors_to_join: float = 1.0
    penalties: tuple[float, ...] = field(default=tuple(PENALTIES.tolist()))
    strengths: tuple[float, ...] = (0.0, 0.1, 0.3)
    clip_rule: ClipRule | None = None
    penalty: float | None = None

    def to_json(self) -> str:
        """Return how to search, as JSON."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Search:
        """Return the search that was written as JSON."""
        told: dict[str, Any] = json.loads(text)
        told |= {name: tuple(told[name]) for name in ("penalties", "strengths")}
        told["clip_rule"] = None if told["clip_rule"] is None else ClipRule(**told["clip_rule"])
        return cls(**told)

    def check(self, clients: int) -> None:
        """Check that so many clients can be searched for this way."""
        if self.clip_rule is not None:
            self.clip_rule.check(clients)

    def bounds(self, trials: Trials) -> Bounds:
        """Return between which logarithms penalties are looked for."""
        return trials.bounds if self.penalty is None else (float(np.log(self.penalty)),) * 2

    def collaborators(self, trials: Trials, face: Booleans, strength: float = 0.0) -> Choices:
        """Return what every trial's target chooses on its face (P, N) of the simplex."""
        if self.clip_rule is not None:
            return self._as_the_paper(trials, face, self.clip_rule)
        paths = self.shrink(trials, self.best(trials, face, strength), strength)
        everybody = np.arange(len(trials))
        stages, tolerance = self.choose(trials, paths)
        best = paths.at(paths.losses.argmin(axis=0))
        return Choices(paths.sets[stages, everybody], paths.at(stages), best, paths.points.some(-1), tolerance)

    def strength(self, trials: Trials, face: Booleans) -> float:
        """Return how strongly weights should lean towards pooled ones, the same for all trials.

        On each half of the folds, weights are searched with every strength and judged on the other half. One strength
        for all is chosen, since a client's few rows cannot tell: the strongest that is not significantly worse than
        the best, all clients counting alike.
        """
        if len(self.strengths) == 1:
            return self.strengths[0]
        shape = (len(self.strengths), len(trials))
        losses, outcomes = np.zeros(shape), []
        pooled, alone = _pooled(face), _alone(trials, face)
        halves = trials.halves()
        for searching, judging in halves:
            start = self.with_best_penalty(searching, (pooled + alone) / 2)
            ends = [self.with_best_penalty(searching, end).losses for end in (alone, pooled)]
            found = [
                descend(_leaning(searching, face, strength, *ends), start, face, self.steps // 4, self.bounds(trials))
                for strength in self.strengths
            ]
            losses += [judging.losses(at.weights, at.log_penalty) / len(halves) for at in found]
            outcomes.append([judging.outcomes(at.weights, at.log_penalty) for at in found])
        if not np.isfinite(losses).all():  # too few rows to judge by halves
            return self.strengths[0]
        scale = np.maximum(np.abs(losses.min(axis=0)), 1e-9)  # an expansion may even be negative
        relative = (losses / scale).mean(axis=1)
        best = int(relative.argmin())
        allowed = np.zeros(len(self.strengths))
        for at in range(len(self.strengths)):
            variance = np.zeros(len(trials))
            for (_, judging), each in zip(halves, outcomes, strict=True):
                variance += (judging.standard_error(each[best], each[at]) / len(halves)) ** 2
            allowed[at] = _SIGNIFICANT * np.sqrt((variance / scale**2).mean() / len(trials))
        near = np.flatnonzero(relative - relative[best] <= allowed)
        return self.strengths[int(near.max())]

    def best(self, trials: Trials, face: Booleans, strength: float = 0.0) -> Points:
        """Return the best point of every trial on its face (P, N) of the simplex, from several starts."""
        alone, pooled = _alone(trials, face), _pooled(face)
        between = (alone + pooled) / 2
        starts = [self.with_best_penalty(trials, weights) for weights in (alone, pooled, between)]
        # A large penalty, right for bad weights, would keep the search from better ones: once, it begins small.
        small = np.full(len(trials), np.clip(np.log(_SMALL), *self.bounds(trials)))
        starts.append(Points(between, small, trials.losses(between, small)))
        leaning = _leaning(trials, face, strength, starts[0].losses, starts[1].losses)
        # A part of the way shows which start leads furthest; that one is followed to the end.
        ahead = [descend(leaning, start, face, self.steps // _SHORT, self.bounds(trials)) for start in starts]
        return _judged(trials, descend(leaning, reduce(Points.better_of, ahead), face, self.steps, self.bounds(trials)))

    def confined(self, trials: Trials, found: Points, face: Booleans, strength: float = 0.0) -> Points:
        """Return the best point met on a face, going on from what was found on a larger one: quicker than `best`."""
        weights = _confined(found.weights, face, trials.target)
        bounds = self.bounds(trials)
        start = _with_best_of(trials, weights, _within(found.log_penalty[:, None] + _NEAR, bounds))
        leaning: Trials | Leaning = trials
        if strength:
            ends = [self.with_best_penalty(trials, end).losses for end in (_alone(trials, face), _pooled(face))]
            leaning = _leaning(trials, face, strength, *ends)
        return _judged(trials, descend(leaning, start, face, self.steps // 4, bounds))

    def with_best_penalty(self, trials: Trials, weights: Floats) -> Points:
        """Return weights with the penalty of the grid that gives the smallest loss."""
        logs = np.tile(np.log(self.penalties if self.penalty is None else [self.penalty]), (len(trials), 1))
        logs = _within(logs, self.bounds(trials))
        return _with_best_of(trials, weights, logs)

    def shrink(self, trials: Trials, found: Points, strength: float = 0.0) -> Candidates:
        """Return every trial's path from the set found down to the target alone, the least missed dropped first."""
        everybody = np.arange(len(trials))
        members = found.weights > 0
        members[everybody, trials.target] = True
        at = found.some(everybody)
        take_exact(trials, at, members)
        alone = self.with_best_penalty(trials, _alone(trials, members)).losses if strength else found.losses
        sets, points, models = [members.copy()], [at.some(everybody)], [trials.outcomes(at.weights, at.log_penalty)]
        while (going := np.flatnonzero(members.sum(axis=1) > 1)).size:
            members[going] &= ~self._least_missed(trials, at, members, going)
            part, face = trials.some(going), members[going]
            weights = _confined(at.weights[going], face, part.target)
            last = face.sum(axis=1) == 1
            start = _with_best_of(part, weights, _within(at.log_penalty[going, None] + _NEAR, self.bounds(part)))
            if last.any():  # the target alone: its penalty is looked for everywhere, as it is what gains are over
                start.put(np.flatnonzero(last), self.with_best_penalty(part.some(np.flatnonzero(last)), weights[last]))
            leaning: Trials | Leaning = part
            if strength:
                leaning = _leaning(part, face, strength, alone[going], part.losses(_pooled(face), start.log_penalty))
            at.put(going, _judged(part, descend(leaning, start, face, self.steps // _SHORT, self.bounds(part))))
            members[going] &= at.weights[going] > 0  # the descent may leave out more
            members[everybody, trials.target] = True
            take_exact(trials, at, members)
            sets.append(members.copy())
            points.append(at.some(everybody))
            models.append(trials.outcomes(at.weights, at.log_penalty))
        return Candidates(np.stack(sets), Points.stacked(points), np.stack(models))

    def _least_missed(self, trials: Trials, at: Points, members: Booleans, going: Integers) -> Booleans:
        """Return for each of some trials whom to drop (P, N): the one without whom its loss is smallest.

        Of eight collaborators or more it is a quarter of them. Of more than `_MANY` a half is dropped at once, those
        with the least weight: to try each would take longer than all the rest.
        """
        candidates = members[going].copy()
        candidates[np.arange(going.size), trials.target[going]] = False
        sizes = candidates.sum(axis=1)
        losses = np.where(candidates, at.weights[going], np.inf)
        rows, others = np.nonzero(candidates & (sizes <= _MANY)[:, None])
        for chunk in trials.batches(rows.size):
            who = going[rows[chunk]]
            part, face = trials.some(who), members[who]
            face[np.arange(who.size), others[chunk]] = False
            confined = _confined(at.weights[who], face, part.target)
            losses[rows[chunk], others[chunk]] = part.losses(confined, at.log_penalty[who])
        drop = np.where(sizes > _MANY, sizes // 2, np.maximum(sizes // 4, 1))
        rank = losses.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
        dropped: Booleans = rank < drop[:, None]
        return dropped

    def choose(self, trials: Trials, candidates: Candidates) -> tuple[Integers, Floats]:
        """Return which set each target takes (P,), as a stage, and how much loss that rule forgave at most (P,).

        It is the smallest set that is nearly as good as the best, of equally small ones the best. A gain over training
        alone that is not significant is none: then the target alone.
        """
        losses, outcomes = candidates.losses, candidates.outcomes
        sizes = candidates.sets.sum(axis=2)
        everybody = np.arange(len(trials))
        alone, best = sizes.argmin(axis=0), losses.argmin(axis=0)
        reference, least = outcomes[best, everybody], losses[best, everybody]
        taken, forgiven = best.copy(), np.zeros(len(trials))
        for stage in range(len(losses)):
            allowed = self.standard_errors * trials.standard_error(reference, outcomes[stage])
            size, before = sizes[stage], sizes[taken, everybody]
            smaller = (size < before) | ((size == before) & (losses[stage] < losses[taken, everybody]))
            near = (losses[stage] - least <= allowed) & smaller
            taken = np.where(near, stage, taken)
            forgiven = np.where(near, allowed, forgiven)
        gain = losses[alone, everybody] - losses[taken, everybody]
        error = trials.standard_error(outcomes[taken, everybody], outcomes[alone, everybody])
        needed = self.standard_errors_to_join * error
        joins = gain > np.maximum(needed, _NOTHING)
        stages: Integers = np.where(joins, taken, alone)
        return stages, np.where(joins, forgiven, forgiven + needed)

    def _as_the_paper(self, trials: Trials, face: Booleans, rule: ClipRule) -> Choices:
        """Choose as the paper does: see `ClipRule`."""
        alone = self.with_best_penalty(trials, _alone(trials, face))
        take_exact(trials, alone, _alone(trials, face) > 0)
        start = self.with_best_penalty(trials, _pooled(face))
        if rule.steps:
            best = _walk(trials, start, face, rule)
        else:
            floored = Floored(trials, face, rule.floor)
            best = _judged(trials, floored.weights_of(descend(floored, start, face, self.steps, self.bounds(trials))))
        sets = face & (best.weights > rule.threshold)
        sets[np.arange(len(trials)), trials.target] = True
        start = self.with_best_penalty(trials, _confined(best.weights, sets, trials.target))
        chosen = descend(trials, start, sets, self.steps, self.bounds(trials))
        if not rule.steps:
            best = best.better_of(chosen)
        return Choices(sets, chosen, best, alone, np.maximum(chosen.losses - best.losses, 0.0))


def _walk(trials: Trials, start: Points, face: Booleans, rule: ClipRule) -> Points:
    """Walk as the paper does: see `ClipRule`."""
    weights = clipped = start.weights
    for _ in range(rule.steps):
        _, slope, _ = trials.derivatives(weights, start.log_penalty)
        clipped = np.where(face, np.clip(weights - rule.rate * slope, rule.floor, 1.0), 0.0)
        weights = clipped / clipped.sum(axis=1, keepdims=True)
    return Points(weights, start.log_penalty, trials.losses(clipped, start.log_penalty))


def _leaning(
    trials: Trials, face: Booleans, strength: float, alone_losses: Floats, pooled_losses: Floats
) -> Trials | Leaning:
    """Return trials that lean towards pooled weights, with a strength relative to the loss at the better end (P,).

    Only a target that does better pooled than alone leans: others would lean towards those who harm it.
    """
    if strength == 0:
        return trials
    pull = np.where(pooled_losses < alone_losses, strength * np.minimum(alone_losses, pooled_losses), 0.0)
    return Leaning(trials, _pooled(face), np.maximum(pull, 0.0))


def take_exact(trials: Trials, at: Points, members: Booleans) -> None:
    """Let targets that are alone lose no more than is known exactly.

    An expansion errs alike for models that are alike, so what it says stays, as long as it does not speak for others.
    """
    if trials.alone_losses is not None:
        alone = np.flatnonzero(members.sum(axis=1) == 1)
        at.losses[alone] = np.minimum(at.losses[alone], trials.alone_losses[alone])


def _within(logs: Floats, bounds: Bounds) -> Floats:
    low, high = (bound[:, None] if isinstance(bound, np.ndarray) else bound for bound in bounds)
    return np.asarray(np.clip(logs, low, high))


def _alone(trials: Trials, face: Booleans) -> Floats:
    weights = np.zeros(face.shape)
    weights[np.arange(len(trials)), trials.target] = 1.0
    return weights


def _pooled(face: Booleans) -> Floats:
    return np.asarray(face / face.sum(axis=1, keepdims=True))


def _judged(trials: Trials, points: Points) -> Points:
    """Return points with their plain losses."""
    return Points(points.weights, points.log_penalty, trials.losses(points.weights, points.log_penalty))


def _with_best_of(trials: Trials, weights: Floats, logs: Floats) -> Points:
    """Return weights (P, N) with the best of some penalties, whose logarithms are in `logs` (P, M)."""
    logs = np.unique(logs, axis=1)  # within narrow bounds, many are one
    losses = trials.losses_by_penalty(weights, logs)
    best = losses.argmin(axis=0)
    everybody = np.arange(len(trials))
    return Points(weights.copy(), logs[everybody, best], losses[best, everybody])


def _confined(weights: Floats, face: Booleans, target: Integers) -> Floats:
    """Return weights (P, N) on a face only, scaled to sum to one; if nothing is left there, the target's is one."""
    left = np.where(face, weights, 0.0)
    empty = np.flatnonzero(left.sum(axis=1) < 1e-9)
    left[empty, target[empty]] = 1.0
    return np.asarray(left / left.sum(axis=1, keepdims=True))
