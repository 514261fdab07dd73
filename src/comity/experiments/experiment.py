"""An experiment of the paper: what is run, and what the paper has."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any

from comity.errors import InputError

_LISTS = ("methods", "columns", "notes")
EXPERIMENTS = ("synthetic", "adult", "cifar10", "eicu")


@dataclass(frozen=True, slots=True)
class Experiment:
    """One table of the paper: its `methods`, how many `seeds`, the `settings` of each, and the paper's values.

    `paper` has for a method the mean of each column, a client or ``mean``, and the spread if it is told; `scale` turns
    the `metric` into the paper's units. Seeds are numbered from the `first` on. An `upright` table has a row for each
    column. What a method gains over the one it is to be `compared` with is told with an interval. `values` says what
    they are, where the metric's name does not. Differences from the paper are told unless its clients are `others`.
    """

    name: str
    title: str
    metric: str
    methods: tuple[str, ...]
    seeds: int
    settings: dict[str, Any]
    paper: dict[str, dict[str, tuple[float, ...]]]
    columns: tuple[str, ...]
    scale: float = 1.0
    decimals: int = 1
    labels: dict[str, str] | None = None
    notes: tuple[str, ...] = ()
    first: int = 0
    upright: bool = False
    compared: dict[str, str] = field(default_factory=dict)
    others: bool = False
    values: str = ""
    quick: bool = False

    @classmethod
    def load(cls, name: str, *, quick: bool = False) -> Experiment:
        """Return one of the experiments; a quick one has fewer seeds and shorter trainings.

        >>> Experiment.load("adult").methods
        ('afl', 'q-ffl', 'local', 'alone', 'spo', 'ce', 'alone-folds', 'spo-folds', 'ce-folds', 'spo-any', 'ce-any')
        """
        if name not in EXPERIMENTS:
            raise InputError(f"there is no experiment {name!r}; there are {', '.join(EXPERIMENTS)}")
        told = tomllib.loads(files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))
        short = told.pop("quick", {})
        if quick:
            told["seeds"] = short.pop("seeds", told["seeds"])
            told["methods"] = short.pop("methods", told["methods"])
            told["settings"] = _merged(told["settings"], short)
        return cls.from_dict({"name": name, "quick": quick, **dict.fromkeys(_LISTS, ()), **told})

    @classmethod
    def from_dict(cls, told: dict[str, Any]) -> Experiment:
        """Return an experiment from plain values."""
        paper = {
            method: {column: tuple(map(float, values)) for column, values in columns.items()}
            for method, columns in told["paper"].items()
        }
        lists = {key: tuple(told[key]) for key in _LISTS}
        return cls(**{**told, **lists, "paper": paper})

    def with_choices(self, methods: tuple[str, ...] | None, seeds: int | None) -> Experiment:
        """Return the experiment with some of its methods only, and another number of seeds."""
        for name in methods or ():
            if name not in self.methods:
                raise InputError(f"{self.name} has no method {name!r}; it has {', '.join(self.methods)}")
        if seeds is not None and seeds < 1:
            raise InputError(f"there are {seeds} seeds; it takes 1 or more")
        kept = tuple(name for name in self.methods if methods is None or name in methods)
        return replace(self, methods=kept, seeds=self.seeds if seeds is None else seeds)

    def label(self, method: str) -> str:
        """Return what a method is called in the table."""
        return (self.labels or {}).get(method, method)


def _merged(settings: dict[str, Any], short: dict[str, Any]) -> dict[str, Any]:
    """Return settings in which some are replaced, also inside of tables."""
    both = dict(settings)
    for key, value in short.items():
        both[key] = _merged(both[key], value) if isinstance(value, dict) and key in both else value
    return both
