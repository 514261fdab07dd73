"""Probabilities of survival, by each client's own baseline hazard.

A result has no baseline hazard, because it consists of a client's times and events. Whoever holds rows that were
followed, such as those of training, can compute it from them with the models (Breslow 1972), and nothing leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from comity.core.cox import Baseline
from comity.core.kinds import ModelKind
from comity.core.names import of_clients
from comity.core.wording import mention
from comity.errors import InputError
from comity.result.predictions import predict
from comity.rows.encoding import encode_target

if TYPE_CHECKING:
    from comity.result.client_result import ClientResult
    from comity.result.result import Result


def check_times(at: Sequence[float]) -> None:
    """Check the times at which survival is predicted."""
    if not len(at):
        raise InputError(f"{mention('at')} has no time; give one, such as 365")
    if bad := [time for time in at if not (np.isfinite(time) and time > 0)]:
        raise InputError(f"a time of {mention('at')} is {bad[0]:g}; it must be a finite number of more than 0")


def check_followed(result: Result | ClientResult, followed: pd.DataFrame) -> None:
    """Check that rows from which baseline hazards follow have times and events."""
    for column in result.schema.target.columns:
        if column not in followed.columns:
            raise InputError(f"there is no column {column!r} in the rows of {mention('baseline')}, which were followed")
    encode_target(followed, result.schema)


def predict_survival(
    result: Result | ClientResult,
    rows: pd.DataFrame,
    kind: ModelKind,
    client: str | None = None,
    *,
    followed: pd.DataFrame | None,
    at: Sequence[float],
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Predict relative risks as `predict` does, and for each time the probability of survival until then.

    `followed` are rows with times and events, from which each client's baseline hazard follows. It is unknown for
    clients without events there, and after the last time at which a row was seen.
    """
    target = result.schema.target
    if not at:
        return predict(result, rows, kind, client)
    if target.task != "survival":
        raise InputError(f"these models predict {target.name!r} and no survival; leave {mention('at')} out")
    check_times(at)
    at = tuple(dict.fromkeys(map(float, at)))
    if followed is None:
        raise InputError(f"survival follows from rows that were followed; give them with {mention('baseline')}")
    check_followed(result, followed)
    frame, notes = predict(result, rows, kind, client)
    named = (result.study.client or "client") in followed.columns
    before = predict(result, followed, kind, None if named else client)[0]
    outcome, risks = encode_target(followed, result.schema), before["prediction"].to_numpy(np.float64)
    owners, columns = (
        before["client"].to_numpy(object),
        {f"survival_{time:g}": np.full(len(frame), np.nan) for time in at},
    )
    unknown, late = [], []
    for owner in dict.fromkeys(frame["client"]):
        here, seen = np.flatnonzero(frame["client"] == owner), owners == owner
        baseline = Baseline.of(risks[seen], outcome[seen])
        for time, values in zip(at, columns.values(), strict=True):
            values[here] = baseline.survival(frame["prediction"].to_numpy(np.float64)[here], time)
        if not baseline.times.size:
            unknown.append(owner)
        elif max(at) > baseline.end:
            late.append(owner)
    if unknown:
        notes = (*notes, f"no row with an event of {of_clients(unknown)} was followed: survival is unknown there")
    if late:
        notes = (
            *notes,
            f"no row of {of_clients(late)} was followed for so long: survival is unknown after the last time",
        )
    return frame.assign(**columns), notes
