"""Methods compared with a torch module on examples of any shape."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from torch import nn

from comity.baselines import Session
from comity.baselines.session import personal_pattern
from comity.client.examples import DatasetClient
from comity.experiments.baseline_run import BaselineRun
from comity.experiments.ours import OURS, outcome_of
from comity.experiments.running import Outcome, Tell
from comity.federation import InProcess
from comity.fronts.hypernetwork import Training
from comity.learn import Learned
from comity.learn_networks import Setup, learn_networks
from comity.solving_modules import setup_of
from comity.study import Study


@dataclass(frozen=True, eq=False)
class ModuleTask:
    """Clients with examples to train with and to test with, and the module that all methods train.

    The head of the module is personal in our models, as in FedPer: `training` says how their front is trained. `rows`
    is a digest of the examples.
    """

    federation: InProcess
    module: nn.Module
    study: Study
    training: Training
    batch: int
    session: Session
    baselines: BaselineRun
    rows: str
    _kept: list[Learned] = field(default_factory=list, init=False, repr=False)

    @classmethod
    def of(
        cls, members: tuple[DatasetClient, ...], study: Study, training: Training, baselines: BaselineRun, **other: Any
    ) -> ModuleTask:
        """Return the task of some clients, who all have the same module."""
        budget, batch, rows = other["budget"], other["batch"], other["rows"]
        federation, module = InProcess(members), members[0].module
        setup = setup_of(federation, study, module, batch=batch, training=training)
        session = Session(federation, module, replace(setup.recipe, judged=False), setup.rows, budget)
        return cls(federation, module, study, training, batch, session, baselines, rows)

    def run(self, method: str, before: dict[str, Any], tell: Tell) -> Outcome:
        """Run a method."""
        if method not in OURS:
            return self.baselines.run(method, self.session, self._setup.metric, before, tell)
        if not self._kept:
            self._kept.append(learn_networks(self.federation, self.study, self._setup, tell))
        return outcome_of(self._kept[0], self._kept[0].evaluations, OURS[method])

    @cached_property
    def _setup(self) -> Setup:
        head = personal_pattern(self.module, "head")
        setup = setup_of(
            self.federation, self.study, self.module, personal=head, batch=self.batch, training=self.training
        )
        return replace(setup, recipe=replace(setup.recipe, judged=False))
