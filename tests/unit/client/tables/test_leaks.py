"""Columns that give the target away are found, and strong predictors are not taken for them."""

import numpy as np
import pandas as pd
import pytest

from comity.client.tables import read_clients
from comity.client.tables.leaks import leaking_columns

RNG = np.random.default_rng(0)
N = 300
SITES = np.repeat(["A", "B", "C"], N // 3)
Y = RNG.normal(size=N) + np.repeat([0.0, 5.0, 9.0], N // 3)
CLASS = np.resize(["mild", "severe", "none"], N)


def leaks(target: object, columns: dict[str, object], *, classes: bool = False) -> tuple[str, ...]:
    frame = pd.DataFrame({"site": SITES, "y": target, **columns})
    return leaking_columns(read_clients(frame, "site"), "y", classes=classes)


def test_a_number_is_given_away() -> None:
    rounded = pd.Series(Y).round().astype(int)
    columns = {
        "twice": 2 * Y,
        "negative": 3 - Y,
        "with gaps": np.where(RNG.random(N) < 0.2, np.nan, Y),
        "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(100 * Y, unit="D"),
    }
    assert leaks(Y, columns) == tuple(columns)
    assert leaks(rounded, {"label": rounded.map(lambda value: f"stage {value}")}) == ("label",)


def test_strong_predictors_do_not_leak() -> None:
    columns = {
        "strong": Y + 0.2 * RNG.normal(size=N),  # R² .96 within clients
        "mean of the client": np.repeat([0.0, 5.0, 9.0], N // 3),
        "noise": RNG.normal(size=N),
        "the same": 1.0,
        "infinite": np.where(np.arange(N) == 3, np.inf, RNG.normal(size=N)),
        "one each": [f"p{number}" for number in range(N)],
    }
    assert leaks(Y, columns) == ()


def test_classes_are_given_away() -> None:
    place = pd.Series(CLASS).map({"none": 0, "mild": 1, "severe": 2})
    columns = {
        "copy": CLASS,
        "code": place,
        "score": place + RNG.uniform(0, 0.9, N),
        "other words": place.map(str) + "x",
    }
    assert leaks(CLASS, columns) == tuple(columns)
    assert leaks(place, {"code": 2 * place, "words": CLASS}, classes=True) == ("code", "words")
    assert leaks(place == 0, {"none": place == 0, "scale": (place == 0) + RNG.uniform(0, 0.5, N)}) == ("none", "scale")


def test_strong_predictors_of_classes_do_not_leak() -> None:
    place = pd.Series(CLASS).map({"none": 0, "mild": 1, "severe": 2})
    columns = {
        "one class of three": place == 0,
        "strong": place + 0.4 * RNG.normal(size=N),
        "site": SITES,
        "one each": [f"p{number}" for number in range(N)],
    }
    assert leaks(CLASS, {name: values for name, values in columns.items() if name != "site"}) == ()
    rare = np.where(np.arange(N) < 4, "yes", "no")
    assert leaks(rare, {"copy": rare}) == (), "too few rows to tell"


@pytest.mark.parametrize("target", ["nothing", "y"])
def test_tables_that_do_not_fit_are_left_to_the_schema(target: str) -> None:
    clients = read_clients({"A": pd.DataFrame({"y": range(30), "x": 1}), "B": pd.DataFrame({"y": range(30)})})
    assert leaking_columns(clients, target) == ()
