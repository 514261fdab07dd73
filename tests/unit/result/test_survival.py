"""Survival by each client's own baseline hazard."""

import warnings

import numpy as np
import pandas as pd
import pytest
from statsmodels.duration.hazard_regression import PHReg

import comity
from comity.core.cox import Baseline
from support.small_tables import survival


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return survival(rows=60)


@pytest.fixture(scope="module")
def result(rows: pd.DataFrame) -> comity.Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return comity.solve(rows, client="site", task="survival", time="days", event="died")


def test_the_baseline_hazard_is_that_of_statsmodels() -> None:
    rng = np.random.default_rng(0)
    x, times = rng.normal(size=(80, 2)), 9 * rng.exponential(size=80)
    died = rng.uniform(size=80) < 0.6
    theirs = PHReg(times, x, status=died, ties="breslow")
    fitted = theirs.fit(disp=0)
    at, hazard, _ = theirs.baseline_cumulative_hazard(fitted.params)[0]
    ours = Baseline.of(np.exp(x @ fitted.params), np.where(died, times, -times))
    for time, expected in zip(at, hazard, strict=True):  # theirs is that just before each time
        assert -np.log(ours.survival(np.ones(1), time * (1 - 1e-9)))[0] == pytest.approx(expected, rel=1e-9)
    tied = Baseline.of(np.array([1.0, 1.0, 2.0]), np.array([3.0, 3.0, -3.0]))
    assert tied.hazard.tolist() == [0.5], "both events have all three at risk"


def test_survival_falls_with_time_and_risk_and_is_each_clients_own(result: comity.Result, rows: pd.DataFrame) -> None:
    found = result.predict(rows, at=(20, 60), baseline=rows)
    assert (found["survival_60"] <= found["survival_20"]).all()
    assert found[["survival_20", "survival_60"]].stack().between(0, 1).all()
    for _, here in found.groupby("client"):
        order = here.sort_values("prediction")["survival_20"]
        assert (order.diff().dropna() <= 0).all()
    north = rows[rows["site"] == "North"]
    own = result.predict(north, at=(20,), baseline=north)
    np.testing.assert_array_equal(own["survival_20"], found["survival_20"][found["client"] == "North"])
    seen = 1 - ((rows["days"] <= 20) & (rows["died"] == 1)).mean()
    assert found["survival_20"].mean() == pytest.approx(seen, abs=0.1), "about the share that is seen to survive"


def test_what_cannot_be_known_is_missing_and_said(result: comity.Result, rows: pd.DataFrame) -> None:
    alive = rows.assign(died=np.where(rows["site"] == "South", 0, rows["died"]))
    with pytest.warns(comity.ComityWarning, match="no row with an event of client 'South' was followed"):
        found = result.predict(rows, at=(20,), baseline=alive)
    assert found["survival_20"].isna().groupby(found["client"]).all().to_dict()["South"]
    assert found["survival_20"][found["client"] == "North"].notna().all()
    with pytest.warns(comity.ComityWarning, match="was followed for so long"):
        assert result.predict(rows, at=(1e6,), baseline=rows)["survival_1e+06"].isna().all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"at": (20,)}, "survival follows from rows that were followed; give them with baseline"),
        ({"at": (0,), "baseline": "rows"}, "a time of at is 0; it must be a finite number of more than 0"),
        ({"at": (20,), "baseline": "untimed"}, "there is no column 'days' in the rows of baseline"),
    ],
)
def test_bad_times_and_tables_are_refused(
    options: dict[str, object], message: str, result: comity.Result, rows: pd.DataFrame
) -> None:
    frames = {"rows": rows, "untimed": rows.drop(columns="days")}
    given = {name: frames[value] if isinstance(value, str) else value for name, value in options.items()}
    with pytest.raises(comity.InputError, match=message):
        result.predict(rows, **given)


def test_other_tasks_have_no_survival(rows: pd.DataFrame) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = comity.solve(rows, client="site", target="died")
    with pytest.raises(comity.InputError, match="these models predict 'died' and no survival; leave at out"):
        other.predict(rows, at=(20,), baseline=rows)
