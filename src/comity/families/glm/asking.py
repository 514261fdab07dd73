"""What clients are asked so that borrowing can be decided: for a number, three rounds in all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property, partial
from typing import final

import numpy as np

from comity.core.arrays import Floats
from comity.core.progress import Progress
from comity.errors import InputError
from comity.families.glm.borrowing import Borrowing
from comity.families.glm.own import fit_own
from comity.families.glm.pulled_view import borrowing_of
from comity.families.glm.sums import Parts
from comity.federation import Federation
from comity.questions import (
    Evaluate,
    Evaluation,
    Moments,
    MomentsAnswer,
    Split,
)
from comity.questions.schema import Schema


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

    @property
    def without_sums(self) -> str:
        """What clients have from which no sums came, in words."""
        return "the model of a typical client (a site of a federation fits it to its own rows)"

    def _evaluation(self, place: int, metric: str, models: Floats, counted: Floats) -> object:
        """Return the question how well some kinds of models (M, 1 + F, d) of a client do, by the parts that count."""
        return Evaluate(self.schema, self.split, metric, models, counted)

    def repeated(self, models: list[Floats]) -> Floats:
        """Return models for all, each (d,), repeated for each client."""
        return np.repeat(np.stack(models)[:, None], len(self.federation.clients), axis=1)


@final
class BorrowingExactly(Asking):
    """For a number, whose losses are quadratic: sums over rows know them exactly."""

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
        return self.repeated([model[0] for model, _ in found]), float(found[0][1][0])

    @property
    def own_penalties(self) -> Floats:
        """The penalties of the models alone (N,)."""
        return fit_own(self.lender.whole.sums)[1]
