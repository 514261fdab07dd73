"""A result as DataFrames: a row for each client, a row for each edge, and the coefficients of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from comity.core.arrays import Floats
from comity.core.kinds import ModelKind
from comity.core.metrics import METRICS
from comity.questions.schema import NumberColumn, Schema

if TYPE_CHECKING:
    from comity.result.result import Result


def clients_frame(result: Result) -> pd.DataFrame:
    """Return a row for each client: see `Result.to_frame`."""
    standings = [result.utilities[client] for client in result.clients]
    columns: dict[str, list[object]] = {"rows": [each.rows for each in standings]}
    columns |= {kind.value: [getattr(each, kind).value for each in standings] for kind in ModelKind}
    gains = [each.gain if METRICS[result.metric].more_is_better else -each.gain for each in standings]
    alone = [set(result.weights_of(client)) == {client} for client in result.clients]  # who is, gains nothing for sure
    columns |= {
        "gain": [each.value for each in gains],
        "gain_low": _where_joined([each.low for each in gains], alone),
        "gain_high": _where_joined([each.high for each in gains], alone),
        "probability": _where_joined([each.probability for each in standings], alone),
        "members": [tuple(sorted(result.equilibrium.coalition_of(client))) for client in result.clients],
        "collaborators": [tuple(sorted(result.graph.collaborators_of(client) - {client})) for client in result.clients],
    }
    return pd.DataFrame(columns, index=pd.Index(result.clients, name="client"))


def _where_joined(values: list[float], alone: list[bool]) -> list[object]:
    return [np.nan if is_alone else value for value, is_alone in zip(values, alone, strict=True)]


def edges_frame(result: Result) -> pd.DataFrame:
    """Return a row for each edge of the benefit graph: see `Result.edges`."""
    brings = {(each.giver, each.receiver): each for each in result.contributions}
    shares = {} if result.confidence is None else result.confidence.edges
    place = {client: number for number, client in enumerate(result.clients)}
    edges = list(result.graph.edges())
    return pd.DataFrame(
        {
            "giver": [giver for giver, _ in edges],
            "receiver": [receiver for _, receiver in edges],
            "weight": [float(result.weights[ModelKind.BEST][place[i], place[j]]) for j, i in edges],
            "met": [j in result.equilibrium.coalition_of(i) for j, i in edges],
            "contribution": [brings[edge].value if edge in brings else np.nan for edge in edges],
            "probability": [brings[edge].probability if edge in brings else np.nan for edge in edges],
            "resamples": [shares.get(edge, np.nan) for edge in edges],
        }
    )


def coefficients_frame(schema: Schema, parameters: Floats) -> pd.DataFrame:
    """Return coefficients by name, in the units of the columns, from those of standardised features (f + 1, outputs).

    >>> from comity.questions.schema import Target
    >>> schema = Schema((NumberColumn("age", 50.0, 10.0, False),), Target("stay", "regression", mean=6.0, scale=2.0))
    >>> coefficients_frame(schema, np.array([[0.5], [0.0]]))["stay"].to_dict()
    {'age': 0.1, '(intercept)': 1.0}
    """
    target = schema.target
    coefficients = parameters * target.scale
    level = np.log(target.mean) if target.task == "counts" else target.mean
    intercept = coefficients[-1] + level
    place = 0
    for column in schema.columns:
        if isinstance(column, NumberColumn):
            coefficients[place] /= column.scale
            intercept = intercept - coefficients[place] * column.mean
            if column.indicator:  # a missing value counts as the mean
                coefficients[place + 1] += coefficients[place] * column.mean
        place += len(column.features)
    coefficients[-1] = intercept
    names = list(target.classes[-1:] if parameters.shape[1] == 1 else target.classes) or [target.name]
    return pd.DataFrame(coefficients, index=pd.Index([*schema.features, "(intercept)"], name="feature"), columns=names)
