"""How rows become numbers: a schema that all clients share, agreed from summaries of their columns.

Numbers are standardised by the mean and the deviation over all clients, categories become one column a level, and
missing values become the mean with an indicator beside it. Nothing here sees a row.
"""

from __future__ import annotations

import difflib
import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from comity.core import shown
from comity.errors import InputError
from comity.metrics import METRICS
from comity.writing import count

Task = Literal["regression", "classes"]
Kind = Literal["number", "text", "mixed", "empty"]
_MISSING = "(missing)"
_SHOWN = 20
_FEWEST_TO_BE_IDENTIFIERS = 50


@dataclass(frozen=True, slots=True)
class ColumnSummary:
    """What a client tells of one of its columns.

    `kind` is what its values are, ``mixed`` if some are numbers and some text; `present` and `missing` count them;
    `distinct` counts different ones; `whole` says that all are whole numbers; `infinite` counts infinities, `mean`
    and `squares` (sum of squares about it) are those of the finite numbers; `levels` counts each different value, as
    far as they are few enough to be told; `commas` says that it would be numbers if they had no decimal comma.
    """

    name: str
    kind: Kind
    present: int
    missing: int
    distinct: int
    whole: bool = False
    infinite: int = 0
    mean: float = 0.0
    squares: float = 0.0
    levels: dict[str, int] | None = None
    commas: bool = False


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """A column of numbers x: it becomes (x - mean) / scale; `indicator` adds a column that marks missing values."""

    name: str
    mean: float
    scale: float
    indicator: bool

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the columns it becomes."""
        return (self.name, f"{self.name} {_MISSING}") if self.indicator else (self.name,)


@dataclass(frozen=True, slots=True)
class CategoryColumn:
    """A column of text: it becomes one of zeros and ones for each level; `indicator` adds one for missing values."""

    name: str
    levels: tuple[str, ...]
    indicator: bool

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the columns it becomes."""
        shown = (*self.levels, _MISSING) if self.indicator else self.levels
        return tuple(f"{self.name}={level}" for level in shown)


@dataclass(frozen=True, slots=True)
class Target:
    """The column to be predicted: a number, standardised like any other, or one of several classes."""

    name: str
    task: Task
    classes: tuple[str, ...] = ()
    mean: float = 0.0
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns that a model sees, in order, and its target."""

    columns: tuple[NumberColumn | CategoryColumn, ...]
    target: Target

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features; a model has a parameter for each, and one for the intercept, which comes last."""
        return tuple(feature for column in self.columns for feature in column.features)

    def to_json(self) -> str:
        """Return the schema as JSON."""
        columns = [{"kind": "number" if isinstance(c, NumberColumn) else "text", **asdict(c)} for c in self.columns]
        return json.dumps({"columns": columns, "target": asdict(self.target)}, sort_keys=True, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Schema:
        """Return the schema that was written as JSON."""
        plain = json.loads(text)
        columns: list[NumberColumn | CategoryColumn] = []
        for column in plain["columns"]:
            kind = column.pop("kind")
            if kind == "number":
                columns.append(NumberColumn(**column))
            else:
                columns.append(CategoryColumn(**{**column, "levels": tuple(column["levels"])}))
        target = plain["target"]
        return cls(tuple(columns), Target(**{**target, "classes": tuple(target["classes"])}))


@dataclass(frozen=True, slots=True)
class Agreement:
    """A schema, the columns that are of no use, and what had to be decided on the way, in words for the user."""

    schema: Schema
    left_out: tuple[str, ...]
    warnings: tuple[str, ...]


def agree(
    summaries: Mapping[str, tuple[ColumnSummary, ...]],
    target: str,
    *,
    task: Task | None = None,
    exclude: tuple[str, ...] = (),
    keep: tuple[str, ...] = (),
) -> Agreement:
    """Agree on a schema from every client's summary of its columns.

    `task` overrules what the target looks like; `exclude` names columns to leave out, `keep` such as are not to be
    taken for identifiers.
    """
    clients = list(summaries)
    names = list(dict.fromkeys(column.name for columns in summaries.values() for column in columns))
    known = {client: {column.name: column for column in columns} for client, columns in summaries.items()}
    for name in (target, *exclude, *keep):
        if name not in names:
            raise InputError(f"there is no column {shown(name)}; {list_columns(names, name)}")
    _check_everywhere(known, [name for name in names if name != target and name not in exclude])
    _check_not_empty(known, {target, *exclude})
    warnings: list[str] = []
    columns: list[NumberColumn | CategoryColumn] = []
    for name in names:
        if name == target or name in exclude:
            continue
        column = _agree_on(name, {client: known[client][name] for client in clients}, warnings, name in keep)
        if column is not None:
            columns.append(column)
    if not columns:
        raise InputError("no column is left to learn from; check the columns and what was excluded")
    target_summaries = {client: known[client][target] for client in clients if target in known[client]}
    if len(target_summaries) < len(clients):
        absent = next(client for client in clients if client not in target_summaries)
        raise InputError(f"client {absent!r} has no column {target!r}, which is to be predicted")
    used = {column.name for column in columns} | {target, *exclude}
    left_out = tuple(name for name in names if name not in used)
    schema = Schema(tuple(columns), _agree_on_target(target, target_summaries, task, warnings))
    return Agreement(schema, left_out, tuple(warnings))


def list_columns(names: Collection[str], wanted: str = "") -> str:
    """Return the names of columns for a message, with the one that may have been meant.

    >>> list_columns(["age", "died"], "Dead")
    "the columns are 'age', 'died' (did you mean 'died'?)"
    """
    folded = {name.strip().casefold(): name for name in names}
    close = difflib.get_close_matches(str(wanted).strip().casefold(), folded, n=1)
    hint = f" (did you mean {folded[close[0]]!r}?)" if close else ""
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return f"the columns are {', '.join(map(shown, list(names)[:_SHOWN]))}{more}{hint}"


def _check_everywhere(known: Mapping[str, Mapping[str, ColumnSummary]], names: list[str]) -> None:
    """Check that every client has these columns."""
    absent = {name: [client for client in known if name not in known[client]] for name in names}
    lacking = [name for name in names if absent[name]]
    if len(lacking) == 1:
        (name,) = lacking
        owner = next(client for client in known if name in known[client])
        raise InputError(
            f"column {name!r} is missing at client {absent[name][0]!r}, but {owner!r} has it; add it, or leave it out "
            f"with --exclude {name!r} (in a study: exclude)"
        )
    if lacking:
        told = ", ".join(f"{name!r} at client {absent[name][0]!r}" for name in lacking[:_SHOWN])
        more = f" and {len(lacking) - _SHOWN:,} more" if len(lacking) > _SHOWN else ""
        options = " ".join(f"--exclude {name!r}" for name in lacking[:_SHOWN])
        raise InputError(
            f"columns that other clients have are missing: {told}{more}; add them, or leave them out with {options} "
            "(in a study: exclude)"
        )


def _check_not_empty(known: Mapping[str, Mapping[str, ColumnSummary]], apart: Collection[str]) -> None:
    """Check that every client has something to learn from: a value in some column that is not set apart."""
    for client, columns in known.items():
        told = [column for name, column in columns.items() if name not in apart]
        if told and all(column.kind == "empty" for column in told):
            raise InputError(
                f"client {client!r} has no value in any column but the target: all are missing; "
                "fill them in, or leave the client out"
            )


def _agree_on(
    name: str, columns: Mapping[str, ColumnSummary], warnings: list[str], keep: bool
) -> NumberColumn | CategoryColumn | None:
    """Return what a column becomes, or None if it is of no use, which is said in `warnings`."""
    filled = {client: column for client, column in columns.items() if column.kind != "empty"}
    if not filled:
        warnings.append(f"column {name!r} is empty everywhere and is left out")
        return None
    for client, column in filled.items():
        if column.commas:
            raise InputError(_with_commas("column", name, client))
    if not keep and _identifies(filled.values()):
        warnings.append(
            f"column {name!r} has a different value in every row, like an identifier, and is left out; "
            f"if it is none, say so with --keep {name!r}"
        )
        return None
    for client, column in filled.items():
        if column.infinite:
            raise InputError(
                f"column {name!r} of client {client!r} has an infinite value; mend it, or leave the column out"
            )
        if not math.isfinite(column.squares):
            raise InputError(
                f"column {name!r} of client {client!r} has a value too large to compute with; mend it, or leave the "
                "column out"
            )
        if column.kind == "mixed" and column.levels is None:
            raise InputError(
                f"column {name!r} of client {client!r} has numbers and text; mend the text, or leave the column out"
            )
    if mixed := [client for client, column in filled.items() if column.kind == "mixed"]:
        warnings.append(f"column {name!r} has numbers and text at {_clients(mixed)}; it is taken for text")
    if empty := [client for client in columns if client not in filled]:
        warnings.append(f"column {name!r} is empty at {_clients(empty)}; all its values are taken for missing there")
    kinds = {"text" if column.kind == "mixed" else column.kind for column in filled.values()}
    if len(kinds) > 1:
        number = next(client for client, column in filled.items() if column.kind == "number")
        text = next(client for client, column in filled.items() if column.kind != "number")
        raise InputError(
            f"column {name!r} has numbers at client {number!r} and text at {text!r}; mend it, or leave the column out"
        )
    missing = any(column.missing for column in columns.values())
    kind = kinds.pop()
    if kind == "text":
        if any(column.levels is None for column in filled.values()):
            warnings.append(f"column {name!r} has too many different values to learn from, and is left out")
            return None
        levels = Counter[str]()
        for column in filled.values():
            levels.update(column.levels)
        return CategoryColumn(name, tuple(sorted(levels)), missing)
    mean, scale = _pool(filled.values())
    if scale == 0 and not missing:
        warnings.append(f"column {name!r} has the same value everywhere and is left out")
        return None
    return NumberColumn(name, mean, scale or 1.0, missing)


def _with_commas(what: str, name: str, client: str) -> str:
    return (
        f"{what} {name!r} has numbers with a comma at client {client!r}; write decimals with a point, as in 1.5, and "
        "thousands without a sign, as in 21574"
    )


def _identifies(columns: Collection[ColumnSummary]) -> bool:
    """Tell whether a column looks like an identifier: text or whole numbers, of which no client has one twice."""
    return (
        sum(column.present for column in columns) >= _FEWEST_TO_BE_IDENTIFIERS
        and all(column.distinct == column.present and not column.infinite for column in columns)
        and all(column.whole or column.kind == "text" for column in columns)
    )


def _agree_on_target(name: str, columns: Mapping[str, ColumnSummary], task: Task | None, warnings: list[str]) -> Target:
    """Return the target, a number or classes, having checked that it can be learned."""
    for client, column in columns.items():
        if column.missing or column.kind == "empty":
            raise InputError(
                f"the target {name!r} is missing in {count(column.missing, 'row')} of client {client!r}; "
                "fill it in there, or take what lacks it out"
            )
        if column.commas:
            raise InputError(_with_commas("the target", name, client))
        if column.infinite:
            raise InputError(f"the target {name!r} has an infinite value at client {client!r}; mend it")
        if not math.isfinite(column.squares):
            raise InputError(f"the target {name!r} has a value too large to compute with at client {client!r}; mend it")
        if column.kind == "mixed":
            raise InputError(f"the target {name!r} has numbers and text at client {client!r}; mend what is no number")
    levels = Counter[str]()
    told = all(column.levels is not None for column in columns.values())
    for column in columns.values():
        levels.update(column.levels or {})
    numbers = all(column.kind == "number" for column in columns.values())
    if task is None:
        task = "regression" if numbers and not (told and len(levels) <= 2) else "classes"
    if task == "regression":
        if not numbers:
            raise InputError(
                f"the target {name!r} is text, which regression cannot predict; take the task 'classes', "
                f"or one of its metrics ({_metrics('classes')})"
            )
        mean, scale = _pool(columns.values())
        if scale == 0:
            raise InputError(f"the target {name!r} is {mean:g} in every row; there is nothing to predict")
        warnings += [
            f"the target {name!r} is the same in every row of client {client!r}"
            for client, column in columns.items()
            if column.squares == 0
        ]
        return Target(name, task, mean=mean, scale=scale)
    if not told or 2 * len(levels) > max(sum(levels.values()), 4):
        raise InputError(
            f"the target {name!r} has too many different values to be classes; take the task 'regression', "
            f"or one of its metrics ({_metrics('regression')})"
        )
    if len(levels) < 2:
        raise InputError(f"the target {name!r} is {next(iter(levels))!r} in every row; there is nothing to predict")
    warnings += [
        f"client {client!r} has one class only, {next(iter(column.levels))!r}, of the target {name!r}"
        for client, column in columns.items()
        if column.levels is not None and len(column.levels) == 1
    ]
    return Target(name, task, classes=tuple(sorted(levels, key=_natural)))


def _metrics(task: Task) -> str:
    return ", ".join(name for name, metric in METRICS.items() if metric.task == task)


def _clients(names: list[str]) -> str:
    """Name clients in a message, the first few if there are many."""
    more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
    return f"client{'s' * (len(names) > 1)} {', '.join(map(shown, names[:3]))}{more}"


def _natural(level: str) -> tuple[int, float, str]:
    """Order levels as numbers where they are, so that 2 comes before 10."""
    try:
        return 0, float(level), level
    except ValueError:
        return 1, 0.0, level


def _pool(columns: Iterable[ColumnSummary]) -> tuple[float, float]:
    """Return mean and standard deviation over all clients, from each one's mean and squares about it."""
    columns = list(columns)
    total = sum(column.present for column in columns)
    mean = math.fsum(column.present * column.mean for column in columns) / total
    squares = math.fsum(column.squares + column.present * (column.mean - mean) ** 2 for column in columns)
    scale = math.sqrt(squares / total)
    # What is left of a constant after rounding is no deviation.
    return mean, 0.0 if scale <= 1e-12 * max(abs(mean), 1e-300) else scale
