"""Small tables for the command line."""

import numpy as np
import pandas as pd


def sites(rows: int = 24, seed: int = 0) -> pd.DataFrame:
    """Return rows of three sites: `effect` is a number, `cured` one of two classes; West differs from the others."""
    rng = np.random.default_rng(seed)
    count = 3 * rows
    frame = pd.DataFrame(
        {
            "site": np.repeat(["North", "South", "West"], rows),
            "dose": rng.normal(5, 1, count).round(3),
            "age": rng.normal(50, 9, count).round(1),
            "pulse": rng.normal(70, 8, count).round(1),
            "sex": rng.choice(["f", "m"], count),
        }
    )
    sign = np.where(frame["site"] == "West", -1.0, 1.0)
    effect = sign * (frame["dose"] - 5) + sign * (frame["age"] - 50) / 9 + (frame["pulse"] - 70) / 8
    effect = effect + 0.5 * (frame["sex"] == "m") + 0.5 * rng.normal(size=count)
    frame["effect"] = effect.round(3)
    frame["cured"] = np.where(effect > 0, "yes", "no")
    return frame


def numbers(**options: int) -> pd.DataFrame:
    """Return the table with the number as target."""
    return sites(**options).drop(columns="cured")


def classes(**options: int) -> pd.DataFrame:
    """Return the table with the classes as target."""
    return sites(**options).drop(columns="effect")
