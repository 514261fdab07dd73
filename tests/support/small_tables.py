"""Small tables for the command line."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

THREE = ("North", "South", "West")
FOUR = (*THREE, "East")


def sites(rows: int = 24, seed: int = 0, names: Sequence[str] = THREE) -> pd.DataFrame:
    """Return rows of sites: `effect` is a number, `cured` one of two classes; West and East differ from the others."""
    rng = np.random.default_rng(seed)
    count = len(names) * rows
    frame = pd.DataFrame(
        {
            "site": np.repeat(names, rows),
            "dose": rng.normal(5, 1, count).round(3),
            "age": rng.normal(50, 9, count).round(1),
            "pulse": rng.normal(70, 8, count).round(1),
            "sex": rng.choice(["f", "m"], count),
        }
    )
    sign = np.where(frame["site"].isin(["West", "East"]), -1.0, 1.0)
    effect = sign * (frame["dose"] - 5) + sign * (frame["age"] - 50) / 9 + (frame["pulse"] - 70) / 8
    effect = effect + 0.5 * (frame["sex"] == "m") + 0.5 * rng.normal(size=count)
    frame["effect"] = effect.round(3)
    frame["cured"] = np.where(effect > 0, "yes", "no")
    return frame


def numbers(**options: Any) -> pd.DataFrame:
    """Return the table with the number as target."""
    return sites(**options).drop(columns="cured")


def classes(**options: Any) -> pd.DataFrame:
    """Return the table with the classes as target."""
    return sites(**options).drop(columns="effect")


def counts(**options: Any) -> pd.DataFrame:
    """Return a table with counts as target: `falls` in some `days`."""
    frame = sites(**options)
    rng = np.random.default_rng(1)
    days = rng.integers(10, 100, len(frame))
    falls = rng.poisson(days / 20 * np.exp(frame["effect"] / 4))
    return frame.drop(columns=["cured", "effect"]).assign(days=days, falls=falls)


def survival(**options: Any) -> pd.DataFrame:
    """Return a table with times until an event, in `days`, and whether it happened: `died`."""
    frame = sites(**options)
    rng = np.random.default_rng(1)
    event, seen = (100 * rng.exponential(size=len(frame)) for _ in range(2))
    event = event * np.exp(-frame["effect"] / 2)
    days = np.ceil(np.minimum(event, seen))
    return frame.drop(columns=["cured", "effect"]).assign(days=days, died=(event <= seen).astype(int))
