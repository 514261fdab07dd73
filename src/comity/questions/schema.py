"""The schema that all clients share: how columns become features, agreed from summaries of the clients' columns.

Numbers are standardised by the mean and the standard deviation over all clients, dates are numbers of days, categories
become one indicator column for each level, and missing values become the mean, with an indicator column beside it.
Nothing here sees a row.
"""

import difflib
import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import ClassVar

from comity.core.names import listed, of_clients, shown
from comity.core.tasks import Task
from comity.core.text import count
from comity.core.wording import mention
from comity.errors import InputError
from comity.questions.summaries import ColumnSummary as ColumnSummary
from comity.questions.summaries import Look as Look
from comity.questions.summaries import check_decimal_points, count_levels, pool, unusable_value
from comity.questions.targets import Target as Target
from comity.questions.targets import agree_on_target

_NOUNS = {"number": "numbers", "date": "dates", "text": "text"}
_MISSING = "(missing)"
_MAX_NAMES_SHOWN = 20
_MIN_ROWS_OF_IDENTIFIERS = 50  # with fewer rows, distinct values are likely to be chance
_WORDS_OF_IDENTIFIERS = {"id", "ids", "identifier", "uuid", "guid", "key"}
_WORDS_OF_NUMBERING = {"nr", "no", "number", "index"}  # of rows, or of visits, weeks, …
_MAX_LEVELS = 100  # of a column
_ROUNDING = 1e-9
_MANY_ROWS = 10  # of a client: that all of their values are missing is a mistake


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """A column of numbers x, encoded as (x - mean) / scale; `indicator` adds a column that marks missing values."""

    tag: ClassVar[str] = "number"
    name: str
    mean: float
    scale: float
    indicator: bool

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features that encode the column."""
        return (self.name, f"{self.name} {_MISSING}") if self.indicator else (self.name,)


@dataclass(frozen=True, slots=True)
class DateColumn(NumberColumn):
    """A column of dates, encoded like numbers: the days since 2000-01-01."""

    tag: ClassVar[str] = "date"


@dataclass(frozen=True, slots=True)
class CategoryColumn:
    """A column of text, encoded as one indicator column for each level; `indicator` adds one for missing values."""

    tag: ClassVar[str] = "text"
    name: str
    levels: tuple[str, ...]
    indicator: bool

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features that encode the column."""
        shown = (*self.levels, _MISSING) if self.indicator else self.levels
        return tuple(f"{self.name}={level}" for level in shown)


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns that a model uses, in order, and the target that it predicts."""

    columns: tuple[DateColumn | NumberColumn | CategoryColumn, ...]
    target: Target

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features of a row; every model has an intercept beside them, which comes last."""
        return tuple(feature for column in self.columns for feature in column.features)

    @property
    def parameters(self) -> int:
        """The number of parameters of a generalised linear model, d: those of each class if there are three or more."""
        classes = len(self.target.classes)
        return len(self.features) * (classes if classes > 2 else 1) + self.target.intercepts


@dataclass(frozen=True, slots=True)
class Agreement:
    """A schema, the names of the columns that it leaves out, and warnings for the user about these choices."""

    schema: Schema
    left_out: tuple[str, ...]
    warnings: tuple[str, ...]


def agree(
    summaries: Mapping[str, tuple[ColumnSummary, ...]],
    target: str,
    *,
    task: Task | None = None,
    beside: str | None = None,
    exclude: tuple[str, ...] = (),
    keep: tuple[str, ...] = (),
    categories: tuple[str, ...] = (),
) -> Agreement:
    """Return a schema that fits every client's summary of its columns.

    The column `beside` the target belongs to it: the exposure of counts, or the times of survival. The columns in
    `exclude` are left out, those in `keep` are used even if they look like identifiers, and numbers in `categories` are
    taken for categories. By default, the values of the target determine the task. Columns that do not fit together are
    an `InputError`, and so is a target that cannot be learned.
    """
    names = list(dict.fromkeys(column.name for columns in summaries.values() for column in columns))
    known = {client: {column.name: column for column in columns} for client, columns in summaries.items()}
    of_target = (target,) if beside is None else (target, beside)
    for name in (*of_target, *exclude, *keep, *categories):
        if name not in names:
            raise InputError(f"there is no column {shown(name)}; {list_columns(names, name)}")
    candidates = [name for name in names if name not in of_target and name not in exclude]
    _check_everywhere(known, candidates)
    warnings: list[str] = []
    filled = _without_empty(known, candidates, warnings)
    columns: dict[str, NumberColumn | CategoryColumn] = {}
    for name in candidates:
        here = {client: filled[client][name] for client in filled}
        column = _agree_on(name, here, warnings, keep=name in keep, category=name in categories)
        if column is not None:
            columns[name] = column
    if not columns:
        raise InputError("no column is left to learn from; check the columns and what was excluded")
    agreed = agree_on_target(target, beside, known, task, warnings)
    left_out = tuple(name for name in candidates if name not in columns)
    return Agreement(Schema(tuple(columns.values()), agreed), left_out, tuple(warnings))


def list_columns(names: Collection[str], unknown: str = "") -> str:
    """Return the names of the columns for a message, with the name that an unknown one may stand for.

    >>> list_columns(["age", "died"], "Dead")
    "the columns are 'age', 'died' (did you mean 'died'?)"
    """
    folded = {name.strip().casefold(): name for name in names}
    close = difflib.get_close_matches(str(unknown).strip().casefold(), folded, n=1)
    hint = f" (did you mean {folded[close[0]]!r}?)" if close else ""
    return f"the columns are {listed([shown(name) for name in names], _MAX_NAMES_SHOWN)}{hint}"


def _check_everywhere(known: Mapping[str, Mapping[str, ColumnSummary]], names: list[str]) -> None:
    """Check that every client has these columns."""
    absent = {name: [client for client in known if name not in known[client]] for name in names}
    lacking = [name for name in names if absent[name]]
    if len(lacking) == 1:
        (name,) = lacking
        owner = next(client for client in known if name in known[client])
        raise InputError(
            f"column {name!r} is missing at client {absent[name][0]!r}, but {owner!r} has it; add it, or leave it out "
            f"with {mention('exclude', [name])}"
        )
    if lacking:
        lacking_at = listed([f"{name!r} at client {absent[name][0]!r}" for name in lacking], _MAX_NAMES_SHOWN)
        raise InputError(
            f"columns that other clients have are missing: {lacking_at}; add them, or leave them out with "
            f"{mention('exclude', lacking[:_MAX_NAMES_SHOWN])}"
        )


def _without_empty(
    known: Mapping[str, Mapping[str, ColumnSummary]], names: list[str], warnings: list[str]
) -> Mapping[str, Mapping[str, ColumnSummary]]:
    """Return the columns of clients that have a value in at least one; others are an error, but for small clients."""
    empty = [client for client, columns in known.items() if all(columns[name].kind == "empty" for name in names)]
    if not names or not empty:
        return known
    what = f"{of_clients(empty)} {'have' if empty[1:] else 'has'} no value in any column but the target"
    if len(empty) == len(known) or any(known[client][names[0]].missing >= _MANY_ROWS for client in empty):
        whom = "these clients" if empty[1:] else "the client"
        raise InputError(
            f"{what}: all are missing; fill them in, or leave {whom} out with "
            f"{mention('without', empty[:_MAX_NAMES_SHOWN])}"
        )
    warnings.append(f"{what}; usual values are taken for them")
    return {client: columns for client, columns in known.items() if client not in empty}


def _agree_on(
    name: str, columns: Mapping[str, ColumnSummary], warnings: list[str], *, keep: bool, category: bool
) -> NumberColumn | CategoryColumn | None:
    """Return how to encode a column, or None, with an entry in `warnings`, if it is left out."""
    filled = {client: column for client, column in columns.items() if column.kind != "empty"}
    if not filled:
        warnings.append(f"column {name!r} is empty everywhere and is left out")
        return None
    for client, column in filled.items():
        check_decimal_points(f"column {name!r}", client, column)
    if not (keep or category) and (reason := _reason_to_leave_out(name, filled.values())):
        warnings.append(f"column {name!r} {reason}")
        return None
    for client, column in filled.items():
        if unusable := unusable_value(column):
            raise InputError(f"column {name!r} of client {client!r} has {unusable}; mend it, or leave the column out")
    if empty := [client for client in columns if client not in filled]:
        warnings.append(f"column {name!r} is empty at {of_clients(empty)}; all its values are taken for missing there")
    missing = any(column.missing for column in columns.values())
    if category or any(column.kind == "text" for column in filled.values()):
        if not _agree_on_text(name, filled, warnings, category=category):
            return None
        return CategoryColumn(name, _most_common_levels(name, filled.values(), warnings), missing)
    _check_same_kind(name, filled)
    mean, scale = pool(filled.values())
    if scale == 0 and not missing:
        warnings.append(f"column {name!r} has the same value everywhere and is left out")
        return None
    if all(column.kind == "date" for column in filled.values()):
        warnings.append(f"column {name!r} holds dates; the models use the days since 2000-01-01")
        return DateColumn(name, mean, scale or 1.0, missing)
    return NumberColumn(name, mean, scale or 1.0, missing)


def _agree_on_text(name: str, filled: Mapping[str, ColumnSummary], warnings: list[str], *, category: bool) -> bool:
    """Return whether a column of text, or of categories, can be used: if clients with half of the rows list its values.

    A client with few rows may have too many different values to list them; it uses those of the others.
    """
    unlisted = {client: column for client, column in filled.items() if column.levels is None}
    few = _few_unlisted(filled.values())
    if category:
        for client, column in () if few else unlisted.items():
            raise InputError(
                f"column {name!r} has {column.distinct:,} different values in {count(column.present, 'row')} of client "
                f"{client!r}, too many for categories: there may be {_MAX_LEVELS}, with two rows each on average; take "
                f"it out of {mention('categories')}"
            )
        _warn_of_unlisted(name, [*unlisted], warnings)
        return True
    for client, column in unlisted.items():
        if column.look == "numbers and text" and not few:
            raise InputError(
                f"column {name!r} of client {client!r} has numbers and text; mend the text, or leave the column out"
            )
    texts = [client for client, column in unlisted.items() if few and column.kind == "text"]
    _check_same_kind(name, {client: column for client, column in filled.items() if client not in texts})
    looks = {column.look for column in filled.values()}
    mixed = [client for client, column in filled.items() if column.look == "numbers and text"]
    if mixed or ("numbers" in looks and len(looks) > 1):
        where = f" at {of_clients(mixed)}" if mixed else ""
        warnings.append(f"column {name!r} has numbers and text{where}; it is taken for text")
    _warn_of_unlisted(name, texts, warnings)
    if unlisted and not texts:
        warnings.append(f"column {name!r} has too many different values to learn from, and is left out")
    elif "dates" in looks:
        warnings.append(
            f"column {name!r} holds dates that cannot be read; it is taken for text. Write them with the year first, "
            "such as 2024-03-01"
        )
    return few


def _most_common_levels(name: str, columns: Collection[ColumnSummary], warnings: list[str]) -> tuple[str, ...]:
    """Return the levels of a column that the models use, in order: not more than a hundred."""
    levels = count_levels(columns)
    if len(levels) > _MAX_LEVELS:
        warnings.append(
            f"column {name!r} has {len(levels):,} different values; the {_MAX_LEVELS} that are most common are used, "
            "and the others are not told apart"
        )
    return tuple(sorted(sorted(levels, key=lambda level: (-levels[level], level))[:_MAX_LEVELS]))


def _warn_of_unlisted(name: str, clients: list[str], warnings: list[str]) -> None:
    """Warn of clients that do not list the values of a column, if there are any."""
    if clients:
        warnings.append(
            f"column {name!r} has many different values for the rows of {of_clients(clients)}; those that nobody lists "
            "are not told apart"
        )


def _few_unlisted(columns: Collection[ColumnSummary]) -> bool:
    """Return whether at most half of the rows are at clients that do not list the values of a column."""
    return 2 * sum(each.present for each in columns if each.levels is None) <= sum(each.present for each in columns)


def _check_same_kind(name: str, filled: Mapping[str, ColumnSummary]) -> None:
    """Check that not some clients have numbers or dates and others text; text that looks like numbers may be listed."""
    nouns = {
        client: "numbers" if column.look == "numbers" and column.levels is None else _NOUNS[column.kind]
        for client, column in filled.items()
    }
    (first, noun), *others = nouns.items()
    few = all(
        column.levels is not None
        or (column.kind == "number" and column.distinct <= min(_MAX_LEVELS, column.present // 2))
        for column in filled.values()
    )
    advice = f", or take it for categories with {mention('categories', [name])}" if few else ""
    for client, other in others:
        if noun != other:
            raise InputError(
                f"column {name!r} has {noun} at client {first!r} and {other} at {client!r}; mend it, or leave the "
                f"column out{advice}"
            )


def _reason_to_leave_out(name: str, columns: Collection[ColumnSummary]) -> str:
    """Return why a column cannot be a measurement: it holds free text, dates that cannot be read, or identifiers.

    An identifier has no value twice at any client, over 50 rows or more. It is text, with hardly a value twice at
    all clients if these list them; or whole numbers with a name such
    as id or key; or whole numbers that differ between all rows as far as their spread tells, and either run like the
    numbers of rows, at each client or in the whole, or have a word such as number in their name. The years of a panel,
    which all clients share, are a measurement.
    """
    looks = set() if _few_unlisted(columns) else {column.look for column in columns if column.levels is None}
    if "free text" in looks:
        return "is free text, which the models do not read, and is left out"
    if "dates" in looks:
        return "holds dates that cannot be read, and is left out; write them with the year first, such as 2024-03-01"
    rows = sum(column.present for column in columns)
    if rows < _MIN_ROWS_OF_IDENTIFIERS:
        return ""
    if not all(column.distinct == column.present and not column.infinite for column in columns):
        return ""
    listed = all(column.levels is not None for column in columns)
    if all(column.kind == "text" for column in columns) and (
        2 * len(count_levels(columns)) > rows
        if listed
        else all(column.look == "" for column in columns) or _words(name) & _WORDS_OF_IDENTIFIERS
    ):
        return "looks like an identifier (text, and no client has a value twice) and is left out"
    if not all(column.whole and math.isfinite(column.squares) for column in columns):
        return ""
    named = bool(_words(name) & _WORDS_OF_IDENTIFIERS)
    spread = 12 * pool(columns)[1] ** 2 / (rows**2 - 1)  # at least 1 if all differ, and 1 for the numbers from 1 to n
    if not named and spread < 1 - _ROUNDING:
        return ""
    in_order = all(column.look == "row numbers" for column in columns) or spread < 1 + _ROUNDING
    if not (named or in_order or _words(name) & _WORDS_OF_NUMBERING):
        return ""
    numbers = "whole numbers in order" if in_order else "a name of one, whole numbers"
    advice = f"if it is a measurement, keep it with {mention('keep', [name])}"
    return f"looks like an identifier ({numbers}, and no client has a value twice) and is left out; {advice}"


def _words(name: str) -> set[str]:
    """Return the words in the name of a column.

    >>> [sorted(_words(name)) for name in ("patientId", "record_no", "ID", "idle days")]
    [['id', 'patient'], ['no', 'record'], ['id'], ['days', 'idle']]
    """
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+|[^\W\d_]+", name)}
