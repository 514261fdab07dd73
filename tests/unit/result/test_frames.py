"""A result as frames, a figure and a report."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import comity
from comity.core.kinds import ModelKind
from comity.errors import UnknownClientError
from support.small_tables import numbers


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(3.0, 2.0, size=(120, 2)), columns=["a", "b"])
    frame["kind"] = rng.choice(["x", "y"], size=120)
    frame["site"] = np.repeat(["North", "South", "West"], 40)
    sign = np.where(frame["site"] == "West", -1, 1)
    frame["y"] = 5 + sign * frame["a"] + frame["b"] + (frame["kind"] == "x") + rng.normal(size=120) * 0.3
    frame.loc[::9, "b"] = np.nan
    return frame


@pytest.fixture(scope="module")
def result(rows: pd.DataFrame) -> comity.Result:
    return comity.solve(rows, client="site", target="y")


def test_a_row_for_each_client(result: comity.Result) -> None:
    frame = result.to_frame()
    assert frame.index.tolist() == list(result.clients)
    for client, standing in result.utilities.items():
        row = frame.loc[client]
        assert [row[kind.value] for kind in ModelKind] == [getattr(standing, kind).value for kind in ModelKind]
        assert row["gain"] == pytest.approx(-standing.gain.value, nan_ok=True)
        if len(row["members"]) > 1:
            assert (row["gain_low"], row["gain_high"]) == pytest.approx((-standing.gain.high, -standing.gain.low))
            assert row["probability"] == standing.probability
        else:
            assert row[["gain_low", "gain_high", "probability"]].isna().all(), "nothing is estimated of who is alone"
        assert set(row["members"]) == result.equilibrium.coalition_of(client)
        assert {client, *row["collaborators"]} == result.graph.collaborators_of(client)


def test_a_row_for_each_edge_with_weights_also_for_networkx(result: comity.Result) -> None:
    frame = result.edges()
    pairs = list(zip(frame["giver"], frame["receiver"], strict=True))
    assert pairs == list(result.graph.edges())
    assert frame["resamples"].isna().all()
    assert frame["probability"][frame["contribution"].notna()].between(0, 1).all()
    graph = result.to_networkx()
    for (giver, receiver), weight in zip(pairs, frame["weight"], strict=True):
        assert result.weights_of(receiver, "best")[giver] == weight == graph.edges[giver, receiver]["weight"]


def test_edges_have_the_share_of_resamples_with_the_papers_search(rows: pd.DataFrame) -> None:
    result = comity.solve(rows, client="site", target="y", search="spo", repeats=1, judges=2, resamples=2)
    assert result.edges()["resamples"].between(0, 1).all()


def test_coefficients_predict_in_the_units_of_the_columns(result: comity.Result, rows: pd.DataFrame) -> None:
    table = result.coefficients("South", "alone")["y"]
    south = rows[rows["site"] == "South"]
    by_hand = table["(intercept)"] + table["a"] * south["a"] + table["b"] * south["b"].fillna(0)
    by_hand += table["b (missing)"] * south["b"].isna() + south["kind"].map(
        {"x": table["kind=x"], "y": table["kind=y"]}
    )
    predicted = result.predict(south, model="alone")["prediction"]
    np.testing.assert_allclose(by_hand, predicted, rtol=1e-9)


def test_rows_without_their_column_are_predicted_for_a_client(result: comity.Result, rows: pd.DataFrame) -> None:
    south = rows[rows["site"] == "South"]
    named = result.predict(south.drop(columns="site"), client="South")
    pd.testing.assert_frame_equal(named, result.predict(south))
    with pytest.raises(comity.InputError, match="'site' of the table names the client of each row; leave client out"):
        result.predict(south, client="West")
    with pytest.raises(comity.InputError, match="the rows to predict are a str; they must be a DataFrame"):
        result.predict("south.csv", client="South")


def test_it_is_summarised_drawn_and_reported(result: comity.Result, tmp_path: Path) -> None:
    assert "3 clients with 120 rows, to predict y" in result.summary()
    assert result.plot().axes
    result.report(tmp_path / "report.html")
    assert "<html" in (tmp_path / "report.html").read_text()


def test_bad_names(result: comity.Result) -> None:
    with pytest.raises(UnknownClientError, match="Nord"):
        result.coefficients("Nord")
    with pytest.raises(comity.InputError, match="there is no model 'mine'"):
        result.coefficients("North", "mine")


def test_the_consortium_in_numbers() -> None:
    """If these were wrong, an operator would promise members what they do not get."""
    result = comity.solve(numbers(), client="site", target="effect")
    gains = {name: -each.gain.value for name, each in result.utilities.items()}  # lower is better
    joined = {name for name in gains if len(result.equilibrium.coalition_of(name)) > 1}
    assert joined == {"North", "South"}
    assert result.share_better_off == sum(gain > 0 for gain in gains.values()) / len(gains)
    assert result.worst_off == min(joined, key=lambda name: gains[name]), "who is alone is no worse off"
    wrong = [1 - each.probability for each in result.contributions]
    assert result.expected_wrong_edges == pytest.approx(sum(wrong))
    assert 0 < result.expected_wrong_edges < len(wrong)
    unknown = tuple(replace(each, probability=np.nan) for each in result.contributions)
    assert np.isnan(replace(result, contributions=unknown).expected_wrong_edges)


def test_the_consortium_where_nobody_joins() -> None:
    alone = comity.solve(numbers(), client="site", target="effect", worth=1.0)
    assert (alone.share_better_off, alone.worst_off, alone.expected_wrong_edges) == (0.0, None, 0.0)
