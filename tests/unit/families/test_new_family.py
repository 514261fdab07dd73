"""A kind of model that comity does not have: one class and one line in the registry."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

import comity
from comity.families.family import Family, Fit, Request
from comity.families.glm.fit import LinearFit
from comity.families.problem import Problem
from comity.families.registry import FAMILIES
from comity.questions.schema import Schema
from comity.report import write_report
from comity.study import Study


@dataclass(frozen=True)
class Constant(Family):
    """Predicts every row by one number: the mean over the rows of those who train together."""

    settings: ClassVar[frozenset[str]] = frozenset({"client", "judges", "repeats"})
    min_folds: ClassVar[int] = 2
    tabular: ClassVar[bool] = True
    exact: ClassVar[bool] = True
    resumes: ClassVar[bool] = False
    model_file: ClassVar[str] = "models.npz"

    def questions(self, study: Study, *, classes: bool) -> tuple[str, ...]:
        return ("describe", "moments", "evaluate")

    def fit(self, request: Request, problem: Problem) -> Fit:
        return LinearFit(request, replace(problem, schema=replace(problem.schema, columns=())))

    def for_testing(self, study: Study) -> Study:
        return study

    def size(self, study: Study, schema: Schema) -> int:
        return 1

    def predict(self, study: Study, schema: Schema, features: np.ndarray, model: np.ndarray) -> np.ndarray:
        return np.full(len(features), model[0] * schema.target.scale + schema.target.mean)

    def describe(self, study: Study, schema: Schema) -> str:
        return "one number for every row"

    def loss_unit(self, schema: Schema) -> str:
        return "squared distance from one number"

    def coefficients(self, schema: Schema, model: np.ndarray) -> None: ...


def test_a_new_family_solves_saves_predicts_and_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FAMILIES, "constant", Constant())
    rng = np.random.default_rng(0)
    site = np.repeat(["North", "South", "West"], 40)
    rows = pd.DataFrame({"site": site, "x": rng.normal(size=120)})
    rows["y"] = np.where(site == "West", 9.0, 1.0) + rng.normal(size=120)
    result = comity.solve(rows, client="site", target="y", model="constant", folds=2, judges=2, repeats=1)
    assert frozenset({"West"}) in result.coalitions, "no other has its mean"
    result.save(tmp_path / "run")
    loaded = comity.verify(tmp_path / "run")
    predicted = loaded.predict(rows)
    assert predicted.groupby("client")["prediction"].nunique().eq(1).all()
    expected = rows.groupby("site")["y"].mean()
    assert predicted.groupby("client")["prediction"].first()["West"] == pytest.approx(expected["West"], abs=0.2)
    write_report(loaded, tmp_path / "report.html")
    assert "one number for every row" in (tmp_path / "report.html").read_text()
    with pytest.raises(comity.InputError, match="width has no effect on the model 'constant'"):
        comity.solve(rows, client="site", target="y", model="constant", width=3)
