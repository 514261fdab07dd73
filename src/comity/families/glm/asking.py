"""What clients are asked so that borrowing can be decided: three rounds for a number, some more for classes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property, partial
from typing import final

import numpy as np

from comity.core.arrays import Floats
from comity.core.likelihood import penalty_factors
from comity.core.progress import Progress
from comity.errors import InputError
from comity.families.glm.borrowing import Borrowing
from comity.families.glm.hierarchy import Hierarchy
from comity.families.glm.own import fit_own
from comity.families.glm.pulled_view import borrowing_of
from comity.families.glm.sums import Parts, Sums, without_negative_curvature
from comity.federation import Federation
from comity.questions import (
    Evaluate,
    Evaluation,
    FitOwn,
    FitOwnAnswer,
    Moments,
    MomentsAnswer,
    PartLosses,
    PartLossesAnswer,
    Slopes,
    SlopesAnswer,
    Split,
)
from comity.questions.schema import Schema

_EXPANSIONS = 5  # rounds in which models of classes approach their optimum
NOISE_OF_CLASSES = 0.5  # twice the log loss is minus the logarithm of a likelihood, up to a constant
_POOLED_PRECISION = 1.0  # of the parameters of one model for all
_TINY = 1e-300
_MAX_STEP = 3.0  # by which the scores of a client's rows, or of all rows, change in one step: their root mean square


def shortened(steps: Floats, flat: Floats) -> Floats:
    """Return Newton steps (…, d), shortened where scores would change too much; their direction stays.

    Args:
        steps: Changes of the parameters.
        flat: The mean curvature of a row (…, d, d) where all parameters are zero. For two classes it measures a quarter
            of the squared scores, for more their variance over classes.

    >>> shortened(np.array([[1.0, 0.0], [8.0, 6.0]]), np.eye(2) / 4)
    array([[1. , 0. ],
           [2.4, 1.8]])
    """
    squares = 4 * (steps * (flat @ steps[..., None])[..., 0]).sum(axis=-1, keepdims=True)
    return np.asarray(steps * np.minimum(1.0, _MAX_STEP / np.sqrt(np.maximum(squares, _TINY))))


def tested_parts(answers: Mapping[str, MomentsAnswer]) -> Parts:
    """Return the losses on the parts of the rows, at least one of which tests models."""
    parts = Parts.of(list(answers.values()))
    if not parts.tested.any():
        raise InputError(
            "no client has enough rows, or groups of rows, to hold some out, so no gain can be measured; take more "
            "rows, or smaller groups"
        )
    return parts


class Asking(ABC):
    """Asks the clients of a federation, and keeps what they answered."""

    def __init__(self, federation: Federation, schema: Schema, split: Split, progress: Progress) -> None:
        self.federation, self.schema, self.split, self.progress = federation, schema, split, progress

    @cached_property
    @abstractmethod
    def lender(self) -> Borrowing:
        """What borrowing is decided by."""

    @cached_property
    @abstractmethod
    def together(self) -> tuple[Floats, float]:
        """One model for all, on all rows and without each part, repeated for each client (1 + F, N, d); its penalty."""

    @property
    @abstractmethod
    def own_penalties(self) -> Floats:
        """The penalties of the models alone (N,)."""

    def evaluate(self, metric: str, together: Floats) -> Mapping[str, Evaluation]:
        """Ask how well clients do alone, with the common procedure and together; gains are over alone."""
        self.progress("evaluating", 0, 1)
        lender = self.lender
        alone = np.stack([view.alone for view in lender.views])
        common = np.concatenate([lender.final[None, :, lender.number], lender.models[lender.number].transpose(1, 0, 2)])
        tested = lender.parts.tested.astype(np.float64)
        return self.federation.ask(
            {
                client: self._evaluation(
                    place,
                    metric,
                    np.stack([alone[:, place], common[:, place], together[:, place]]),
                    np.stack([tested[place]] * 3),
                )
                for place, client in enumerate(self.federation.clients)
            }
        )

    def _evaluation(self, place: int, metric: str, models: Floats, counted: Floats) -> object:
        """Return the question how well some kinds of models (M, 1 + F, d) of a client do, by the parts that count."""
        return Evaluate(self.schema, self.split, metric, models, counted)

    def _repeated(self, models: list[Floats]) -> Floats:
        """Return models for all, each (d,), repeated for each client."""
        return np.repeat(np.stack(models)[:, None], len(self.federation.clients), axis=1)


@final
class BorrowingOfNumbers(Asking):
    """For a number, whose losses are quadratic."""

    @cached_property
    def lender(self) -> Borrowing:
        """What borrowing is decided by."""
        self.progress("asking for moments", 0, 1)
        question = Moments(self.schema, self.split, np.empty((0, self.schema.parameters)))
        answers: Mapping[str, MomentsAnswer] = self.federation.ask(question)
        return borrowing_of(tested_parts(answers), 1, progress=partial(self.progress, "learning from all"))

    @cached_property
    def together(self) -> tuple[Floats, float]:
        """One model for all, by the evidence of all rows."""
        found = [fit_own(view.sums.total()) for view in self.lender.views]
        return self._repeated([model[0] for model, _ in found]), float(found[0][1][0])

    @property
    def own_penalties(self) -> Floats:
        """The penalties of the models alone (N,)."""
        return fit_own(self.lender.whole.sums)[1]


@final
class BorrowingOfClasses(Asking):
    """For classes: losses are expanded where each client's model is, again and again."""

    @cached_property
    def _own(self) -> list[FitOwnAnswer]:
        self.progress("training alone", 0, 1)
        return list(self.federation.ask(FitOwn(self.schema, self.split)).values())

    @cached_property
    def _approached(self) -> tuple[Floats, Floats]:
        """Each client's model (N, d), pulled towards all, and one model for all (d,), by Newton's method.

        If no client's policy allows slopes, it is the mean of the models alone.
        """
        clients, size = self.federation.clients, self.schema.parameters
        models, pooled = np.zeros((len(clients), size)), np.zeros(size)
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
            if not rows.any():
                pooled = np.mean([each.parameters[0] for each in self._own], axis=0)
                return np.tile(pooled, (len(clients), 1)), pooled
            sums = Sums(curvatures[:, 0] / 2, (turned - slopes[:, 0]) / 2, level, rows)
            found = Hierarchy.learn(sums, self._intercepts, NOISE_OF_CLASSES).models
            models = models + shortened(found - models, flat)
            system = curvatures[:, 1].sum(axis=0) + np.diag(precision)
            step = np.linalg.solve(system, slopes[:, 1].sum(axis=0) + precision * pooled)
            pooled = pooled - shortened(step, np.average(flat, axis=0, weights=rows))
        return models, pooled

    @property
    def _intercepts(self) -> int:
        return self.schema.parameters // (len(self.schema.features) + 1)

    @cached_property
    def lender(self) -> Borrowing:
        """What borrowing is decided by; clients measure what they would gain by the common procedure."""
        models, _ = self._approached
        self.progress("asking for curvatures", 0, 1)
        answers: Mapping[str, MomentsAnswer] = self.federation.ask(
            {
                client: Moments(self.schema, self.split, models[place][None])
                for place, client in enumerate(self.federation.clients)
            }
        )
        parts = tested_parts(answers)
        own = np.stack([each.parameters for each in self._own], axis=1)
        lender = borrowing_of(
            parts, self._intercepts, NOISE_OF_CLASSES, own, partial(self.progress, "finding collaborators")
        )
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
            np.linalg.solve(total.gram[0] / NOISE_OF_CLASSES + precision, total.cross[0] / NOISE_OF_CLASSES)
            for total in (view.sums.total() for view in self.lender.views)
        ]
        if (self._approached[0] == pooled).all():  # a guess, from which the expansions lead one step on
            pooled = solved[0]
        return self._repeated([pooled + each - solved[0] for each in solved]), _POOLED_PRECISION

    @property
    def own_penalties(self) -> Floats:
        """The penalties of the models alone (N,)."""
        return np.array([each.penalties[0] for each in self._own])
