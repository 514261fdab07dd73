"""Table 2: UCI Adult, people with a doctorate and all others."""

from __future__ import annotations

from pathlib import Path

from comity.baselines import Budget
from comity.client import Client
from comity.datasets import adult
from comity.experiments.baseline_run import BaselineRun
from comity.experiments.experiment import Experiment
from comity.experiments.tables import TableTask
from comity.study import Study


def task(experiment: Experiment, directory: str | Path | None, seed: int) -> TableTask:
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
    study = Study(adult.TARGET, metric="accuracy", penalty=settings["penalty"], judges=settings["judges"], seed=seed)
    return TableTask(
        clients,
        study,
        Budget(settings["rounds"], settings["steps"]),
        BaselineRun(tuple(settings["rates"]), settings["again"], settings["methods"]),
    )
