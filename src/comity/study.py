"""The settings of a study: what to predict, how models are evaluated, and how collaborators are chosen."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from comity.core.names import shown
from comity.core.settings import (
    Declaration,
    check_known,
    check_settings,
    choice,
    encoding,
    name,
    names,
    path,
    real,
    settings_file,
    settings_of,
    whole,
)
from comity.core.tasks import METRICS_OF, MetricName, Task, task_of
from comity.core.wording import mention
from comity.errors import InputError

# The command line takes its options from here, and must start at once: what needs numpy is imported when it is used.
if TYPE_CHECKING:
    from comity.questions import Split
    from comity.search.collaborators import Search

Weights = Literal["sample", "client"]
Rule = Literal["smallest", "clip"]
SearchName = Literal["borrow", "spo", "exhaustive"]
# With few clients, folds are drawn several times, since one draw of few rows may mislead; with many it takes too long.
# Each pair is a number of clients and the default for up to that many.
_REPEATS = ((12, 4), (24, 2), (math.inf, 1))
_JUDGES = ((24, 10), (300, 5), (math.inf, 3))
_FOLDS = 5
_ON_FRONTS = ("spo", "exhaustive")
# Settings that only some searches use, with the names of these.
_OF_ALL_MODELS = ("regression", "classes")
_ONLY_WITH_TASK: dict[str, Task] = {"exposure": "counts", "time": "survival", "event": "survival"}
_ONLY_WITH = {"worth": ("borrow",)} | dict.fromkeys(
    ("repeats", "judges", "confidence", "weights", "rule", "resamples", "penalty"), _ON_FRONTS
)


_METRIC = f"one of {', '.join(name for names in METRICS_OF.values() for name in names)}, where 0 < S < 1"


def _is_metric(value: object) -> bool:
    return isinstance(value, str) and task_of(value) is not None


def _check_model_name(value: object) -> str:
    """Return the name of a family of models."""
    from comity.families.registry import FAMILIES, NAMES

    if not isinstance(value, str) or value not in FAMILIES:
        raise InputError(f"{mention('model')} is {shown(value)}; it must be one of {', '.join(NAMES)}")
    return value


@dataclass(frozen=True, slots=True)
class Study:
    """The settings of a study.

    They have the same names in Python, in a TOML file and on the command line (``--fine-tune`` for `fine_tune`). The
    model ``module`` stands for a torch module, which only `comity.solve_modules` takes.

    Args:
        target: The column to predict.
        task: Whether the target is a number (regression), one of several classes, a count (counts), or the time until
            an event (survival). Default: follows from the metric if that is given, otherwise from the values of the
            target.
        metric: The metric in which results are reported: auc, accuracy, log-loss, brier or sensitivity@S (at a
            specificity S, such as 0.9) for classes; rmse, r2, mae or medae for regression; deviance for counts;
            concordance for survival. Default: follows from the task: auc for classes, rmse for
            regression, deviance for counts, concordance for survival.
        exposure: The column by which expected counts are multiplied, such as the days that each row was at risk.
            Default: none.
        time: With the task survival, the column with the time until the event, or until the row was last seen. Default:
            none.
        event: With the task survival, the column that says whether the event happened (1) or not (0); it is the target.
            Default: none.
        exclude: Columns to leave out. Default: none.
        keep: Columns of numbers to keep although they look like identifiers. Default: none.
        categories: Columns of numbers, with few different values, to take for categories. Default: none.
        without: Clients to leave out. Default: none.
        folds: Number of parts into which each client deals its rows, to test collaborators and penalties. Default:
            follows from the model: 5 if linear; 1 for networks, which holds out one sixth of the rows once.
        repeats: How often the folds are drawn. Default: follows from the number of clients: 4 for up to 12, 2 for up to
            24, 1 for more.
        judges: Number of outer folds, which evaluate on held-out rows what was chosen on the others. Default: follows
            from the number of clients: 10 for up to 24, 5 for up to 300, 3 for more.
        confidence: How many standard errors a gain must exceed to count. Default: 1.0.
        weights: Whether a client's weight is that of each of its rows (sample) or of all of them together (client, as
            in the paper). Default: sample.
        rule: How collaborators are chosen: the smallest set that is nearly as good as the best (smallest), or all with
            a weight above a threshold, as in the paper (clip). Default: smallest.
        resamples: How often the rows are resampled to measure how certain each edge is. Default: 0.
        seed: Seed of everything that is drawn at random; the same seed gives the same result. Default: 0.
        client: The column that names the client of each row, where all rows are in one table. Default: none.
        id: A column that identifies rows: it is not learned from, and predictions have it. Default: none.
        group: A column whose rows with equal values, such as those of one patient, are held out together; it is not
            learned from. Default: none.
        encoding: The encoding of CSV files, such as latin-1 or cp1252. Default: utf-8.
        penalty: The ridge penalty of all models, from 1e-9 to 1000. Default: chosen by the folds.
        model: The kind of model: linear or logistic regression (linear); gradient-boosted trees (boosting) or a random
            forest (forest), which need scikit-learn; or a perceptron (mlp, needs torch). Default: linear.
        search: How collaborators are found: by what all clients' rows tell (borrow), on the Pareto front, as in the
            paper (spo), or by trying every subset of at most 12 clients (exhaustive). Default: follows from the model:
            spo for networks, borrow for all others.
        worth: With the search borrow, a client collaborates only if it may expect to gain at least this share of its
            loss alone, or half of it if clients gain that much on average. Default: 0.01.
        width: Units in each hidden layer of a perceptron. Default: 32.
        depth: Hidden layers of a perceptron. Default: 1.
        steps: Training steps of the hypernetwork that generates perceptrons. Default: 800.
        fine_tune: Steps by which each client finally tunes its model on its own rows. Default: 0.
        local_steps: Training steps that clients take between two rounds of communication; 0 means one round for each
            step. Default: 0.

    Raises:
        InputError: A value is not allowed, or settings contradict each other.

    >>> Study("died", search="spo").split(clients=8).judges
    10
    >>> Study("died", folds=1)
    Traceback (most recent call last):
    comity.errors.InputError: folds is 1; it must be a whole number, 2 or more
    """

    target: Annotated[str, name("column")]
    task: Annotated[Task | None, choice(Task)] = None
    metric: Annotated[MetricName | None, Declaration(_METRIC, _is_metric, metavar="NAME")] = None
    exposure: Annotated[str | None, name("column")] = None
    time: Annotated[str | None, name("column")] = None
    event: Annotated[str | None, name("column")] = None
    exclude: Annotated[tuple[str, ...], names("column")] = ()
    keep: Annotated[tuple[str, ...], names("column")] = ()
    categories: Annotated[tuple[str, ...], names("column")] = ()
    without: Annotated[tuple[str, ...], names("client")] = ()
    folds: Annotated[int | None, whole(1)] = None
    repeats: Annotated[int | None, whole(1)] = None
    judges: Annotated[int | None, whole(2)] = None
    confidence: Annotated[float, real(0, noun="a number of standard errors")] = 1.0
    weights: Annotated[Weights, choice(Weights)] = "sample"
    rule: Annotated[Rule, choice(Rule)] = "smallest"
    resamples: Annotated[int, whole(0)] = 0
    seed: Annotated[int, whole(0)] = 0
    client: Annotated[str | None, name("column")] = None
    id: Annotated[str | None, name("column")] = None
    group: Annotated[str | None, name("column")] = None
    encoding: Annotated[str, encoding()] = "utf-8"
    penalty: Annotated[float | None, real(1e-9, 1e3)] = None
    model: Annotated[str, Declaration("the name of a kind of model", _check_model_name, metavar="NAME")] = "linear"
    search: Annotated[SearchName | None, choice(SearchName)] = None
    worth: Annotated[float, real(0, 1, noun="a share of the loss")] = 0.01
    width: Annotated[int, whole(1)] = 32
    depth: Annotated[int, whole(1)] = 1
    steps: Annotated[int, whole(1)] = 800
    fine_tune: Annotated[int, whole(0)] = 0
    local_steps: Annotated[int, whole(0)] = 0

    def __post_init__(self) -> None:
        check_settings(self)
        self._check_model()
        if self.metric is not None:
            task = task_of(self.metric)
            if self.task is not None and self.task != task:
                raise InputError(
                    f"the metric {self.metric!r} is not for the task {self.task!r}, which has "
                    f"{', '.join(METRICS_OF[self.task])}; change {mention('metric')} or {mention('task')}"
                )
            object.__setattr__(self, "task", task)
        self._check_task()
        self._check_columns()

    def _check_task(self) -> None:
        """Check that the task has the columns it needs, and that the model and the search know it."""
        from comity.families.registry import FAMILIES

        for role, task in _ONLY_WITH_TASK.items():
            if getattr(self, role) is not None and self.task != task:
                raise InputError(
                    f"{mention(role)} is for the task {task!r}; leave it out, or take {mention('task', task)}"
                )
        if self.task == "survival":
            if missing := [role for role in ("time", "event") if getattr(self, role) is None]:
                raise InputError(
                    f"the task 'survival' needs times and events; say which columns they are: "
                    f"{' and '.join(mention(role, ...) for role in missing)}"
                )
            if self.target != self.event:
                raise InputError(
                    f"the target of the task 'survival' is the event, {self.event!r}; leave {mention('target')} out"
                )
        if self.task is None or self.task in _OF_ALL_MODELS:
            return
        if self.task not in FAMILIES[self.model].tasks:
            raise InputError(
                f"the model {self.model!r} does not know the task {self.task!r}; take {mention('model', 'linear')}"
            )
        if not self.borrows:
            raise InputError(
                f"the search {self.search!r} does not know the task {self.task!r}; take {mention('search', 'borrow')}"
            )

    def _check_columns(self) -> None:
        """Check that no column has two roles that contradict each other."""
        if both := [column for column in self.keep if column in self.exclude]:
            raise InputError(
                f"column {both[0]!r} cannot be both kept and excluded; take it out of {mention('keep')} or "
                f"{mention('exclude')}"
            )
        if self.target == self.client:
            raise InputError(
                f"column {self.target!r} cannot be both the target and the client of each row; change "
                f"{mention('target')} or {mention('client')}"
            )
        used = [self.target, self.client, *self.keep, *self.categories]
        for role in ("exposure", "time", "id", "group"):
            column = getattr(self, role)
            if column is not None and column in used:
                raise InputError(f"column {column!r} has another use; change {mention(role)}")
            if role in ("exposure", "time"):
                used.append(column)
        for needed in (self.target, self.beside, self.client, self.id, self.group):
            if needed in self.exclude:
                raise InputError(f"column {needed!r} is needed; take it out of {mention('exclude')}")

    @property
    def borrows(self) -> bool:
        """Whether collaborators are found by what all clients' rows tell, so that gains are expected ones."""
        return self.search == "borrow"

    @property
    def beside(self) -> str | None:
        """The column that belongs to the target: the exposure of counts, or the times of survival."""
        return self.exposure or self.time

    @property
    def not_features(self) -> tuple[str, ...]:
        """The columns of a table that models do not learn from: those excluded, the id and the group."""
        named = (column for column in (self.id, self.group) if column is not None)
        return tuple(dict.fromkeys((*self.exclude, *named)))

    def _check_model(self) -> None:
        """Check that the settings suit the kind of model."""
        from comity.families.registry import FAMILIES

        family = FAMILIES[self.model]
        if self.search is None:
            object.__setattr__(self, "search", family.searches[0])
        if self.search not in family.searches:
            raise InputError(
                f"{mention('search')} is {self.search!r}, which the model {self.model!r} does not have; it must be one "
                f"of {', '.join(family.searches)}"
            )
        if self.folds is not None and self.folds < family.min_folds:
            raise InputError(f"{mention('folds')} is {self.folds}; it must be {whole(family.min_folds).expected}")
        unused = {setting for each in FAMILIES.values() for setting in each.settings} - family.settings
        for field in fields(self):
            if getattr(self, field.name) == field.default:
                continue
            if field.name in unused:
                raise InputError(f"{mention(field.name)} has no effect on the model {self.model!r}; leave it out")
            if field.name in _ONLY_WITH and self.search not in _ONLY_WITH[field.name]:
                raise InputError(
                    f"{mention(field.name)} has no effect on the search {self.search!r}; leave it out, or take "
                    f"{mention('search', _ONLY_WITH[field.name][0])}"
                )

    def split(self, clients: int) -> Split:
        """Return how the rows of each client are split.

        Args:
            clients: The number of clients.

        Returns:
            The folds, their repeats, the outer folds and the resamples.
        """
        from comity.questions import Split

        if self.borrows:  # rows are dealt once, into disjoint parts
            return Split(folds=self.folds or _FOLDS, repeats=1, judges=0, seed=self.seed)
        repeats = next(default for most, default in _REPEATS if clients <= most)
        judges = next(default for most, default in _JUDGES if clients <= most)
        return Split(
            folds=_FOLDS if self.folds is None else self.folds,
            repeats=repeats if self.repeats is None else self.repeats,
            judges=judges if self.judges is None else self.judges,
            resamples=self.resamples,
            seed=self.seed,
        )

    def search_settings(self) -> Search:
        """Return how collaborators are searched for."""
        from comity.questions.search import ClipRule
        from comity.search.collaborators import Search

        return Search(
            standard_errors=self.confidence,
            standard_errors_to_join=self.confidence,
            clip_rule=ClipRule() if self.rule == "clip" else None,
            penalty=self.penalty,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return {field: list(value) if isinstance(value, tuple) else value for field, value in asdict(self).items()}

    @classmethod
    def check_names(cls, settings: Mapping[str, Any], more: tuple[str, ...] = ()) -> None:
        """Check that every name is that of a setting, or one of `more`.

        Args:
            settings: Settings by name.
            more: Names that the caller allows besides.

        Raises:
            InputError: There is no setting of some name; the nearest one is suggested.
        """
        check_known(settings, (*settings_of(cls), *more))

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any]) -> Self:
        """Return the study with these settings.

        Args:
            settings: Settings by name; the target is required.

        Raises:
            InputError: A name or a value is not allowed.
        """
        cls.check_names(settings)
        if not settings.get("target") and settings.get("event"):
            settings = {**settings, "target": settings["event"]}
        if not settings.get("target"):
            raise InputError(f"there is no target; say which column to predict: {mention('target', ...)}")
        return cls(**settings)


@dataclass(frozen=True, slots=True)
class StudyFile:
    """A TOML file with the settings of a study, the path of the table to read and that of the directory to write."""

    settings: dict[str, Any]
    source: Annotated[Path | None, path()] = None
    out: Annotated[Path | None, path()] = None

    def __post_init__(self) -> None:
        check_settings(self)

    @classmethod
    def read(cls, file: str) -> Self:
        """Read and check a file; its paths are relative to it, and the target may be missing."""
        with settings_file(file) as settings:
            Study.check_names(settings, tuple(settings_of(cls)))
            paths = {key: settings.pop(key) for key in settings_of(cls) if key in settings}
            checked = cls(settings, **paths)
            Study(**{"target": settings.get("event", "(not yet known)"), **settings})
        return cls(settings, **{key: Path(file).parent / getattr(checked, key) for key in paths})
