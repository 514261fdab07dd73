"""The paper's experiment on eICU with borrowed strength: AUC on test stays, beside FedAvg's of the saved results."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.measure import show
from comity.core.kinds import ModelKind
from comity.research.experiments.eicu import task
from comity.research.experiments.experiment import Experiment

_SAVED = Path(__file__).parents[1] / "docs" / "results" / "eicu.json"


def main() -> None:
    if not os.environ.get("COMITY_DATA"):
        print("eICU is left out: set COMITY_DATA to the directory of its files", file=sys.stderr)
        return
    experiment = Experiment.load("eicu")
    kinds = list(ModelKind)
    found = []
    for seed in range(experiment.seeds):
        drawn = task(experiment, None, seed)
        drawn = replace(drawn, study=replace(drawn.study, search="borrow"))
        _, evaluations = drawn._solve(lambda stage, done, total: None)
        found.append([np.nanmean([each.values[at] for each in evaluations.values()]) for at in range(len(kinds))])
    saved = json.loads(_SAVED.read_text(encoding="utf-8"))
    means = {each["method"]: each["mean"] for each in saved["table"]}
    print(f"\neICU demo, mean AUC on test stays in per cent over {experiment.seeds} seeds")
    named = {kind: 100 * np.mean(found, axis=0)[at] for at, kind in enumerate(kinds)}
    rows = [[kind.value, f"{named[kind]:.1f}"] for kind in kinds]
    rows += [[f"{method} (saved)", f"{100 * means[method]:.1f}"] for method in ("local", "fedavg")]
    show(["model", "AUC"], rows)
