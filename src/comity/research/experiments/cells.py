"""The results of methods: a cell for each method and seed, kept in a file so that an interrupted job can continue."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from comity.core.files import read_text, write_text
from comity.errors import FormatError, InputError

JOB = "job.json"
FOLDER = "cells"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a method attained: each client's value of the metric on its test rows.

    `alone` are the values of the clients' models alone, trained in the same way, unless these are the values of the
    method `local`. `settings` are those that were chosen, `details` anything else to report, such as the coalitions,
    and `seconds` the time, if it was not spent now.
    """

    values: dict[str, float]
    alone: dict[str, float] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """The outcome of one method with one seed (see `Outcome`); `rows` is a digest of all training and test rows."""

    method: str
    seed: int
    values: dict[str, float]
    alone: dict[str, float]
    seconds: float
    rows: str
    settings: dict[str, Any] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def trained(self) -> bool:
        """Whether any client has a value."""
        return any(not math.isnan(value) for value in self.values.values())

    @property
    def sides(self) -> list[str]:
        """The sides of the table for which the method found coalitions; a table with one side has an empty name."""
        if self.method.startswith(("spo", "alone")):  # their coalitions are those of ce
            return []
        return [key.removesuffix("coalitions").strip() for key in self.details if key.endswith("coalitions")]

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Cell:
        """Return a cell from its JSON document, in which None stands for NaN."""
        values, alone = (
            {client: math.nan if value is None else float(value) for client, value in document[name].items()}
            for name in ("values", "alone")
        )
        return cls(**{**document, "values": values, "alone": alone})


def to_json(document: Any) -> str:
    """Return a document as JSON; numbers that are not finite become null."""
    return json.dumps(_jsonable(document), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _jsonable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _jsonable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of one job, in a directory; the job's settings are kept there too, so that jobs are never mixed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     cells = Cells.open(place, {"seeds": 2})
    ...     cells.save(Cell("local", 0, {"a": 0.5}, {"a": 0.5}, 1.0, "…"))
    ...     cells.load("local", 0).values, cells.load("local", 1)
    ({'a': 0.5}, None)
    """

    directory: Path

    @classmethod
    def open(cls, directory: str | Path, job: dict[str, Any]) -> Cells:
        """Return the cells of a job, after checking that the cells in the directory belong to it."""
        place = Path(directory)
        if place.exists() and not place.is_dir():
            raise InputError(f"{place}: this is not a directory; give one, to keep a file for each method and seed")
        text = json.dumps(job, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
        if (place / JOB).exists():
            kept = read_text(place / JOB)
            try:
                setting = _first_difference(json.loads(kept), json.loads(text))
            except ValueError:
                raise FormatError(
                    f"{place / JOB}: this is not a description of a job; give another directory"
                ) from None
            if setting and any((place / FOLDER).glob("*.json")):
                raise InputError(
                    f"{place}: this directory has the results of another job ({setting} differs); give another "
                    "directory, or the same settings to continue"
                )
        elif place.exists() and any(place.iterdir()):
            raise InputError(f"{place}: this directory has other files in it; give another directory")
        (place / FOLDER).mkdir(parents=True, exist_ok=True)
        write_text(place / JOB, text)
        return cls(place)

    def load(self, method: str, seed: int) -> Cell | None:
        """Return a cell, or None if it is still empty."""
        return self._read(self._path(method, seed))

    def save(self, cell: Cell) -> None:
        """Write a cell, entirely or not at all."""
        (self.directory / FOLDER).mkdir(exist_ok=True)
        write_text(self._path(cell.method, cell.seed), to_json(asdict(cell)))

    def load_all(self, methods: tuple[str, ...]) -> tuple[Cell, ...]:
        """Return all filled cells of some methods, in the order of the methods and of the seeds."""
        found = [cell for path in (self.directory / FOLDER).glob("*.json") if (cell := self._read(path)) is not None]
        chosen = [cell for cell in found if cell.method in methods]
        return tuple(sorted(chosen, key=lambda cell: (methods.index(cell.method), cell.seed)))

    def _read(self, path: Path) -> Cell | None:
        if not path.exists():
            return None
        try:
            return Cell.from_dict(json.loads(read_text(path)))
        except (ValueError, TypeError, KeyError, AttributeError):
            raise FormatError(f"{path}: this is not the result of a method; remove it, and it is made again") from None

    def _path(self, method: str, seed: int) -> Path:
        return self.directory / FOLDER / f"{method}-{seed}.json"


def _first_difference(old: Any, new: Any) -> str:
    """Return the name of the first setting in which two jobs differ, also in nested tables, or an empty text."""
    for key in sorted({*old, *new}):
        before, after = old.get(key), new.get(key)
        if before != after:
            nested = isinstance(before, dict) and isinstance(after, dict)
            return _first_difference(before, after) if nested else str(key)
    return ""
