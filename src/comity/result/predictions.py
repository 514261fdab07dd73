"""Predicting new rows with the models of a result. With `client`, `encoding` and `tables`, code that sees rows."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from comity.core.kinds import ModelKind
from comity.core.names import shown
from comity.core.text import count
from comity.errors import InputError, UnknownClientError
from comity.families.registry import FAMILIES
from comity.questions.schema import CategoryColumn, Schema, list_columns
from comity.rows.encoding import encode, level_of

if TYPE_CHECKING:
    from comity.result.client_result import ClientResult
    from comity.result.result import Result

_SHOWN = 5


def predict(result: Result | ClientResult, rows: pd.DataFrame, kind: ModelKind) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Predict rows, each with its client's model; return a frame with a row for each, and what had to be decided."""
    family = FAMILIES[result.study.model]
    if not family.tabular:
        raise InputError(
            "these models are parameters of a torch module, which predicts itself: load them with Result.state_of"
        )
    column = result.study.client or "client"
    names = [level_of(name) for name in rows.columns]
    double = sorted({name for name in names if names.count(name) > 1})
    if double:
        raise InputError(f"there are two columns {double[0]!r}; give every column one name")
    rows = rows.set_axis(names, axis=1)
    if column not in names:
        raise InputError(f"there is no column {column!r}, which says whose each row is; {list_columns(names, column)}")
    if absent := [each.name for each in result.schema.columns if each.name not in names]:
        raise InputError(
            f"there is no column {absent[0]!r}, which the models were trained with; {list_columns(names, absent[0])}"
        )
    owners = rows[column].map(level_of, na_action="ignore")
    if owners.isna().any():
        raise InputError(
            f"column {column!r} says whose each row is, and is missing in {count(int(owners.isna().sum()), 'row')}"
        )
    unknown = sorted(set(owners) - set(result.clients))
    if unknown:
        known = ", ".join(map(shown, result.clients[:_SHOWN])) + (" …" if len(result.clients) > _SHOWN else "")
        close = difflib.get_close_matches(unknown[0], result.clients, n=1)
        hint = f" (did you mean {shown(close[0])}?)" if close else ""
        raise UnknownClientError(
            f"there is no model for client {shown(unknown[0])}; there are models for {known}{hint}"
        )
    notes = _notes(result, names, rows)
    features = encode(rows, result.schema)
    target = result.schema.target
    places = np.array([result.clients.index(owner) for owner in owners], np.intp)
    outcome = np.zeros((len(rows), max(len(target.classes), 1)))
    for place in np.unique(places).tolist():
        here = places == place
        predicted = family.predict(result.study, result.schema, features[here], result.models[kind][place])
        outcome[here] = predicted if predicted.ndim > 1 else predicted[:, None]
    frame = pd.DataFrame({"client": owners.to_numpy(object)}, index=rows.index)
    if not target.classes:
        frame["prediction"] = outcome[:, 0]
        return frame, notes
    frame["prediction"] = np.array(target.classes, object)[outcome.argmax(axis=1)]
    for place, name in enumerate(target.classes):
        frame[f"p_{name}"] = outcome[:, place]
    return frame, notes


def _notes(result: Result | ClientResult, names: list[str], rows: pd.DataFrame) -> tuple[str, ...]:
    """Return in words what in the new rows the models do not know."""
    schema: Schema = result.schema
    known = {column.name for column in schema.columns} | {result.study.client or "client", schema.target.name}
    known |= {*result.study.exclude, *result.left_out}
    notes = []
    if extra := [name for name in names if name not in known]:
        more = " and more" if len(extra) > _SHOWN else ""
        notes.append(f"columns that the models do not know are ignored: {', '.join(map(repr, extra[:_SHOWN]))}{more}")
    for column in schema.columns:
        missing = int(rows[column.name].isna().sum())
        if missing and not column.indicator:
            taken = "none of its levels" if isinstance(column, CategoryColumn) else "its mean"
            notes.append(
                f"column {column.name!r} is missing in {count(missing, 'row')}, which it was not when the models were "
                f"trained; it is taken for {taken} there"
            )
        if not isinstance(column, CategoryColumn):
            continue
        present = rows[column.name].dropna().map(level_of)
        if unseen := sorted(set(present) - set(column.levels)):
            where = count(int(present.isin(unseen).sum()), "row")
            notes.append(
                f"column {column.name!r} has values in {where} that no client had "
                f"({', '.join(map(repr, unseen[:_SHOWN]))}); they are taken for none of its levels"
            )
    return tuple(notes)
