"""A site: what a client says about itself, in a TOML file at its own machine."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

from comity.client import Client
from comity.errors import InputError
from comity.files import read_text
from comity.tables import read_rows


@dataclass(frozen=True)
class Site:
    """A client's name, where its rows are, and where what it gives and gets is written."""

    path: Path
    name: str
    rows: str
    log: str = "audit.jsonl"
    received: str = "received"

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Site:
        """Return the site that a file describes."""
        told = tomllib.loads(read_text(path))
        for needed in ("name", "rows"):
            if needed not in told:
                raise InputError(f"{path}: there is no {needed!r}")
        return cls(path=Path(path).resolve(), **{key: told[key] for key in told if key not in ("policy", "privacy")})

    def member(self) -> Client:
        """Return the client."""
        return Client(self.name, read_rows(self.path.parent / self.rows))

    @property
    def received_at(self) -> Path:
        """Where results are written."""
        return self.path.parent / self.received

    @property
    def state(self) -> Path:
        """Where is kept what must be remembered during a job."""
        return self.path.parent / "state"

    def stamp(self) -> tuple[float, ...]:
        """Return what changes when the site's files do."""
        return (self.path.stat().st_mtime, (self.path.parent / self.rows).stat().st_mtime)
