"""A made-up federation solved, and the true losses of models in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from comity.core.arrays import Floats
from comity.core.kinds import ModelKind
from comity.core.likelihood import predict_linear
from comity.core.tasks import MetricName, Task
from comity.deciding.borrow import Borrowed
from comity.families.family import Request, silent
from comity.families.glm.convex_front import ConvexFront
from comity.families.glm.estimation import OWN_PENALTIES, Classes, Regression
from comity.families.glm.quadratic_front import QuadraticFront
from comity.federation import InProcess
from comity.questions import Describe
from comity.questions.schema import Schema, agree
from comity.research.datasets.synthetic import TARGET, Synthetic
from comity.rows.encoding import encode
from comity.solving.findings import Findings, learn
from comity.study import Study

Given = TypeVar("Given")
Found = TypeVar("Found")
METRICS: dict[Task, MetricName] = {"regression": "rmse", "classes": "log-loss"}
# As a study of few clients has it with the paper's search, but one view only, that of all rows.
SPLIT = replace(Study(TARGET, search="spo").split(6), repeats=1, judges=0)


@dataclass(frozen=True)
class Solved:
    """A synthetic federation and what was found in it."""

    synthetic: Synthetic
    findings: Findings

    @classmethod
    def of(cls, synthetic: Synthetic, worth: float = 0.01) -> Solved:
        study = Study(TARGET, metric=METRICS[synthetic.task], seed=synthetic.seed, worth=worth)
        return cls(synthetic, learn(Request(InProcess(synthetic.clients()), study)))

    @property
    def decision(self) -> Borrowed:
        assert isinstance(self.findings.decision, Borrowed)
        return self.findings.decision

    @property
    def schema(self) -> Schema:
        return self.findings.problem.schema

    def true_losses(self, models: Floats, clients: Iterable[int] | None = None) -> Floats:
        return true_losses(self.synthetic, self.schema, models, clients)

    def losses(self, kind: ModelKind) -> Floats:
        """The true loss (N,) of each client with a kind of model."""
        return self.true_losses(self.findings.evaluated.models[kind])

    @property
    def joined(self) -> Floats:
        """Which clients are in a coalition with others (N,)."""
        return np.array([len(self.decision.equilibrium.coalition_of(each)) > 1 for each in self.decision.clients])

    @property
    def coalition(self) -> list[int]:
        """The number of each client's coalition."""
        found = list(self.decision.equilibrium.coalitions)
        return [found.index(self.decision.equilibrium.coalition_of(each)) for each in self.decision.clients]


@dataclass(frozen=True)
class Asked:
    """A federation that has agreed on a schema, for the paper's search."""

    synthetic: Synthetic
    federation: InProcess
    schema: Schema

    @classmethod
    def of(cls, synthetic: Synthetic) -> Asked:
        federation = InProcess(synthetic.clients())
        summaries = {client: answer.columns for client, answer in federation.ask(Describe(TARGET)).items()}
        return cls(synthetic, federation, agree(summaries, TARGET).schema)

    @property
    def convex(self) -> ConvexFront:
        return ConvexFront(self.federation, self.schema, SPLIT)

    def front(self) -> QuadraticFront:
        """The front of all rows, as `learn` has it: exact, or expanded where each client's search leads."""
        if self.synthetic.task == "classes":
            return Classes(self.convex, OWN_PENALTIES, silent).fronts()[0]
        return Regression(self.convex, silent).fronts()[0]


def true_losses(synthetic: Synthetic, schema: Schema, models: Floats, clients: Iterable[int] | None = None) -> Floats:
    """Return the expected loss of models (P, d), each of one client, on fresh rows."""
    rows = synthetic.test_rows()
    features = encode(rows, schema)
    return np.array(
        [
            synthetic.true_loss(
                client,
                rows,
                predict_linear(features, model, len(schema.target.classes), schema.target.mean, schema.target.scale),
            )
            for client, model in zip(range(len(models)) if clients is None else clients, models, strict=True)
        ]
    )


def in_parallel(function: Callable[[Given], Found], every: Iterable[Given]) -> list[Found]:
    """Return what a function finds for each, in as many processes as there are processors."""
    given = list(every)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(function, given, chunksize=max(1, min(8, len(given) // 8))))
