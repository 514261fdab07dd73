"""What is said of a comparison beside its values."""

import json
from dataclasses import replace
from math import nan

import numpy as np
import pandas as pd

from comity.client import Client
from comity.experiments.cells import Cell
from comity.experiments.comparing import Compared, Comparison
from comity.experiments.tables import divide
from comity.study import Study


def caution(**tests: int) -> list[str]:
    return [told for told in Compared("auc", (), (), tests=tests).remarks() if told.startswith("Few rows")]


def test_clients_with_few_rows_to_test_with_are_named_the_fewest_first() -> None:
    """If they were not, the worst client of a table would be taken for what methods do to it."""
    assert caution(North=50, South=400) == []
    assert "each seed about: West (8) and North (49). The" in caution(North=49, West=8, South=50)[0]
    many = {f"c{number}": number for number in range(10, 17)}
    assert "c10 (10), c11 (11), c12 (12), c13 (13), c14 (14) and 2 others. The" in caution(**many)[0]


def test_rows_to_test_with_are_counted_as_they_are_divided() -> None:
    """A class with fewer rows than parts is not tested at all."""
    many = pd.DataFrame({"x": range(249), "y": ["a", "b", "b"] * 83})
    rare = pd.DataFrame({"x": range(100), "y": [*"a" * 40, *np.repeat(list("bcdefghijklmnop"), 4)]})
    clients = (Client("many", many), Client("rare", rare))
    divided = divide(clients, "y", 5, 3)
    expected = {client.name: len(client.test) for client in divided}
    assert Comparison().tests(clients, Study("y", seed=3)) == expected
    assert expected["rare"] == 8


def test_clients_without_a_value_are_named_unless_the_method_did_not_train() -> None:
    """Without that, the mean over clients would be taken for one of all."""
    cells = (
        Cell("local", 0, {"a": 0.7, "b": nan}, {}, 1.0, ""),
        Cell("local", 1, {"a": 0.7, "b": 0.5}, {}, 1.0, ""),
        Cell("fedavg", 0, {"a": nan, "b": nan}, {}, 1.0, ""),
    )
    compared = Compared("auc", cells, ())
    (told,) = (remark for remark in compared.remarks() if remark.startswith("No auc"))
    assert "with these: b. Too few" in told
    assert told in json.loads(compared.to_json())["remarks"]
    assert not any(remark.startswith("No auc") for remark in Compared("auc", cells[1:], ()).remarks())


def test_methods_without_a_seed_in_common_are_said_to_have_none() -> None:
    one, two = Cell("local", 0, {"a": 0.5}, {}, 1.0, ""), Cell("ce", 1, {"a": 0.6}, {}, 1.0, "")
    (told,) = (each for each in Compared("auc", (one, two), ()).remarks() if each.startswith("Not all"))
    assert "none that all have" in told
    same = Compared("auc", (one, replace(two, seed=0)), ()).remarks()
    assert not any(each.startswith("Not all") for each in same)


def test_why_a_method_did_not_train_is_told() -> None:
    story = {"failed": "the loss is not a number; take a lower rate"}
    cells = [Cell("fedavg", seed, {"a": nan}, {}, 1.0, "", story=story) for seed in (3, 4)]
    told = Compared("auc", tuple(cells), ()).remarks()
    assert "fedavg did not train with seed 3: the loss is not a number; take a lower rate." in told
    assert not any("seed 4" in each for each in told)


def test_rates_at_the_end_are_told_if_they_are_most() -> None:
    cells = tuple(
        Cell("local", seed, {"a": 0.5}, {}, 1.0, "", settings={"rate": rate})
        for seed, rate in enumerate((0.01, 0.05, 0.2, 0.05))
    )

    def told(*rates: float, count: int) -> list[str]:
        remarks = Compared("auc", cells[:count], (), rates=rates).remarks()
        return [each for each in remarks if "of a rate" in each]

    assert told(0.01, 0.05, 0.2, count=4) == [], "half of them may be chance"
    assert "Of 3 choices of a rate, 2 are the lowest" in told(0.01, 0.05, 0.2, count=3)[0]
    assert told(0.01, count=1) == [], "there was nothing to choose"
