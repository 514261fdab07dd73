"""Predicting new rows with the models of a result."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from comity.core.kinds import ModelKind
from comity.core.names import of_clients, shown
from comity.core.text import count
from comity.core.wording import mention
from comity.errors import InputError, UnknownClientError
from comity.families.registry import FAMILIES
from comity.questions.schema import CategoryColumn, list_columns
from comity.rows.columns import level_of
from comity.rows.encoding import encode, encode_exposure

if TYPE_CHECKING:
    from comity.result.client_result import ClientResult
    from comity.result.result import Result

_MAX_NAMES = 5  # that a message lists
_LIKE_A_MISSPELLING = 0.8  # the ratio of difflib


def predict(
    result: Result | ClientResult, rows: pd.DataFrame, kind: ModelKind, client: str | None = None
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Predict rows with the model of one client, or each with the model of the client that a column names.

    Returns a frame with a row for each, with the study's id if the rows have it, and notes on columns and values that
    the models do not know.
    """
    family = FAMILIES[result.study.model]
    if not family.tabular:
        raise InputError(
            "these models are parameters of a torch module, which predicts itself: load them with Result.state_of"
        )
    if not isinstance(rows, pd.DataFrame):
        raise InputError(f"the rows to predict are a {type(rows).__name__}; they must be a DataFrame")
    column, target = result.study.client or "client", result.schema.target
    if client is not None:
        if column in rows.columns:
            raise InputError(
                f"column {column!r} of the table names the client of each row; leave {mention('client')} out"
            )
        rows = rows.assign(**{column: client})
    names = [level_of(name) for name in rows.columns]
    if double := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"there are two columns {double[0]!r}; give every column one name")
    rows = rows.set_axis(names, axis=1)
    if column not in names:
        raise InputError(f"there is no column {column!r}, which says whose each row is; {list_columns(names, column)}")
    needed = [each.name for each in result.schema.columns] + [result.schema.target.exposure] * bool(target.exposure)
    if absent := [name for name in needed if name not in names]:
        raise InputError(
            f"there is no column {absent[0]!r}, which the models were trained with; {list_columns(names, absent[0])}"
        )
    owners = rows[column].map(level_of, na_action="ignore")
    if owners.isna().any():
        raise InputError(
            f"column {column!r} says whose each row is, and is missing in {count(int(owners.isna().sum()), 'row')}"
        )
    unknown = sorted(set(owners) - set(result.clients))
    for name in unknown:
        if len(result.clients) == 1:  # a client's own part of a result
            raise UnknownClientError(
                f"there is no model for client {shown(name)}; there is one for {shown(result.clients[0])}"
            )
        if meant := _misspelt(name, result.clients):
            raise UnknownClientError(f"there is no model for client {shown(name)}; did you mean {shown(meant)}?")
    notes = _notes(result, names, rows)
    features, exposure = encode(rows, result.schema), encode_exposure(rows, result.schema)
    models = result.models[kind]
    places = np.array([-1 if owner in unknown else result.clients.index(owner) for owner in owners], np.intp)
    used = models if unknown else models[np.unique(places)]
    inputs = family.inputs(result.schema, features, used, result.files)
    outcome = np.zeros((len(rows), max(len(target.classes), 1)))
    for place in np.unique(places).tolist():
        here = places == place
        chosen = models if place < 0 else models[[place]]  # a typical member predicts as all members do on average
        predicted = np.mean(
            [family.predict(result.study, result.schema, inputs[here], each) for each in chosen], axis=0
        )
        outcome[here] = predicted if predicted.ndim > 1 else (predicted * exposure[here])[:, None]
    if unknown:
        notes = (_newcomers(unknown, int((places < 0).sum())), *notes)
    frame = pd.DataFrame({"client": owners.to_numpy(object)}, index=rows.index)
    frame["prediction"] = np.array(target.classes, object)[outcome.argmax(axis=1)] if target.classes else outcome[:, 0]
    for place, name in enumerate(target.classes):
        frame[f"p_{name}"] = outcome[:, place]
    if result.study.id in names:
        frame.insert(0, result.study.id, rows[result.study.id], allow_duplicates=True)
    return frame, notes


def text_columns(result: Result | ClientResult) -> list[str]:
    """Return the columns whose values must be read as they are written: the id, and categories that are not numbers."""
    names = [
        column.name
        for column in result.schema.columns
        if isinstance(column, CategoryColumn) and not all(map(_is_plain_number, column.levels))
    ]
    return names if result.study.id is None else [*names, result.study.id]


def _is_plain_number(level: str) -> bool:
    """Return whether a level is a number as `level_of` writes it: not 01, which may be a code."""
    try:
        return level_of(float(level)) == level
    except ValueError:
        return False


def _misspelt(name: str, known: Sequence[str]) -> str | None:
    """Return whom a name is likely to mean that nobody has; another number is another name.

    >>> _misspelt("Wes", ["West", "East"]), _misspelt("School 13", ["School 12"])
    ('West', None)
    """
    close = difflib.get_close_matches(name, known, n=1, cutoff=_LIKE_A_MISSPELLING)
    digits = [[each for each in text if each.isdigit()] for text in (name, *close)]
    return close[0] if close and digits[0] == digits[1] else None


def _newcomers(unknown: list[str], rows: int) -> str:
    """Say of clients that were not there how their rows are predicted."""
    who = of_clients(unknown)
    was = "was" if len(unknown) == 1 else "were"
    return (
        f"{who} {was} not there: {count(rows, 'row')} predicted as by a typical member, the mean over the models "
        "of all members"
    )


def _notes(result: Result | ClientResult, names: list[str], rows: pd.DataFrame) -> tuple[str, ...]:
    """Return notes on columns and values of new rows that the models do not know."""
    known = {column.name for column in result.schema.columns} | {*result.study.not_features, *result.left_out}
    known |= {result.study.client or "client", *result.schema.target.columns}
    notes = []
    if result.study.id is not None and result.study.id not in names:
        notes.append(f"there is no column {result.study.id!r}, so that predictions do not have it")
    if extra := [name for name in names if name not in known]:
        listed = ", ".join(map(repr, extra[:_MAX_NAMES])) + (" and more" if len(extra) > _MAX_NAMES else "")
        notes.append(f"columns that the models do not know are ignored: {listed}")
    for column in result.schema.columns:
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
                f"({', '.join(map(repr, unseen[:_MAX_NAMES]))}); they are taken for none of its levels"
            )
    return tuple(notes)
