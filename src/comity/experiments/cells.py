"""What one method attained with one seed, kept in a file of its own, so that an interrupted job goes on from there."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from comity.errors import FormatError, InputError
from comity.files import read_text, write_text

JOB = "job.json"
FOLDER = "cells"


@dataclass(frozen=True, slots=True)
class Cell:
    """One method with one seed: each client's value on its test rows, and what it has alone.

    `alone` are the values that a client's own model has, trained in the same way, if that is not `local`. `seconds` is
    how long it took, `settings` what was chosen on the way, `rows` a digest of whose rows train and test, and `story`
    what else is to be told, such as the coalitions.
    """

    method: str
    seed: int
    values: dict[str, float]
    alone: dict[str, float]
    seconds: float
    rows: str
    settings: dict[str, Any] = field(default_factory=dict)
    story: dict[str, Any] = field(default_factory=dict)

    @property
    def trained(self) -> bool:
        """Whether some client has a value."""
        return any(not math.isnan(value) for value in self.values.values())

    def to_json(self) -> str:
        """Return the cell as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1, allow_nan=False) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Return the cell as plain values; what is not a number is nothing."""
        told: dict[str, Any] = plain(asdict(self))
        return told

    @classmethod
    def from_json(cls, text: str) -> Cell:
        """Return the cell that was written as JSON."""
        return cls.from_dict(json.loads(text))

    @classmethod
    def from_dict(cls, told: dict[str, Any]) -> Cell:
        """Return the cell from plain values."""
        values, alone = (
            {client: math.nan if value is None else float(value) for client, value in told[name].items()}
            for name in ("values", "alone")
        )
        return cls(**{**told, "values": values, "alone": alone})


def plain(value: Any) -> Any:
    """Return values as JSON has them: what is not a number, or infinite, as nothing."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of a job in a directory; `job` says what is done, and cells of another one are not taken for its own.

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
        """Return the cells of a job, having checked that what there is belongs to it."""
        place = Path(directory)
        if place.exists() and not place.is_dir():
            raise InputError(f"{place}: this is no directory; every finished method and seed is a file in one")
        told = json.dumps(job, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
        if (place / JOB).exists():
            begun = any((place / FOLDER).glob("*.json"))
            if (differs := _difference(read_text(place / JOB), told, str(place / JOB))) and begun:
                raise InputError(
                    f"{place}: another job was begun there ({differs} differs); give another directory, or say the "
                    "same again to go on with it"
                )
        elif place.exists() and any(place.iterdir()):
            raise InputError(f"{place}: there is something else in it; give another directory")
        (place / FOLDER).mkdir(parents=True, exist_ok=True)
        write_text(place / JOB, told)
        return cls(place)

    def load(self, method: str, seed: int) -> Cell | None:
        """Return a cell, or nothing if it is still to be filled."""
        return self._read(self._path(method, seed))

    def save(self, cell: Cell) -> None:
        """Keep a cell, whole or not at all."""
        (self.directory / FOLDER).mkdir(exist_ok=True)
        write_text(self._path(cell.method, cell.seed), cell.to_json())

    def every(self, methods: tuple[str, ...]) -> tuple[Cell, ...]:
        """Return all cells that are there of some methods, in the order of these and of the seeds."""
        found = [cell for path in (self.directory / FOLDER).glob("*.json") if (cell := self._read(path)) is not None]
        wanted = [cell for cell in found if cell.method in methods]
        return tuple(sorted(wanted, key=lambda cell: (methods.index(cell.method), cell.seed)))

    def _read(self, path: Path) -> Cell | None:
        if not path.exists():
            return None
        try:
            return Cell.from_json(read_text(path))
        except (ValueError, TypeError, KeyError, AttributeError):
            raise FormatError(f"{path}: this is no cell of a table; remove it, and it is made again") from None

    def _path(self, method: str, seed: int) -> Path:
        return self.directory / FOLDER / f"{method}-{seed}.json"


def _difference(there: str, told: str, name: str) -> str:
    """Return the name of the first setting in which two jobs differ, or nothing."""
    try:
        one, other = json.loads(there), json.loads(told)
    except ValueError:
        raise FormatError(f"{name}: this does not say what job was begun; give another directory") from None
    return _first(one, other)


def _first(one: Any, other: Any) -> str:
    """Return the first of the settings that differ, also inside of tables."""
    for key in sorted({*one, *other}):
        here, there = one.get(key), other.get(key)
        if here != there:
            inside = isinstance(here, dict) and isinstance(there, dict)
            return _first(here, there) if inside else str(key)
    return ""
