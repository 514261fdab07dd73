"""Table 4: deaths in hospital after intensive care, for hospitals or groups of them."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from comity.baselines import Budget
from comity.client import Client
from comity.datasets import eicu
from comity.datasets.published import VARIABLE
from comity.errors import InputError
from comity.experiments.baseline_run import BaselineRun
from comity.experiments.experiment import Experiment
from comity.experiments.tables import TableTask
from comity.study import Study


def task(experiment: Experiment, directory: str | Path | None, seed: int) -> TableTask:
    """Return the task of a seed, which is the part of every client's stays to test with."""
    settings = experiment.settings
    data = _load(directory or os.environ.get(VARIABLE), settings["hours"], settings["shortest"])
    parts = settings["parts"]
    train, test = data.split(seed // parts, parts, seed % parts)
    clients = tuple(
        Client(
            str(name),
            frame.drop(columns=eicu.CLIENT),
            test=test[test[eicu.CLIENT] == name].drop(columns=eicu.CLIENT),
        )
        for name, frame in train.groupby(eicu.CLIENT, observed=True)
    )
    study = Study(eicu.TARGET, task="classes", metric="auc", seed=seed)
    budget = Budget(settings["rounds"], settings["steps"])
    baselines = BaselineRun(tuple(settings["rates"]), settings["again"], settings["methods"])
    return TableTask(clients, study, budget, baselines, (*data.notes, _sizes(data)))


@lru_cache(maxsize=1)  # seeds have the same stays
def _load(directory: str | Path | None, hours: float, shortest: float) -> eicu.Eicu:
    """Return single hospitals where there are such of the paper's sizes, and hospitals taken together otherwise."""
    try:
        return eicu.load(directory, by="hospital", hours=hours, shortest=shortest)
    except InputError as error:  # if it is the files that are wrong, they are so in the other way too
        data = eicu.load(directory, by="region and size", hours=hours, shortest=shortest)
        reason = str(error).partition(";")[0]  # what follows is what was done
        return replace(data, notes=(f"hospitals are taken together by region and size: {reason}", *data.notes))


def _sizes(data: eicu.Eicu) -> str:
    """Say how many stays and deaths each client has."""
    told = data.table.groupby(eicu.CLIENT)[eicu.TARGET].agg(["size", "sum"])
    each = (f"{name} {stays:,} and {deaths:,}" for name, stays, deaths in told.itertuples())
    return f"stays and deaths: {', '.join(each)}"
