"""What clients are asked so that estimators can be decided about: four rounds for a number, some more for classes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial
from typing import Any, final

import numpy as np

from comity.core.arrays import Bytes, Floats, join_files
from comity.core.progress import Progress
from comity.families.estimator.prediction import outputs_of
from comity.families.estimator.stack import StackView
from comity.families.glm.asking import Asking, tested_parts
from comity.families.glm.borrowing import Borrowing
from comity.families.glm.expansions import NOISE, shortened
from comity.families.glm.procedures import Procedure
from comity.families.glm.sums import Parts, Sums
from comity.federation import Federation
from comity.questions import (
    EvaluateStacks,
    FitEstimator,
    FitEstimatorAnswer,
    MomentsAnswer,
    PartLossesAnswer,
    Split,
    StackLosses,
    StackMoments,
)
from comity.questions.schema import Schema

_EXPANSIONS = 4  # rounds in which stacks of classes approach their optimum
_FLAT = 4.0  # the curvature of the log loss of two classes is a quarter of the squared scores, or less
_MAX_STEP = 3.0  # by which the scores of a client's rows change in one step: their root mean square
_ONE_PULL = (1.0,), (1.0,)
MAX_CLIENTS = 250  # every model is scored by every client, and their products are compared
_RIDGE = 1e-3  # rows' worth of a model for all


@final
class BorrowingOfEstimators(Asking):
    """For estimators, whose personal models are stacks."""

    def __init__(
        self,
        federation: Federation,
        schema: Schema,
        split: Split,
        progress: Progress,
        estimator: bytes,
        rows: tuple[int, ...],
    ) -> None:
        super().__init__(federation, schema, split, progress)
        self.estimator: Bytes = np.frombuffer(estimator, np.uint8)
        self.rows = rows
        self.intercepts = outputs_of(len(schema.target.classes))

    @cached_property
    def files(self) -> tuple[bytes, ...]:
        """The clients' own models, as files."""
        self.progress("training alone", 0, 1)
        question = FitEstimator(self.schema, self.split, self.estimator)
        answers: Mapping[str, FitEstimatorAnswer] = self.federation.ask(question)
        return tuple(answer.model.tobytes() for answer in answers.values())

    def about(self, place: int) -> dict[str, Any]:
        """Return what all questions about stacks say to a client."""
        return {
            "schema": self.schema,
            "split": self.split,
            "estimator": self.estimator,
            "models": self._joined[0],
            "sizes": self._joined[1],
            "own": place,
        }

    @cached_property
    def _joined(self) -> tuple[Bytes, Floats]:
        return join_files(self.files)

    def _moments(self, points: Floats) -> Parts:
        """Return the losses as functions of stacks, expanded at a stack for each client (N, 0 or 1, d)."""
        answers: Mapping[str, MomentsAnswer] = self.federation.ask(
            {
                client: StackMoments(**self.about(place), points=points[place])
                for place, client in enumerate(self.federation.clients)
            }
        )
        return tested_parts(answers)

    @property
    def _size(self) -> int:
        return len(self.federation.clients) + self.intercepts

    @cached_property
    def lender(self) -> Borrowing:
        """What borrowing is decided by; for classes, clients measure what they would gain by the common procedure."""
        clients, classes = len(self.federation.clients), len(self.schema.target.classes)
        noise = NOISE if classes else None

        def learn(sums: Sums, number: int) -> StackView:
            return StackView(sums, self.intercepts, noise)

        self.progress("comparing models", 0, 1)
        points = np.empty((clients, 0, self._size))
        if classes:
            points = self._approached()[:, None]
        parts = self._moments(points)
        lender = Borrowing(parts, learn, noise, partial(self.progress, "finding collaborators"), _ONE_PULL)
        if classes:
            tested = np.stack([lender.models[0], lender.models[lender.number]])
            measured: Mapping[str, PartLossesAnswer] = self.federation.ask(
                {
                    client: StackLosses(**self.about(place), parameters=tested[:, place])
                    for place, client in enumerate(self.federation.clients)
                }
            )
            lender.measured = np.stack([each.losses for each in measured.values()], axis=1)
        return lender

    def _approached(self) -> Floats:
        """Return each client's stack of its own model and the mean of all (N, d), by Newton's method."""
        clients = len(self.federation.clients)
        stacks = np.zeros((clients, self._size))
        everybody = Procedure(clients - 1, nearest=False, pulls=(1.0,), weights=(1.0,))
        for number in range(_EXPANSIONS):
            self.progress("learning from all", number, _EXPANSIONS)
            sums = self._moments(stacks[:, None]).whole
            found = StackView(sums, self.intercepts, NOISE).models(everybody)
            if not number:  # where all scores are zero, the curvature measures their squares
                scores = _FLAT * 2 * sums.gram / np.maximum(sums.rows, 1.0)[:, None, None]
            stacks = stacks + shortened(found - stacks, scores, _MAX_STEP)
        return stacks

    @cached_property
    def together(self) -> tuple[Floats, float]:
        """One model for all, the mean of all models scaled and shifted, on all rows and without each part."""
        clients = len(self.federation.clients)
        rows = np.array(self.rows, np.float64)
        columns = np.zeros((self._size, 1 + self.intercepts))
        columns[:clients, 0] = rows / max(rows.sum(), 1.0)
        columns[clients:, 1:] = np.eye(self.intercepts)
        found = []
        for view in self.lender.views:
            total = view.sums.total()
            gram = columns.T @ total.gram[0] @ columns + _RIDGE * np.eye(columns.shape[1])
            right = columns.T @ total.cross[0] + _RIDGE * np.eye(columns.shape[1])[0]
            found.append(columns @ np.linalg.solve(gram, right))
        return self.repeated(found), 0.0

    @property
    def own_penalties(self) -> Floats:
        """Zeros (N,): estimators have no penalty."""
        return np.zeros(len(self.federation.clients))

    @property
    def without_sums(self) -> str:
        """What clients have that trained nothing, in words."""
        return "the mean of all models (a site of a federation has none)"

    def _evaluation(self, place: int, metric: str, models: Floats, counted: Floats) -> EvaluateStacks:
        return EvaluateStacks(**self.about(place), metric=metric, parameters=models, counted=counted)
