"""A small table and a question about it, for tests of a client."""

import numpy as np
import pandas as pd

from comity.questions import Moments, Split
from comity.questions.schema import NumberColumn, Schema, Target


def rows(count: int = 20) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"x": rng.normal(size=count), "y": rng.normal(size=count), "z": rng.normal(size=count)})


def schema(target: str = "y") -> Schema:
    return Schema((NumberColumn("x", 0.0, 1.0, False),), Target(target, "regression", mean=0.0, scale=1.0))


def ask_moments(target: str = "y") -> Moments:
    return Moments(schema(target), Split(2, 1, 2), np.empty((0, 2)))
