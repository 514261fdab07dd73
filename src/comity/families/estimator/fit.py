"""Estimators of a federation: the clients' own models, and stacks of them for every decision."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, final

import numpy as np

from comity.core.kinds import ModelKind
from comity.deciding.borrow import Borrowed
from comity.deciding.decision import Decision
from comity.deciding.searcher import Searcher
from comity.errors import InputError
from comity.families.estimator.asking import BorrowingOfEstimators
from comity.families.family import Evaluated, Fit, Request
from comity.families.glm.borrowing import Borrowing
from comity.families.glm.fit import evaluate_expected
from comity.families.problem import Problem
from comity.questions import Evaluation, Split, TestStacks


@final
@dataclass(frozen=True, eq=False)
class EstimatorFit(Fit):
    """Estimators of one federation; `estimator` is the file of what clients train."""

    request: Request
    problem: Problem
    estimator: bytes
    training: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def split(self) -> Split:  # type: ignore[override]
        """How rows are split."""
        return self.request.study.split(len(self.request.federation.clients))

    @cached_property
    def _asking(self) -> BorrowingOfEstimators:
        request, problem = self.request, self.problem
        rows = tuple(problem.rows[client] for client in request.federation.clients)
        return BorrowingOfEstimators(
            request.federation, problem.schema, self.split, request.progress, self.estimator, rows
        )

    def lender(self) -> Borrowing:
        """Ask for the clients' own models and how they do on each other's rows."""
        return self._asking.lender

    def evaluate_borrowed(self, decision: Borrowed) -> Evaluated:
        """Return the stacks of a decision, how well they can be expected to do, and the models that they weigh."""
        found = evaluate_expected(self._asking, self.problem.metric, decision)
        none = np.zeros(len(self.request.federation.clients))
        return replace(found, penalties=dict.fromkeys(ModelKind, none), files=self._asking.files)

    def test(self, evaluated: Evaluated) -> Mapping[str, Evaluation]:
        """Evaluate stacks on the rows that clients keep for testing."""
        stacks = np.stack([evaluated.models[kind] for kind in ModelKind], axis=1)
        return self.request.federation.ask(
            {
                client: TestStacks(**self._asking.about(place), metric=self.problem.metric, parameters=stacks[place])
                for place, client in enumerate(self.request.federation.clients)
            }
        )

    def searchers(self) -> Sequence[Searcher]:
        """Refuse: estimators have no front."""
        raise InputError("these models have no Pareto front; take the search 'borrow'")

    def evaluate(self, decisions: Sequence[Decision]) -> Evaluated:
        """Refuse: estimators have no front."""
        raise InputError("these models have no Pareto front; take the search 'borrow'")
