"""Table 2: UCI Adult, people with a doctorate and all others."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from comity.baselines import Budget
from comity.client import Client
from comity.datasets import adult
from comity.experiments.baseline_run import BaselineRun
from comity.experiments.experiment import Experiment
from comity.experiments.ours import OURS
from comity.experiments.running import Outcome, Tell
from comity.experiments.tables import FEWEST_JUDGES, TableTask
from comity.federation import InProcess
from comity.fitting import OWN_PENALTIES
from comity.learn import agree_on
from comity.questions import FitAlone
from comity.study import Study

BY_FOLDS, ANY_GAIN = "-folds", "-any"


@dataclass(frozen=True, eq=False)
class AdultTask:
    """The two clients; exact models have one penalty for all, or, where a method's name ends so, each its own.

    Then a gain within its error is none; or, where the name says so, any gain counts, as in the paper.
    """

    own: TableTask

    @property
    def rows(self) -> str:
        """A digest of whose rows train and test."""
        return self.own.rows

    @cached_property
    def common(self) -> TableTask:
        """The task with one penalty for all exact models, chosen by rows to train with."""
        penalty, _ = self._chosen
        return replace(self.own, study=replace(self.own.study, penalty=penalty))

    @cached_property
    def any_gain(self) -> TableTask:
        """The task in which clients want whoever makes their folds' loss smallest, if that may be chance or not."""
        return replace(self.own, study=replace(self.own.study, confidence=0.0))

    @cached_property
    def _chosen(self) -> tuple[float, float]:
        """The penalty for all, and how many seconds it took to choose it."""
        began = time.perf_counter()
        return penalty_of_largest(self.own.clients, self.own.study), time.perf_counter() - began

    def run(self, method: str, tell: Tell) -> Outcome:
        """Run a method, with penalties by folds if its name ends so, and any gain a reason if it says that."""
        if method.endswith(BY_FOLDS):
            return self.own.run(method.removesuffix(BY_FOLDS), tell)
        if method.endswith(ANY_GAIN):
            return self.any_gain.run(method.removesuffix(ANY_GAIN), tell)
        if method not in OURS:
            return self.own.run(method, tell)
        found, (penalty, seconds) = self.common.run(method, tell), self._chosen
        return replace(found, settings={**found.settings, "penalty": penalty}, seconds=(found.seconds or 0.0) + seconds)


def penalty_of_largest(clients: tuple[Client, ...], study: Study) -> float:
    """Return the penalty that its folds choose for the model of the client with the most rows, alone."""
    federation = InProcess(clients)
    rows, agreement, _ = agree_on(federation, study)
    largest = max(rows, key=lambda client: rows[client])
    split = replace(study.split(len(clients)), judges=FEWEST_JUDGES)
    question = FitAlone(agreement.schema.to_json(), split.to_json(), OWN_PENALTIES)
    return float(federation.ask({largest: question})[largest].penalties[0])


def task(experiment: Experiment, directory: str | Path | None, seed: int) -> AdultTask:
    """Return the task of a seed: the rows are the same, what is drawn on the way is not."""
    data, settings = adult.load(directory), experiment.settings
    clients = tuple(
        Client(
            name,
            data.train[data.train["client"] == name].drop(columns="client"),
            test=data.test[data.test["client"] == name].drop(columns="client"),
        )
        for name in ("non-PhD", "PhD")
    )
    study = Study(adult.TARGET, metric="accuracy", seed=seed)
    budget = Budget(settings["rounds"], settings["steps"])
    baselines = BaselineRun(tuple(settings["rates"]), settings["again"], settings["methods"])
    return AdultTask(TableTask(clients, study, budget, baselines))
