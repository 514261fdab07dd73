"""The settings of a study: what to predict, how to judge, how sure to be. A TOML file can hold them."""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, Self, get_args

from comity.collaborators import ClipRule, Search
from comity.core import shown
from comity.errors import InputError
from comity.files import read_text
from comity.metrics import METRICS
from comity.questions import Split
from comity.schema import Task

Weights = Literal["sample", "client"]
Rule = Literal["smallest", "clip"]
Model = Literal["linear", "mlp", "module"]
# Folds are repeated, since with few rows one way to draw them may mislead; with more clients there is more to do.
_REPEATS = ((12, 4), (24, 2))
_JUDGES = ((24, 10), (300, 5))
_FEWEST_FOLDS = 2
_LEAST, _MOST = 1e-9, 1e3  # penalties
PATHS = ("source", "out")  # what a file may say besides settings


@dataclass(frozen=True, slots=True)
class Study:
    """What is asked: the target, how models are judged, and how sure one wants to be.

    `task` and `metric` follow from the target unless told. `exclude` leaves columns out, `keep` keeps one that looks
    like an identifier, and `without` leaves clients out. `folds` parts of the rows choose collaborators and penalties,
    `repeats` times over; `judges` parts judge honestly what was chosen on the rest; both follow from the number of
    clients unless told. `confidence` is how many standard errors a gain must have to count. `weights` are per sample,
    or per client as in the paper; `rule` is the smallest set that is nearly as good, or the paper's clipped weights.
    `resamples` of the rows say how sure each edge is. `client` is the column that says whose a row is, where rows come
    in one table. `penalty` fixes the ridge penalty of all models instead of letting the folds choose it.

    `model` is linear, or a perceptron (``mlp``) with `depth` hidden layers of `width`, whose hypernetwork is trained in
    so many `steps`; then `folds` is how often rows are held out in turn to choose by, 1 being one part in six, once.
    `fine_tune` is how many steps each client takes with its shared model on its own rows, in the end. With
    `local_steps`, clients take so many of the steps by themselves between two rounds, where a round takes seconds.
    A ``module`` of torch's is for `comity.solve` only.

    >>> Study("died").split(clients=8).judges
    10
    """

    target: str
    task: Task | None = None
    metric: str | None = None
    exclude: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    folds: int | None = None
    repeats: int | None = None
    judges: int | None = None
    confidence: float = 1.0
    weights: Weights = "sample"
    rule: Rule = "smallest"
    resamples: int = 0
    seed: int = 0
    client: str | None = None
    penalty: float | None = None
    model: Model = "linear"
    width: int = 32
    depth: int = 1
    steps: int = 800
    fine_tune: int = 0
    local_steps: int = 0

    def __post_init__(self) -> None:
        _check_choice("task", self.task, (None, *get_args(Task)))
        _check_choice("metric", self.metric, (None, *METRICS))
        _check_choice("weights", self.weights, get_args(Weights))
        _check_choice("rule", self.rule, get_args(Rule))
        _check_choice("model", self.model, get_args(Model))
        if self.folds is not None:
            _check_whole("folds", self.folds, _FEWEST_FOLDS if self.model == "linear" else 1)
        for name in ("width", "depth", "steps"):
            _check_whole(name, getattr(self, name), 1)
        for name in ("fine_tune", "local_steps"):
            _check_whole(name, getattr(self, name), 0)
        for name in ("repeats", "judges"):
            if getattr(self, name) is not None:
                _check_whole(name, getattr(self, name), 1 if name == "repeats" else _FEWEST_FOLDS)
        _check_whole("resamples", self.resamples, 0)
        _check_whole("seed", self.seed, 0)
        confidence: object = self.confidence
        if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence < math.inf:
            raise InputError(f"confidence is {self.confidence!r}; it must be a number of standard errors, 0 or more")
        penalty: object = self.penalty
        if isinstance(penalty, bool) or (
            penalty is not None and (not isinstance(penalty, int | float) or not _LEAST <= penalty <= _MOST)
        ):
            raise InputError(f"penalty is {penalty!r}; it must be a number from {_LEAST:g} to {_MOST:g}")
        target: object = self.target
        if not isinstance(target, str) or not target:
            raise InputError(f"the target is {self.target!r}; it must be the name of a column")
        client: object = self.client
        if client is not None and (not isinstance(client, str) or not client):
            raise InputError(f"the client is {self.client!r}; it must be the name of a column")
        for setting, of in (("exclude", "columns"), ("keep", "columns"), ("without", "clients")):
            names: Any = getattr(self, setting)
            if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
                raise InputError(f"{setting} is {names!r}; it must be a list of names of {of}")
            object.__setattr__(self, setting, tuple(names))
        for name in self._out_of_place():
            raise InputError(f"{name} has no meaning for the model {self.model!r}; leave it out")
        if both := [name for name in self.keep if name in self.exclude]:
            raise InputError(f"column {both[0]!r} cannot both be kept and excluded")
        if self.target == self.client:
            raise InputError(f"column {self.target!r} cannot both be predicted and say whose a row is")
        for needed in (self.target, self.client):
            if needed in self.exclude:
                raise InputError(f"column {needed!r} is needed and cannot be excluded")
        if self.metric is not None:
            task = METRICS[self.metric].task
            if self.task not in (None, task):
                fitting = ", ".join(name for name, metric in METRICS.items() if metric.task == self.task)
                raise InputError(
                    f"the metric {self.metric!r} is not for the task {self.task!r}, which has {fitting}; change one"
                )
            object.__setattr__(self, "task", task)

    def split(self, clients: int) -> Split:
        """Return how rows are split with so many clients."""
        repeats = next((times for most, times in _REPEATS if clients <= most), 1)
        judges = next((parts for most, parts in _JUDGES if clients <= most), 3)
        return Split(
            folds=5 if self.folds is None else self.folds,
            repeats=repeats if self.repeats is None else self.repeats,
            judges=judges if self.judges is None else self.judges,
            resamples=self.resamples,
            seed=self.seed,
        )

    def search(self) -> Search:
        """Return how collaborators are looked for."""
        return Search(
            standard_errors=self.confidence,
            standard_errors_to_join=self.confidence,
            clip_rule=ClipRule() if self.rule == "clip" else None,
            penalty=self.penalty,
        )

    def _out_of_place(self) -> Iterator[str]:
        """Yield settings that were given and that the model has no use for."""
        of_tables = ("exclude", "keep", "client", "width", "depth")  # the task follows from a metric
        of_linear = ("repeats", "judges", "resamples", "penalty")
        of_networks = ("width", "depth", "steps", "fine_tune", "local_steps")
        useless = {"linear": of_networks, "mlp": of_linear, "module": (*of_linear, *of_tables)}
        for field in fields(self):
            if field.name in useless[self.model] and getattr(self, field.name) != field.default:
                yield field.name

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def check_names(cls, settings: Mapping[str, Any], more: tuple[str, ...] = ()) -> None:
        """Check that there are settings of these names; a caller may know some more."""
        known = [*(field.name for field in fields(cls)), *more]
        for name in settings:
            if name not in known:
                close = difflib.get_close_matches(name, known, n=1)
                hint = f"; did you mean {close[0]!r}?" if close else f"; there are {', '.join(known)}"
                raise InputError(f"there is no setting {shown(name)}{hint}")

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any]) -> Self:
        """Return the study of some settings, having checked their names."""
        cls.check_names(settings)
        if not settings.get("target"):
            raise InputError("the study says no target: which column is to be predicted?")
        return cls(**settings)


def read_study(path: str) -> dict[str, Any]:
    """Return the settings in a TOML file, by name, having checked them; it may also say `source` and `out`.

    These two are paths, and relative ones begin at the file.
    """
    try:
        settings = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not TOML ({error})") from None
    try:
        Study.check_names(settings, PATHS)
        rest = {name: value for name, value in settings.items() if name not in PATHS}
        Study(**{"target": "(to be told)", **rest})
        for name in PATHS:
            if name in settings and (not isinstance(settings[name], str) or not settings[name]):
                raise InputError(f"{name} is {shown(settings[name])}; it must be a path")
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return settings | {name: str(Path(path).parent / settings[name]) for name in PATHS if name in settings}


def _check_choice(name: str, value: object, choices: tuple[object, ...]) -> None:
    if value not in choices:
        raise InputError(f"{name} is {value!r}; choose one of {', '.join(str(c) for c in choices if c is not None)}")


def _check_whole(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"{name} is {value!r}; it must be a whole number, {least} or more")
