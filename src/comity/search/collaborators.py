"""Finding collaborators: a search on the simplex, then the smallest set that is nearly as good (paper, Section 4.2).

For all targets at once:

1. Minimise the target's cross-validated loss over weights on the simplex and the penalty, from several starts.
2. Drop collaborators one at a time, the one whose absence costs least first.
3. Of the sets on this way, take the smallest whose loss is within some standard errors of the best.

The search gets losses through `Trials` alone and knows nothing of rows.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import reduce

import numpy as np

from comity.core.arrays import Booleans, Floats, Integers
from comity.questions.search import SearchSettings
from comity.search.choices import Candidates, Choices
from comity.search.clip_rule import choose_by_clip_rule
from comity.search.descent import Points, clip_logs, descend, points_at, regularise, take_exact, with_best_of
from comity.search.simplex import equal_weights, restrict, weights_alone
from comity.search.trials import Bounds, Objective, Trials

_NEARBY_LOGS = np.log([0.1, 1.0, 10.0])  # penalties tried around the last one when a set has shrunk
_SMALL_PENALTY = 1e-2
_MAX_COLLABORATORS_TRIED = 12
_SIGNIFICANT = 2.0  # standard errors
_MIN_GAIN = 1e-9  # in units of the target's variance or of log loss: less may be rounding
_SHORT_SEARCH = 8  # this fraction of the steps suffices to compare starts, and from weights that are nearly right


@dataclass(frozen=True, slots=True)
class Search(SearchSettings):
    """The search for collaborators, with its settings."""

    @classmethod
    def of(cls, settings: SearchSettings) -> Search:
        """Return the search with these settings."""
        return cls(*(getattr(settings, each.name) for each in fields(settings)))

    def check(self, clients: int) -> None:
        """Check that the settings suit this number of clients."""
        if self.clip_rule is not None:
            self.clip_rule.check(clients)

    def bounds(self, trials: Trials) -> Bounds:
        """Return the bounds of the penalties' logarithms."""
        return trials.bounds if self.penalty is None else (float(np.log(self.penalty)),) * 2

    def collaborators(self, trials: Trials, face: Booleans, strength: float = 0.0) -> Choices:
        """Return what every trial's target chooses on its face (P, N) of the simplex."""
        if self.clip_rule is not None:
            logs, bounds = self._penalty_logs(trials), self.bounds(trials)
            return choose_by_clip_rule(self.clip_rule, trials, face, logs, bounds, self.steps)
        return self.choose(self.shrink(trials, self.best(trials, face, strength), strength))

    def strength(self, trials: Trials, face: Booleans) -> float:
        """Return how strongly weights are pulled towards equal ones, the same for all trials.

        1. On each half of the folds, search for weights with every strength.
        2. Compute the losses of these weights on the other half, relative to each client's smallest loss.
        3. Choose the strongest strength whose mean over all clients is not significantly worse than the best one. The
           clients share one strength, since a client with few rows could not choose its own.
        """
        if len(self.strengths) == 1:
            return self.strengths[0]
        losses, outcomes = np.zeros((len(self.strengths), len(trials))), []
        pooled, alone = equal_weights(face), weights_alone(trials.target, face.shape[1])
        halves = trials.halves()
        for training, validation in halves:
            start = self.with_best_penalty(training, (pooled + alone) / 2)
            ends = [self.with_best_penalty(training, end).losses for end in (alone, pooled)]
            found = [
                descend(regularise(training, face, strength, *ends), start, face, self.steps // 4, self.bounds(trials))
                for strength in self.strengths
            ]
            losses += [validation.losses(points.weights, points.log_penalty) / len(halves) for points in found]
            outcomes.append([validation.outcomes(points.weights, points.log_penalty) for points in found])
        if not np.isfinite(losses).all():  # too few rows for halves
            return self.strengths[0]
        scale = np.maximum(np.abs(losses.min(axis=0)), 1e-9)  # the expansion of a loss may be negative
        relative = (losses / scale).mean(axis=1)
        best = int(relative.argmin())
        allowed = np.zeros(len(self.strengths))
        for index in range(len(self.strengths)):
            variance = sum(
                (validation.standard_error(outcome[best], outcome[index]) / len(halves)) ** 2
                for (_, validation), outcome in zip(halves, outcomes, strict=True)
            )
            allowed[index] = _SIGNIFICANT * np.sqrt((variance / scale**2).mean() / len(trials))
        return self.strengths[int(np.flatnonzero(relative - relative[best] <= allowed).max())]

    def best(self, trials: Trials, face: Booleans, strength: float = 0.0) -> Points:
        """Return the best point of every trial on its face (P, N) of the simplex, from several starts."""
        alone, pooled, bounds = weights_alone(trials.target, face.shape[1]), equal_weights(face), self.bounds(trials)
        between = (alone + pooled) / 2
        starts = [self.with_best_penalty(trials, weights) for weights in (alone, pooled, between)]
        # The large penalty that suits bad weights would keep the search from better ones, so one start has a small one.
        small = np.full(len(trials), np.clip(np.log(_SMALL_PENALTY), *bounds))
        starts.append(points_at(trials, between, small))
        objective = regularise(trials, face, strength, starts[0].losses, starts[1].losses)
        # A short search from every start shows which one is best; only that one is continued.
        tried = [descend(objective, start, face, self.steps // _SHORT_SEARCH, bounds) for start in starts]
        found = descend(objective, reduce(Points.better_of, tried), face, self.steps, bounds)
        return points_at(trials, found.weights, found.log_penalty)

    def confined(self, trials: Trials, found: Points, face: Booleans, strength: float = 0.0) -> Points:
        """Return the best point found on a face, starting from one on a larger face; this is quicker than `best`."""
        start = self._moved_to(face, trials, found)
        objective: Objective = trials
        if strength:
            ends = (weights_alone(trials.target, face.shape[1]), equal_weights(face))
            losses = [self.with_best_penalty(trials, end).losses for end in ends]
            objective = regularise(trials, face, strength, *losses)
        confined = descend(objective, start, face, self.steps // 4, self.bounds(trials))
        return points_at(trials, confined.weights, confined.log_penalty)

    def _moved_to(self, face: Booleans, trials: Trials, points: Points) -> Points:
        """Return points with their weights restricted to a smaller face, and the best of penalties near theirs."""
        logs = clip_logs(points.log_penalty[:, None] + _NEARBY_LOGS, self.bounds(trials))
        return with_best_of(trials, restrict(points.weights, face, trials.target), logs)

    def with_best_penalty(self, trials: Trials, weights: Floats) -> Points:
        """Return weights (P, N), each with the penalty of the grid that gives the smallest loss."""
        return with_best_of(trials, weights, self._penalty_logs(trials))

    def _penalty_logs(self, trials: Trials) -> Floats:
        """Return the logarithms of the penalties to try (P, M)."""
        logs = np.tile(np.log(self.penalties if self.penalty is None else [self.penalty]), (len(trials), 1))
        return clip_logs(logs, self.bounds(trials))

    def shrink(self, trials: Trials, found: Points, strength: float = 0.0) -> Candidates:
        """Return every trial's path of sets, from the one that was found to the target alone.

        1. The first set has the clients with positive weights.
        2. Drop the collaborator whose absence costs least (of many, several at once), and search for weights on the
           smaller face from there. Collaborators whose weights become zero are dropped as well.
        3. Repeat step 2 until every target is alone; one that is alone earlier stays so for the remaining stages.
        """
        rows = np.arange(len(trials))
        members = found.weights > 0
        members[rows, trials.target] = True
        present = found.some(rows)
        alone = found.losses
        if strength:
            alone = self.with_best_penalty(trials, weights_alone(trials.target, members.shape[1])).losses
        sets, points, outcomes = [], [], []
        while True:
            take_exact(trials, present, members)
            sets.append(members.copy())
            points.append(present.some(rows))
            outcomes.append(trials.outcomes(present.weights, present.log_penalty))
            going = np.flatnonzero(members.sum(axis=1) > 1)
            if not going.size:
                break
            members[going] &= ~self._least_missed(trials, present, members, going)
            part, face = trials.some(going), members[going]
            start = self._moved_to(face, part, present.some(going))
            last = np.flatnonzero(face.sum(axis=1) == 1)
            if last.size:  # gains are measured from the target alone, so that all penalties are tried for it
                start.put(last, self.with_best_penalty(part.some(last), start.weights[last]))
            objective: Objective = part
            if strength:
                pooled_losses = part.losses(equal_weights(face), start.log_penalty)
                objective = regularise(part, face, strength, alone[going], pooled_losses)
            descended = descend(objective, start, face, self.steps // _SHORT_SEARCH, self.bounds(part))
            present.put(going, points_at(part, descended.weights, descended.log_penalty))
            members[going] &= present.weights[going] > 0
            members[rows, trials.target] = True

        def errors(one: Integers, other: Integers) -> Floats:
            return trials.standard_error(stacked[one, rows], stacked[other, rows])

        stacked = np.stack(outcomes)
        return Candidates(np.stack(sets), Points.stacked(points), errors)

    def _least_missed(self, trials: Trials, present: Points, members: Booleans, going: Integers) -> Booleans:
        """Return the collaborators to drop (P, N) in each of some trials: the one whose absence costs least.

        Of eight collaborators or more, a quarter is dropped. Of more than `_MAX_COLLABORATORS_TRIED`, half is dropped,
        those with the least weights: to try each of them would take longer than all the rest.
        """
        candidates = members[going].copy()
        candidates[np.arange(going.size), trials.target[going]] = False
        sizes = candidates.sum(axis=1)
        losses = np.where(candidates, present.weights[going], np.inf)
        rows, others = np.nonzero(candidates & (sizes <= _MAX_COLLABORATORS_TRIED)[:, None])
        for chunk in trials.batches(rows.size):
            chosen = going[rows[chunk]]
            part, face = trials.some(chosen), members[chosen]
            face[np.arange(chosen.size), others[chunk]] = False
            weights = restrict(present.weights[chosen], face, part.target)
            losses[rows[chunk], others[chunk]] = part.losses(weights, present.log_penalty[chosen])
        drop = np.where(sizes > _MAX_COLLABORATORS_TRIED, sizes // 2, np.maximum(sizes // 4, 1))
        rank = losses.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
        dropped: Booleans = rank < drop[:, None]
        return dropped

    def choose(self, candidates: Candidates) -> Choices:
        """Return what each target chooses, with the tolerance by which its loss may exceed the best.

        1. Of the sets whose loss is within `standard_errors` of the best, take the smallest; of equally small ones,
           the one with the least loss.
        2. If its gain over the target alone is not more than `standard_errors_to_join`, take the target alone.
        """
        losses, sizes = candidates.points.losses, candidates.sets.sum(axis=2)
        rows = np.arange(losses.shape[1])
        alone, best = sizes.argmin(axis=0), losses.argmin(axis=0)
        taken, forgiven = best.copy(), np.zeros(rows.size)
        for stage in range(len(losses)):
            allowed = self.standard_errors * candidates.errors(best, np.full(rows.size, stage))
            size, before = sizes[stage], sizes[taken, rows]
            smaller = (size < before) | ((size == before) & (losses[stage] < losses[taken, rows]))
            near = (losses[stage] - losses[best, rows] <= allowed) & smaller
            taken = np.where(near, stage, taken)
            forgiven = np.where(near, allowed, forgiven)
        gain = losses[alone, rows] - losses[taken, rows]
        needed = self.standard_errors_to_join * candidates.errors(taken, alone)
        joins = gain > np.maximum(needed, _MIN_GAIN)
        chosen = np.where(joins, taken, alone)
        tolerance = np.where(joins, forgiven, forgiven + needed)
        sets = candidates.sets[chosen, rows]
        return Choices(sets, candidates.at(chosen), candidates.at(best), candidates.at(alone), tolerance)
