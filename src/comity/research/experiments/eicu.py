"""Table 4: eICU, deaths in hospital after intensive care; clients are hospitals or groups of them."""

import os
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from comity.errors import InputError
from comity.research.baselines import Budget
from comity.research.datasets import eicu
from comity.research.datasets.published import VARIABLE
from comity.research.experiments.experiment import Experiment
from comity.research.experiments.methods import BaselineRun
from comity.research.experiments.table_task import TableTask, clients_by
from comity.study import Study


def task(experiment: Experiment, directory: str | Path | None, seed: int) -> TableTask:
    """Return the task of a seed, which determines the test stays of every client."""
    settings = experiment.settings
    data = _load(directory or os.environ.get(VARIABLE), settings["hours"], settings["min_hours"])
    parts = settings["parts"]
    train, test = data.split(seed // parts, parts, seed % parts)
    clients = clients_by(eicu.CLIENT, sorted(train[eicu.CLIENT].unique()), train, test)
    study = Study(eicu.TARGET, task="classes", metric="auc", search="spo", seed=seed)
    budget = Budget(settings["rounds"], settings["steps"])
    baselines = BaselineRun(tuple(settings["rates"]), settings["refit"], settings["methods"])
    counts = data.table.groupby(eicu.CLIENT)[eicu.TARGET].agg(["size", "sum"])
    sizes = ", ".join(f"{name} {stays:,} and {deaths:,}" for name, stays, deaths in counts.itertuples())
    return TableTask(clients, study, budget, baselines, (*data.notes, f"stays and deaths: {sizes}"))


@lru_cache(maxsize=1)  # all seeds have the same stays
def _load(directory: str | Path | None, hours: float, min_hours: float) -> eicu.Eicu:
    """Return single hospitals if there are some of the paper's sizes, and groups of hospitals otherwise."""
    try:
        return eicu.load(directory, by="hospital", hours=hours, min_hours=min_hours)
    except InputError as error:  # if the files are at fault, the next line raises the error again
        data = eicu.load(directory, by="region and size", hours=hours, min_hours=min_hours)
        reason = str(error).partition(";")[0]  # the rest of the message says what to do
        return replace(data, notes=(f"hospitals are grouped by region and size, because {reason}", *data.notes))
