"""A comparison: the leaderboard, its caveats, and the public function."""

import json
from dataclasses import replace
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import comity
from comity.client import Client
from comity.errors import InputError
from comity.research.experiments.cells import Cell
from comity.research.experiments.comparison import Comparison, ComparisonSettings
from comity.research.experiments.table_task import divide
from comity.study import Study
from support.small_tables import numbers


def few_rows(**tests: int) -> list[str]:
    remarks = Comparison("auc", (), test_rows=tests).remarks()
    return [remark for remark in remarks if remark.startswith("Few test rows")]


def test_clients_with_few_test_rows_are_named_the_fewest_first() -> None:
    """Otherwise the value of the worst client would seem to be due to the method, and not to chance."""
    assert few_rows(North=50, South=400) == []
    assert "per seed: West (8) and North (49). The" in few_rows(North=49, West=8, South=50)[0]
    many = {f"c{number}": number for number in range(10, 17)}
    assert "c10 (10), c11 (11), c12 (12), c13 (13), c14 (14) and 2 others. The" in few_rows(**many)[0]


def test_test_rows_are_counted_as_they_are_divided() -> None:
    """A class with fewer rows than parts is not tested at all."""
    many = pd.DataFrame({"x": range(249), "y": ["a", "b", "b"] * 83})
    rare = pd.DataFrame({"x": range(100), "y": [*"a" * 40, *np.repeat(list("bcdefghijklmnop"), 4)]})
    clients = (Client("many", many), Client("rare", rare))
    divided = divide(clients, "y", 5, 3)
    expected = {client.name: len(client.test) for client in divided}
    assert ComparisonSettings().test_rows(clients, Study("y", seed=3)) == expected
    assert expected["rare"] == 8


def test_clients_without_a_value_are_named_unless_the_method_did_not_train() -> None:
    """Otherwise the mean would seem to be over all clients."""
    cells = (
        Cell("local", 0, {"a": 0.7, "b": nan}, {}, 1.0, ""),
        Cell("local", 1, {"a": 0.7, "b": 0.5}, {}, 1.0, ""),
        Cell("fedavg", 0, {"a": nan, "b": nan}, {}, 1.0, ""),
    )
    comparison = Comparison("auc", cells)
    (remark,) = (remark for remark in comparison.remarks() if remark.startswith("The auc of"))
    assert remark.endswith("left out of the means: b.")
    assert remark in json.loads(comparison.to_json())["remarks"]
    assert not any(remark.startswith("The auc of") for remark in Comparison("auc", cells[1:]).remarks())


def test_methods_without_a_seed_in_common_are_not_compared() -> None:
    local, ce = Cell("local", 0, {"a": 0.5}, {}, 1.0, ""), Cell("ce", 1, {"a": 0.6}, {}, 1.0, "")
    (remark,) = (each for each in Comparison("auc", (local, ce)).remarks() if each.startswith("Methods have"))
    assert "none in common" in remark
    same = Comparison("auc", (local, replace(ce, seed=0))).remarks()
    assert not any(each.startswith("Methods have") for each in same)


def test_the_reason_why_a_method_did_not_train_is_reported() -> None:
    details = {"failed": "the loss is not finite; take a lower rate"}
    cells = [Cell("fedavg", seed, {"a": nan}, {}, 1.0, "", details=details) for seed in (3, 4)]
    remarks = Comparison("auc", tuple(cells)).remarks()
    assert "fedavg did not train with seed 3: the loss is not finite; take a lower rate." in remarks
    assert not any("seed 4" in each for each in remarks)


def test_rates_at_the_ends_are_reported_if_they_are_most() -> None:
    cells = tuple(
        Cell("local", seed, {"a": 0.5}, {}, 1.0, "", settings={"rate": rate})
        for seed, rate in enumerate((0.01, 0.05, 0.2, 0.05))
    )

    def at_the_ends(*rates: float, count: int) -> list[str]:
        remarks = Comparison("auc", cells[:count], rates=rates).remarks()
        return [each for each in remarks if "best rate" in each]

    assert at_the_ends(0.01, 0.05, 0.2, count=4) == [], "half of the cases may be chance"
    assert "In 2 of 3 cases the best rate was the lowest" in at_the_ends(0.01, 0.05, 0.2, count=3)[0]
    assert at_the_ends(0.01, count=1) == [], "there was nothing to choose"


@pytest.mark.parametrize(("metric", "best"), [("auc", "ce"), ("rmse", "local")])
def test_the_leaderboard_has_the_best_method_first(metric: str, best: str) -> None:
    local = [Cell("local", seed, {"a": 0.5, "b": 0.6 + seed / 10}, {}, 1.0, "") for seed in (0, 1)]
    ce = [Cell("ce", 0, {"a": 0.8, "b": 0.6}, {"a": 0.6, "b": 0.7}, 3.0, "")]
    failed = [Cell("fedavg", 0, {"a": nan, "b": nan}, {}, 1.0, "")]
    cells = (*local, *failed, *ce)
    comparison = Comparison(metric, cells)
    frame = comparison.to_frame()
    assert frame.index.name == "method"
    assert frame.index[0] == best
    assert frame.index[-1] == "fedavg", "a method without a value is the last"
    sign = 1 if metric == "auc" else -1
    assert frame.loc["ce", "mean"] == pytest.approx(0.7)
    assert frame.loc["ce", "gain"] == pytest.approx(sign * 0.05)
    assert frame.loc["ce", ["no_worse", "seeds", "seconds"]].tolist() == [0.5, 1, 3.0]
    assert np.isnan(frame.loc["ce", "spread"]), "one seed has no spread"
    assert frame.loc["local", ["gain", "no_worse"]].tolist() == [0.0, 1.0]
    assert frame.loc["local", "spread"] == pytest.approx(0.05 / np.sqrt(2))
    assert frame.loc["fedavg", "seeds"] == 0
    assert repr(comparison).startswith(f"{metric} on test rows (")
    assert all(method in repr(comparison) for method in frame.index)


QUICK = {"target": "effect", "methods": ["spo", "local"], "seeds": 1, "rounds": 4, "local_steps": 2, "rates": [0.05]}


def test_compare_gives_the_same_for_a_table_and_for_clients_and_keeps_its_cells(tmp_path: Path) -> None:
    table = numbers(rows=60)
    stages: list[str] = []
    kept = comity.compare(
        table, client="site", out=tmp_path / "kept", progress=lambda stage, *_: stages.append(stage), **QUICK
    )
    clients = tuple(Client(str(name), rows.drop(columns="site")) for name, rows in table.groupby("site"))
    other = comity.compare(comity.InProcess(clients), **QUICK)
    pd.testing.assert_frame_equal(kept.to_frame().drop(columns="seconds"), other.to_frame().drop(columns="seconds"))
    assert set(kept.to_frame().index) == {"local", "spo"}
    assert any("local" in stage for stage in stages)
    assert len(list((tmp_path / "kept" / "cells").iterdir())) == 2
    stages.clear()
    again = comity.compare(
        table, client="site", out=tmp_path / "kept", progress=lambda stage, *_: stages.append(stage), **QUICK
    )
    assert stages == [], "nothing is run twice"
    pd.testing.assert_frame_equal(again.to_frame(), kept.to_frame())


def test_compare_warns_of_columns_that_are_left_out() -> None:
    table = numbers(rows=60).assign(number=range(180))
    with pytest.warns(comity.ComityWarning, match="'number'"):
        comity.compare(table, client="site", progress=True, **QUICK | {"methods": ["local"]})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"methods": ["fedavgg"]}, "there is no method 'fedavgg'; did you mean"),
        ({"seeds": "x"}, "seeds is 'x'; it must be a whole number, 1 or more"),
        ({"rates": 0.1}, "rates is 0.1; it must be a list of rates"),
        ({"methods": "fedavg"}, "methods is 'fedavg'; it must be a list of names of methods"),
        ({"modle": "linear"}, "there is no setting 'modle'.*did you mean 'model'"),
        ({"seeds": 0}, "seeds is 0; it must be a whole number, 1 or more"),
        ({"rates": []}, "rates is .*; it must be a list of rates, each a number, more than 0"),
        ({"without": ["North", "South"]}, "there is only one client"),
    ],
)
def test_compare_refuses_wrong_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        comity.compare(numbers(rows=60), client="site", **QUICK | settings)
    with pytest.raises(InputError, match="give tables, or an InProcess of Clients"):
        comity.compare(comity.InProcess((StandIn(),)), target="y")


class StandIn:
    """A client without rows in this process."""

    name = "far"

    def answer(self, question: object) -> Any:
        raise NotImplementedError
