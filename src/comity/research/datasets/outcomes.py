"""Made-up counts and times until an event, at clients of two groups."""

from typing import Literal

import numpy as np
import pandas as pd

_CENSORED = 100.0  # days until a row is lost from sight, on average


def two_groups_of(
    task: Literal["counts", "survival"],
    seed: int,
    rows: int = 100,
    columns: int = 16,
    *,
    clients: int = 8,
    test: int = 0,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return rows to train with and to test with: x0, x1, …, `client`, and `falls`, or `days` and `died`.

    Every second client is of the same group: its coefficients are those of the group, and a tenth of their own. Each
    has a rate or baseline hazard of its own. Counts are overdispersed: their variance is μ + μ² / 4.

    Args:
        task: What the outcome is.
        seed: The same seed gives the same rows.
        rows: Rows of a client to train with.
        columns: The number of inputs.
        clients: The number of clients.
        test: Rows of a client to test with.

    >>> train, _ = two_groups_of("counts", 0, rows=20)
    >>> train["client"].nunique(), len(train), train["falls"].min() >= 0
    (8, 160, np.True_)
    """
    rng = np.random.default_rng(seed)
    scale = 0.2 if task == "counts" else 0.4
    groups, parts = scale * rng.normal(size=(2, columns)), []
    for client in range(clients):
        x = rng.normal(size=(rows + test, columns))
        level = 0.4 * rng.normal() + x @ (groups[client % 2] + 0.1 * scale * rng.normal(size=columns))
        frame = pd.DataFrame(x, columns=[f"x{number}" for number in range(columns)]).assign(client=f"{client}")
        if task == "counts":
            frame["falls"] = rng.poisson(2 * np.exp(level) * rng.gamma(4, 1 / 4, len(x)))
        else:
            event, seen = (_CENSORED * rng.exponential(size=len(x)) for _ in range(2))
            event = event * np.exp(-level)
            frame["days"], frame["died"] = np.minimum(event, seen), event <= seen
        parts.append(frame)
    return pd.concat([frame[:rows] for frame in parts]), pd.concat([frame[rows:] for frame in parts])
