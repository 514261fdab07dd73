"""The result of one method with one seed, kept in a file, so that an interrupted job can continue."""

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
class Cell:
    """The result of one method with one seed: each client's value of the metric on its test rows.

    `alone` are the values of the clients' models alone, trained in the same way, unless these are the values of
    `local`. `seconds` is the time, `rows` a digest of all training and test rows, `settings` those that were chosen,
    and `details` anything else to report, such as the coalitions.
    """

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

    def to_json(self) -> str:
        """Return the cell as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1, allow_nan=False) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Return the cell as values for JSON; NaN and infinite values become None."""
        document: dict[str, Any] = jsonable(asdict(self))
        return document

    @classmethod
    def from_json(cls, text: str) -> Cell:
        """Return the cell that `to_json` wrote."""
        return cls.from_dict(json.loads(text))

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Cell:
        """Return the cell that `to_dict` returned."""
        values, alone = (
            {client: math.nan if value is None else float(value) for client, value in document[name].items()}
            for name in ("values", "alone")
        )
        return cls(**{**document, "values": values, "alone": alone})


def jsonable(value: Any) -> Any:
    """Return a value for JSON: tuples become lists, and numbers that are not finite become None."""
    if isinstance(value, dict):
        return {key: jsonable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(entry) for entry in value]
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
            begun = any((place / FOLDER).glob("*.json"))
            if (setting := _difference(read_text(place / JOB), text, str(place / JOB))) and begun:
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
        write_text(self._path(cell.method, cell.seed), cell.to_json())

    def load_all(self, methods: tuple[str, ...]) -> tuple[Cell, ...]:
        """Return all filled cells of some methods, in the order of the methods and of the seeds."""
        found = [cell for path in (self.directory / FOLDER).glob("*.json") if (cell := self._read(path)) is not None]
        wanted = [cell for cell in found if cell.method in methods]
        return tuple(sorted(wanted, key=lambda cell: (methods.index(cell.method), cell.seed)))

    def _read(self, path: Path) -> Cell | None:
        if not path.exists():
            return None
        try:
            return Cell.from_json(read_text(path))
        except (ValueError, TypeError, KeyError, AttributeError):
            raise FormatError(f"{path}: this is not the result of a method; remove it, and it is made again") from None

    def _path(self, method: str, seed: int) -> Path:
        return self.directory / FOLDER / f"{method}-{seed}.json"


def _difference(kept: str, given: str, name: str) -> str:
    """Return the name of the first setting in which two jobs differ, or an empty text."""
    try:
        jobs = json.loads(kept), json.loads(given)
    except ValueError:
        raise FormatError(f"{name}: this is not a description of a job; give another directory") from None
    return _first_difference(*jobs)


def _first_difference(kept: Any, given: Any) -> str:
    """Return the name of the first setting that differs, also in nested tables."""
    for key in sorted({*kept, *given}):
        old, new = kept.get(key), given.get(key)
        if old != new:
            nested = isinstance(old, dict) and isinstance(new, dict)
            return _first_difference(old, new) if nested else str(key)
    return ""
