"""A task with a torch module, on examples of any shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from torch import nn

from comity.client.examples import DatasetClient
from comity.core.progress import Progress
from comity.families.family import Request
from comity.families.network.fit import NetworkFit, Setup
from comity.families.network.training import Training
from comity.federation import InProcess
from comity.questions import Evaluation
from comity.research.baselines import Budget, Session
from comity.research.baselines.session import personal_pattern
from comity.research.experiments.baseline_run import BaselineRun
from comity.research.experiments.comity_run import COMITY_METHODS, ComityRun
from comity.research.experiments.task import Outcome
from comity.solving.findings import Findings, find
from comity.solving.modules import module_setup
from comity.study import Study


@dataclass(frozen=True, eq=False)
class ModuleTask:
    """Clients with training and test examples, and the module that all methods train.

    comity's models have a personal head, as in FedPer; `training` has the settings of their front. `rows` is a digest
    of the examples.
    """

    members: tuple[DatasetClient, ...]
    study: Study
    training: Training
    batch: int
    budget: Budget
    baselines: BaselineRun
    rows: str
    _kept: list[ComityRun] = field(default_factory=list, init=False, repr=False)

    def run(self, method: str, progress: Progress) -> Outcome:
        """Run a method."""
        if method not in COMITY_METHODS:
            return self.baselines.run(method, self._session, self._setup.problem.metric, progress)
        if not self._kept:
            self._kept.append(ComityRun.timed(lambda: self._solve(progress)))
        return self._kept[0].outcome(method, self.study.fine_tune)

    @cached_property
    def federation(self) -> InProcess:
        """The clients."""
        return InProcess(self.members)

    @property
    def module(self) -> nn.Module:
        """The module, which is the same for all clients."""
        return self.members[0].module

    def _solve(self, progress: Progress) -> tuple[Findings, Mapping[str, Evaluation]]:
        request = Request(self.federation, self.study, progress)
        findings = find(request, self._setup.problem, NetworkFit(request, self._setup))
        return findings, findings.evaluated.evaluations

    @cached_property
    def _setup(self) -> Setup:
        head = personal_pattern(self.module, "head")
        setup = module_setup(
            self.federation, self.study, self.module, personal=head, batch=self.batch, training=self.training
        )
        return replace(setup, recipe=replace(setup.recipe, judged=False))

    @cached_property
    def _session(self) -> Session:
        recipe = replace(self._setup.recipe, personal=None)
        return Session(self.federation, self.module, recipe, self._setup.problem.rows, self.budget)
