"""Table 2: UCI Adult, people with a doctorate and all others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from comity.baselines import Budget
from comity.client import Client
from comity.datasets import adult
from comity.experiments.baseline_run import BaselineRun
from comity.experiments.experiment import Experiment
from comity.experiments.running import Outcome, Tell
from comity.experiments.tables import TableTask
from comity.study import Study

BY_FOLDS = "-folds"


@dataclass(frozen=True, eq=False)
class AdultTask:
    """The two clients, with one penalty for all exact models, and with penalties that the folds choose."""

    fixed: TableTask
    chosen: TableTask

    @property
    def rows(self) -> str:
        """A digest of whose rows train and test."""
        return self.fixed.rows

    def run(self, method: str, before: dict[str, Any], tell: Tell) -> Outcome:
        """Run a method, with penalties by folds if its name ends so."""
        if method.endswith(BY_FOLDS):
            return self.chosen.run(method.removesuffix(BY_FOLDS), before, tell)
        return self.fixed.run(method, before, tell)


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
    study = Study(adult.TARGET, metric="accuracy", judges=settings["judges"], seed=seed)
    budget = Budget(settings["rounds"], settings["steps"])
    baselines = BaselineRun(tuple(settings["rates"]), settings["again"], settings["methods"])
    return AdultTask(
        TableTask(clients, replace(study, penalty=settings["penalty"]), budget, baselines),
        TableTask(clients, study, budget, baselines),
    )
