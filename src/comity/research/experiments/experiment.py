"""An experiment of the paper: the settings of its runs, and the paper's values."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any

from comity.errors import InputError

_TUPLE_FIELDS = ("methods", "columns", "notes")
EXPERIMENTS = ("synthetic", "adult", "cifar10", "eicu")


@dataclass(frozen=True, slots=True)
class Experiment:
    """One table of the paper: its `methods`, the number of `seeds`, the `settings` of a run, and the paper's values.

    - `paper`: for each method and column (a client, or ``mean``) the paper's mean, and its spread if known;
    - `scale`: turns the `metric` into the paper's units;
    - `labels`: the names of methods in the table;
    - `first_seed`: seeds are numbered from here on;
    - `transposed`: the table has a row for each client;
    - `compared_with`: for each method the one over which its gain is reported, with an interval;
    - `other_clients`: the paper has other clients, so that differences from its values mean nothing;
    - `quantity`: the name of the values, if it is not the metric's.
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
    first_seed: int = 0
    transposed: bool = False
    compared_with: dict[str, str] = field(default_factory=dict)
    other_clients: bool = False
    quantity: str = ""
    quick: bool = False

    @classmethod
    def load(cls, name: str, *, quick: bool = False) -> Experiment:
        """Return one of the experiments; a quick one has fewer seeds and rounds.

        >>> Experiment.load("adult").methods
        ('afl', 'q-ffl', 'local', 'alone', 'spo', 'ce', 'alone-folds', 'spo-folds', 'ce-folds', 'spo-any', 'ce-any')
        """
        if name not in EXPERIMENTS:
            raise InputError(f"there is no experiment {name!r}; choose one of {', '.join(EXPERIMENTS)}")
        document = tomllib.loads(files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))
        changes = document.pop("quick", {})
        if quick:
            document["seeds"] = changes.pop("seeds", document["seeds"])
            document["methods"] = changes.pop("methods", document["methods"])
            document["settings"] = _merge(document["settings"], changes)
        return cls.from_dict({"name": name, "quick": quick, **dict.fromkeys(_TUPLE_FIELDS, ()), **document})

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Experiment:
        """Return the experiment of a TOML or JSON document."""
        paper = {
            method: {column: tuple(map(float, values)) for column, values in columns.items()}
            for method, columns in document["paper"].items()
        }
        tuples = {key: tuple(document[key]) for key in _TUPLE_FIELDS}
        return cls(**{**document, **tuples, "paper": paper})

    def with_choices(self, methods: tuple[str, ...] | None, seeds: int | None) -> Experiment:
        """Return the experiment with only some of its methods, or another number of seeds."""
        for name in methods or ():
            if name not in self.methods:
                raise InputError(f"{self.name} has no method {name!r}; choose among {', '.join(self.methods)}")
        if seeds is not None and seeds < 1:
            raise InputError(f"seeds is {seeds}; it must be 1 or more")
        kept = tuple(name for name in self.methods if methods is None or name in methods)
        return replace(self, methods=kept, seeds=self.seeds if seeds is None else seeds)

    def label(self, method: str) -> str:
        """Return the name of a method in the table."""
        return (self.labels or {}).get(method, method)


def _merge(settings: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return settings with some replaced, also in nested tables."""
    merged = dict(settings)
    for key, value in changes.items():
        merged[key] = _merge(merged[key], value) if isinstance(value, dict) and key in merged else value
    return merged
