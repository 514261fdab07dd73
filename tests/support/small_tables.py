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
