"""What every family of models must do: decide, evaluate, save, load, verify, predict and report, the same each time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import comity
from comity.core.kinds import ModelKind
from comity.core.metrics import METRICS
from comity.families.registry import FAMILIES, NAMES
from support.stacks import crossed

SMALL: dict[str, dict[str, Any]] = {"mlp": {"width": 4, "steps": 20, "local_steps": 10}}


@pytest.fixture(scope="module", params=[(name, classes) for name in NAMES for classes in (0, 2, 3)], ids=str)
def solved(request: pytest.FixtureRequest) -> tuple[comity.Result, pd.DataFrame, dict[str, Any]]:
    name, classes = request.param
    frame = crossed(rows=60, classes=classes)
    settings = {"client": "client", "target": "y", "model": name, "seed": 1, **SMALL.get(name, {})}
    return comity.solve(frame, **settings), frame, settings


@pytest.mark.filterwarnings("ignore::comity.ComityWarning")
def test_a_result_is_whole(solved: tuple[comity.Result, pd.DataFrame, dict[str, Any]]) -> None:
    result, frame, _ = solved
    metric = METRICS[result.metric]
    assert sorted(name for each in result.coalitions for name in each) == sorted(frame["client"].unique())
    for name, standing in result.utilities.items():
        for value in (standing.alone.value, standing.coalition.value, standing.best.value, standing.together.value):
            assert metric.least <= value <= metric.most
        assert set(result.weights_of(name)) <= result.equilibrium.coalition_of(name)
    for kind in ModelKind:
        np.testing.assert_allclose(result.weights[kind].sum(axis=1), 1.0)


def test_saved_loaded_and_verified_it_predicts_and_reports_the_same(
    solved: tuple[comity.Result, pd.DataFrame, dict[str, Any]], tmp_path: Path
) -> None:
    result, frame, settings = solved
    result.save(tmp_path / "run")
    comity.verify(tmp_path / "run")
    again, rows = comity.Result.load(tmp_path / "run"), frame.groupby("client").head(3)
    for kind in ModelKind:
        found = result.predict(rows, model=kind)
        chances = found[[name for name in found if name.startswith("p_")]]
        if not chances.empty:
            np.testing.assert_allclose(chances.sum(axis=1), 1.0, atol=1e-6)
        compared = again.predict(rows, model=kind)
        pd.testing.assert_frame_equal(compared, found, rtol=1e-5)
    result.report(tmp_path / "report.html")
    family = FAMILIES[settings["model"]]
    assert family.describe(result.study, result.schema) in (tmp_path / "report.html").read_text()


@pytest.mark.filterwarnings("ignore::comity.ComityWarning")
def test_the_same_seed_gives_the_same_result(solved: tuple[comity.Result, pd.DataFrame, dict[str, Any]]) -> None:
    result, frame, settings = solved
    again = comity.solve(frame, **settings)
    assert again.to_dict() == result.to_dict()
    assert again.files == result.files
    for kind in ModelKind:
        np.testing.assert_array_equal(again.models[kind], result.models[kind])
