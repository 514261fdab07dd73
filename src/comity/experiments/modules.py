"""Methods compared with a torch module on examples of any shape."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

from torch import nn

from comity.baselines import Budget, Session
from comity.baselines.session import personal_pattern
from comity.client.examples import DatasetClient
from comity.experiments.baseline_run import BaselineRun
from comity.experiments.ours import OURS, Ours, outcome_of
from comity.experiments.running import Outcome, Tell
from comity.federation import InProcess
from comity.fronts.hypernetwork import Training
from comity.learn import Learned
from comity.learn_networks import Setup, learn_networks
from comity.questions import Evaluation
from comity.solving_modules import setup_of
from comity.study import Study


@dataclass(frozen=True, eq=False)
class ModuleTask:
    """Clients with examples to train with and to test with, and the module that all methods train.

    The head of the module is personal in our models, as in FedPer: `training` says how their front is trained. `rows`
    is a digest of the examples.
    """

    members: tuple[DatasetClient, ...]
    study: Study
    training: Training
    batch: int
    budget: Budget
    baselines: BaselineRun
    rows: str
    _kept: list[Ours] = field(default_factory=list, init=False, repr=False)

    def run(self, method: str, tell: Tell) -> Outcome:
        """Run a method."""
        if method not in OURS:
            return self.baselines.run(method, self._session, self._setup.metric, tell)
        if not self._kept:
            self._kept.append(Ours.timed(lambda: self._learned(tell)))
        return outcome_of(self._kept[0], OURS[method], self.study.fine_tune)

    @cached_property
    def federation(self) -> InProcess:
        """The clients."""
        return InProcess(self.members)

    @property
    def module(self) -> nn.Module:
        """The module, which all clients have."""
        return self.members[0].module

    def _learned(self, tell: Tell) -> tuple[Learned, dict[str, Evaluation]]:
        learned = learn_networks(self.federation, self.study, self._setup, tell)
        return learned, learned.evaluations

    @cached_property
    def _setup(self) -> Setup:
        head = personal_pattern(self.module, "head")
        setup = setup_of(
            self.federation, self.study, self.module, personal=head, batch=self.batch, training=self.training
        )
        return replace(setup, recipe=replace(setup.recipe, judged=False))

    @cached_property
    def _session(self) -> Session:
        recipe = replace(self._setup.recipe, personal=None)
        return Session(self.federation, self.module, recipe, self._setup.rows, self.budget)
