"""What clients are asked so that borrowing can be decided where losses are expanded: for classes, counts, survival."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import final

import numpy as np

from comity.core.arrays import Floats
from comity.core.likelihood import penalty_factors
from comity.families.glm.asking import Asking, tested_parts
from comity.families.glm.borrowing import Borrowing
from comity.families.glm.dispersion import dispersion
from comity.families.glm.hierarchy import Hierarchy
from comity.families.glm.pulled_view import borrowing_of
from comity.families.glm.sums import Sums, without_negative_curvature
from comity.families.glm.tasks import LINEAR_TASKS, LinearTask
from comity.questions import (
    FitOwn,
    FitOwnAnswer,
    Moments,
    MomentsAnswer,
    PartLosses,
    PartLossesAnswer,
    Slopes,
    SlopesAnswer,
)

_EXPANSIONS = 5  # rounds in which models approach their optimum
NOISE = 0.5  # a loss over twice this is minus the logarithm of a likelihood, up to a constant
_POOLED_PRECISION = 1.0  # of the parameters of one model for all
_TINY = 1e-300


def shortened(steps: Floats, scores: Floats, longest: float) -> Floats:
    """Return Newton steps (…, d), shortened where scores would change too much; their direction stays.

    Args:
        steps: Changes of the parameters.
        scores: The quadratic form (…, d, d) that gives the mean squared change of a row's scores.
        longest: The root mean square by which scores may change.

    >>> shortened(np.array([[1.0, 0.0], [8.0, 6.0]]), np.eye(2), 3.0)
    array([[1. , 0. ],
           [2.4, 1.8]])
    """
    squares = (steps * (scores @ steps[..., None])[..., 0]).sum(axis=-1, keepdims=True)
    return np.asarray(steps * np.minimum(1.0, longest / np.sqrt(np.maximum(squares, _TINY))))


@final
class BorrowingByExpansions(Asking):
    """For other losses: they are expanded where each client's model is, again and again."""

    @cached_property
    def _own(self) -> list[FitOwnAnswer]:
        self.progress("training alone", 0, 1)
        return list(self.federation.ask(FitOwn(self.schema, self.split)).values())

    @cached_property
    def _approached(self) -> tuple[Floats, Floats, Sums | None]:
        """Each client's model (N, d), pulled towards all, and one model for all (d,), by Newton's method.

        If no client's policy allows slopes, it is the mean of the models alone. The losses on all rows of each client
        come with them, as they were last expanded.
        """
        clients, size = self.federation.clients, self.schema.parameters
        models, pooled = np.zeros((len(clients), size)), np.zeros(size)
        if self._task.from_alone:
            models = np.stack([each.parameters[0] for each in self._own])
            pooled = models.mean(axis=0)
        precision = _POOLED_PRECISION * penalty_factors(size, self._intercepts)
        for number in range(_EXPANSIONS):
            self.progress("learning from all", number, _EXPANSIONS)
            answers: Mapping[str, SlopesAnswer] = self.federation.ask(
                {
                    client: Slopes(self.schema, self.split, np.stack([models[place], pooled]), np.zeros(2))
                    for place, client in enumerate(clients)
                }
            )
            losses, slopes, curvatures = (
                np.stack([getattr(each, name) for each in answers.values()])
                for name in ("losses", "slopes", "curvatures")
            )
            curvatures = np.stack([without_negative_curvature(each) for each in curvatures])
            turned = (curvatures[:, 0] @ models[..., None])[..., 0]
            level = losses[:, 0] - ((slopes[:, 0] - turned / 2) * models).sum(axis=1)
            rows = np.array([each.rows[0] for each in answers.values()])
            if not number:
                flat = curvatures[:, 0] / np.maximum(rows, 1.0)[:, None, None]
                scores = flat / np.maximum(self._task.bend(flat), _TINY)[..., None, None]
            if not rows.any():
                pooled = np.mean([each.parameters[0] for each in self._own], axis=0)
                return np.tile(pooled, (len(clients), 1)), pooled, None
            sums = Sums(curvatures[:, 0] / 2, (turned - slopes[:, 0]) / 2, level, rows)
            noise = max(float(losses[:, 0].sum() / rows.sum()), NOISE) if self._task.overdispersed else NOISE
            found = Hierarchy.learn(sums, self._intercepts, noise).models
            models = models + shortened(found - models, scores, self._task.longest)
            system = curvatures[:, 1].sum(axis=0) + np.diag(precision)
            step = np.linalg.solve(system, slopes[:, 1].sum(axis=0) + precision * pooled)
            pooled = pooled - shortened(step, np.average(scores, axis=0, weights=rows), self._task.longest)
        return models, pooled, sums

    @property
    def _intercepts(self) -> int:
        return self.schema.target.intercepts

    @property
    def _task(self) -> LinearTask:
        return LINEAR_TASKS[self.schema.target.task]

    @cached_property
    def lender(self) -> Borrowing:
        """What borrowing is decided by; clients measure what they would gain by the common procedure."""
        models, _, joint = self._approached
        self.progress("asking for curvatures", 0, 1)
        answers: Mapping[str, MomentsAnswer] = self.federation.ask(
            {
                client: Moments(self.schema, self.split, models[place][None])
                for place, client in enumerate(self.federation.clients)
            }
        )
        parts = tested_parts(answers)
        if self._task.stratified:
            parts = replace(parts, joint=joint)
        own = np.stack([each.parameters for each in self._own], axis=1)
        noise = NOISE * dispersion(parts, models) if self._task.overdispersed else NOISE
        tell, own_level = partial(self.progress, "finding collaborators"), self._task.own_level
        lender = borrowing_of(parts, self._intercepts, noise, own, tell, own_level=own_level)
        tested = np.stack([lender.models[0], lender.models[lender.number]])
        measured: Mapping[str, PartLossesAnswer] = self.federation.ask(
            {
                client: PartLosses(self.schema, self.split, tested[:, place])
                for place, client in enumerate(self.federation.clients)
            }
        )
        lender.measured = np.stack([each.losses for each in measured.values()], axis=1)
        return lender

    @cached_property
    def together(self) -> tuple[Floats, float]:
        """One model for all; without a part, it is moved as the expansions say."""
        pooled = self._approached[1]
        precision = np.diag(_POOLED_PRECISION * penalty_factors(pooled.size, self._intercepts))
        solved = [
            np.linalg.solve(total.gram[0] / NOISE + precision, total.cross[0] / NOISE)
            for total in (view.sums.total() for view in self.lender.views)
        ]
        if (self._approached[0] == pooled).all():  # a guess, from which the expansions lead one step on
            pooled = solved[0]
        return self.repeated([pooled + each - solved[0] for each in solved]), _POOLED_PRECISION

    @property
    def own_penalties(self) -> Floats:
        """The penalties of the models alone (N,)."""
        return np.array([each.penalties[0] for each in self._own])
