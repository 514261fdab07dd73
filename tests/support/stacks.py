"""Clients in two planted groups whose target is no sum of columns, for estimators."""

import numpy as np
import pandas as pd

NAMES = ("a", "b", "c", "d", "e", "f")


def crossed(seed: int = 0, rows: int = 60, *, classes: int = 0, noise: float = 0.3) -> pd.DataFrame:
    """Return rows of six clients: with the first three y follows the product of x and z, with the others minus that."""
    rng = np.random.default_rng(seed)
    frames = []
    for place, name in enumerate(NAMES):
        inputs = rng.uniform(-1, 1, size=(rows, 2))
        value = 3 * inputs[:, 0] * inputs[:, 1] * (1 if place < 3 else -1) + noise * rng.normal(size=rows)
        frame = pd.DataFrame(inputs, columns=["x", "z"]).assign(client=name, y=value)
        if classes:
            edges = np.quantile(value, np.linspace(0, 1, classes + 1)[1:-1])
            frame["y"] = np.array(list("lmnopq"))[np.digitize(value, edges)]
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)
