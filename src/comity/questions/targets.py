"""What is predicted: the target that all clients agree on, from what they tell of its columns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from comity.core.names import of_clients, shown
from comity.core.tasks import METRICS_OF, Task
from comity.core.text import count
from comity.core.wording import mention
from comity.errors import InputError
from comity.questions.summaries import ColumnSummary, check_decimal_points, count_levels, pool, unusable_value

Columns = Mapping[str, ColumnSummary]
"""Each client's summary of a column."""
EVENT = {"0": False, "1": True, "false": False, "true": True, "no": False, "yes": True}
"""What says whether an event happened, in lower case."""
_MAX_VALUES_LIKE_CLASSES = 10  # whole numbers with no more different values than these may be classes


@dataclass(frozen=True, slots=True)
class Target:
    """What is predicted.

    It is one of these:

    - a number, standardised like any other by `mean` and `scale`;
    - one of several `classes`;
    - a count, whose `mean` is the rate of all clients for a unit of the column `exposure`, or for a row without it;
    - the time until an event: the column `name` says whether it happened at the time in the column `time`.
    """

    name: str
    task: Task
    classes: tuple[str, ...] = ()
    mean: float = 0.0
    scale: float = 1.0
    exposure: str = ""
    time: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the target takes, and models do not learn from."""
        return tuple(name for name in (self.name, self.exposure, self.time) if name)

    @property
    def noun(self) -> str:
        """What it is, in words; classes are to be named beside it."""
        if self.task == "survival":
            return f"survival, by {self.time}"
        if self.task == "counts":
            return f"counts, by {self.exposure}" if self.exposure else "counts"
        return "classes" if self.classes else "a number"

    @property
    def intercepts(self) -> int:
        """The number of intercepts of a generalised linear model."""
        if self.task == "survival":
            return 0
        return len(self.classes) if len(self.classes) > 2 else 1


def agree_on_target(
    name: str,
    beside: str | None,
    known: Mapping[str, Mapping[str, ColumnSummary]],
    task: Task | None,
    warnings: list[str],
) -> Target:
    """Return the target, or raise an error if it cannot be learned.

    Args:
        name: The column to predict.
        beside: The column that belongs to it: exposures of counts, or times of survival.
        known: Of each client, the summaries of its columns by name.
        task: What the target is; it follows from the values unless given.
        warnings: What users should know is added to these.
    """
    for each in (name,) if beside is None else (name, beside):
        for client, columns in known.items():
            if each not in columns:
                raise InputError(f"client {client!r} has no column {each!r}, which is to be predicted")
    outcome = {client: columns[name] for client, columns in known.items()}
    second = None if beside is None else {client: columns[beside] for client, columns in known.items()}
    if task == "survival":
        assert second is not None, "a study of survival names times"
        return _agree_on_survival(name, outcome, beside or "", second)
    _check_values(f"the target {name!r}", outcome, "predict")
    if task == "counts":
        return _agree_on_counts(name, outcome, beside or "", second)
    return _agree_on_number_or_classes(name, outcome, task, warnings)


def _check_present(what: str, columns: Columns) -> None:
    for client, column in columns.items():
        if column.missing or column.kind == "empty":
            raise InputError(
                f"{what} is missing in {count(column.missing, 'row')} of client {client!r}; "
                "fill it in there, or take what lacks it out"
            )


def _check_values(what: str, columns: Columns, verb: str = "give") -> None:
    """Check that no value is missing, and none impossible; a message says to give numbers, or what `verb` says."""
    _check_present(what, columns)
    for client, column in columns.items():
        check_decimal_points(what, client, column)
        if unusable := unusable_value(column):
            raise InputError(f"{what} has {unusable} at client {client!r}; mend it")
        if column.look == "numbers and text":
            raise InputError(f"{what} has numbers and text at client {client!r}; mend what is no number")
        if column.kind == "date":
            raise InputError(f"{what} holds dates at client {client!r}; {verb} a number, such as days since an event")


def _check_numbers(what: str, columns: Columns, fits: Callable[[ColumnSummary], bool], expected: str) -> None:
    """Check that a column has numbers that fit at every client."""
    for client, column in columns.items():
        if column.kind != "number":
            raise InputError(f"{what} is text at client {client!r}; it must have {expected}")
        if not fits(column):
            raise InputError(f"{what} has values at client {client!r} that do not fit; it must have {expected}")


def _agree_on_counts(name: str, columns: Columns, exposure: str, exposures: Columns | None) -> Target:
    """Return a target of counts, with the rate of all clients."""
    expected = f"whole numbers, 0 or more (for others take {mention('task', 'regression')})"
    _check_numbers(f"the target {name!r}", columns, lambda each: each.whole and each.sign != "negative", expected)
    events = sum(column.present * column.mean for column in columns.values())
    if events <= 0:
        raise InputError(f"the target {name!r} is 0 in every row; there is nothing to predict")
    exposed = float(sum(column.present for column in columns.values()))
    if exposures is not None:
        what = f"the exposure {exposure!r}"
        _check_values(what, exposures)
        _check_numbers(what, exposures, lambda each: each.sign == "positive", "numbers of more than 0")
        exposed = sum(column.present * column.mean for column in exposures.values())
    return Target(name, "counts", mean=events / exposed, exposure=exposure)


def _agree_on_survival(name: str, columns: Columns, time: str, times: Columns) -> Target:
    """Return a target of survival: events, and when they happened."""
    expected = "0 or 1 in every row (or no or yes, false or true)"
    _check_present(f"the event {name!r}", columns)
    for client, column in columns.items():
        if column.levels is None:
            raise InputError(
                f"the event {name!r} has {column.distinct:,} different values at client {client!r}; it must be "
                f"{expected}"
            )
        if other := next((level for level in column.levels if level.casefold() not in EVENT), None):
            raise InputError(f"the event {name!r} is {shown(other)} at client {client!r}; it must be {expected}")
    what = f"the time {time!r}"
    _check_values(what, times)
    _check_numbers(what, times, lambda each: each.sign == "positive", "numbers of more than 0, such as days")
    if not any(EVENT[level.casefold()] for level in count_levels(columns.values())):
        raise InputError(f"the event {name!r} happens in no row of any client; there is nothing to learn from")
    return Target(name, "survival", time=time)


def _agree_on_number_or_classes(name: str, columns: Columns, task: Task | None, warnings: list[str]) -> Target:
    """Return a target that is a number or one of several classes; its values say which unless told."""
    known = all(column.levels is not None for column in columns.values())
    levels = count_levels(columns.values())
    numbers = all(column.kind == "number" for column in columns.values())
    if task is None:
        task = "regression" if numbers and not (known and len(levels) <= 2) else "classes"
        most = max(column.distinct for column in columns.values())
        rows = sum(column.present for column in columns.values())
        whole = all(column.whole for column in columns.values())
        if task == "regression" and whole and most <= _MAX_VALUES_LIKE_CLASSES and 5 * most <= rows:
            warnings.append(
                f"the target {name!r} has few different values, all whole numbers, and is taken for a number; if they "
                f"are classes, say {mention('task', 'classes')}"
            )
    if task == "regression":
        if not numbers:
            raise InputError(
                f"the target {name!r} is text, which regression cannot predict; take the task 'classes', "
                f"or one of its metrics ({_metrics('classes')})"
            )
        mean, scale = pool(columns.values())
        if scale == 0:
            raise InputError(f"the target {name!r} is {mean:g} in every row; there is nothing to predict")
        if same := [client for client, column in columns.items() if column.squares == 0]:
            warnings.append(f"the target {name!r} is the same in every row of {of_clients(same)}")
        return Target(name, task, mean=mean, scale=scale)
    if not known or 2 * len(levels) > max(sum(levels.values()), 4):
        advice = f"take the task 'regression', or one of its metrics ({_metrics('regression')})"
        advice = advice if numbers else "it is text: merge its values into classes, or predict another column"
        raise InputError(f"the target {name!r} has too many different values to be classes; {advice}")
    if len(levels) < 2:
        raise InputError(f"the target {name!r} is {next(iter(levels))!r} in every row; there is nothing to predict")
    if same := [client for client, column in columns.items() if column.levels and len(column.levels) == 1]:
        warnings.append(f"the target {name!r} has one class only at {of_clients(same)}")
    return Target(name, task, classes=tuple(sorted(levels, key=_natural)))


def _metrics(task: Task) -> str:
    return ", ".join(METRICS_OF[task])


def _natural(level: str) -> tuple[int, float, str]:
    """Return a sort key that orders numbers by value, so that 2 comes before 10, and text after them."""
    try:
        return 0, float(level), level
    except ValueError:
        return 1, 0.0, level
