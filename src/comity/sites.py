"""A client as it is set up at its own machine: a TOML file that says where its rows are and what it allows."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from comity.client import Client, Policy, Privacy
from comity.core import check_name, shown
from comity.errors import ComityError, InputError
from comity.files import read_text
from comity.tables import read_rows

_KEYS = ("name", "rows", "factory", "target", "log", "received", "policy", "privacy")
_OF_POLICY = tuple(each.name for each in fields(Policy) if each.name != "target")
_OF_PRIVACY = ("clip", "noise", "delta", "epsilon")
_MARK = 16  # digits
_FACTORY = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


class Member(Protocol):
    """A `Client`, or a `DatasetClient`."""

    name: str
    policy: Policy
    privacy: Privacy | None
    log_file: str | os.PathLike[str] | None

    def answer(self, question: object) -> Any:
        """Answer a question, or refuse it."""

    def learner(self, recipe: str) -> Any:
        """Return what trains networks by a recipe."""


@dataclass(frozen=True, eq=False)
class Site:
    """A client's set-up: its name, its `rows` (a CSV or Parquet file) or the `factory` that makes the client.

    A factory is for examples that are no table: ``module:function``, called with the site, returns a `Client` or a
    `DatasetClient`; modules beside the file are found. The audit log is the file `log`; `received` is the directory
    for what comes back. Policy and privacy are those of the file, whatever a factory says.
    """

    file: Path
    name: str
    rows: Path | None = None
    factory: str | None = None
    log: Path = Path("audit.jsonl")
    received: Path = Path("received")
    policy: Policy = field(default_factory=Policy)
    privacy: Privacy | None = None

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Site:
        """Read a site's file, having checked all that is in it; its paths begin where the file is."""
        file = Path(path)
        text = read_text(path)
        try:
            settings = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"{file}: not TOML ({error})") from None
        try:
            return _site(file, settings)
        except ComityError as error:
            raise InputError(f"{file}: {error}") from None

    @property
    def target(self) -> str | None:
        """The target that the client answers about, if it says one."""
        return self.policy.target

    @property
    def state(self) -> Path:
        """Where is kept what the client must remember during a job: nothing of it leaves."""
        return self.file.parent / "state"

    def stamp(self) -> tuple[str, int, int]:
        """Return what changes when the site's file or its rows do."""
        return str(self.file.resolve()), _changed(self.file), _changed(self.rows or self.file)

    def mark(self) -> str:
        """Return a text that changes when the file of the rows does, and says nothing of what is in it.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as place:
        ...     rows = Path(place, "rows.csv")
        ...     _ = rows.write_text("a,b"), Path(place, "site.toml").write_text('name = "North"\\nrows = "rows.csv"')
        ...     site = Site.read(Path(place, "site.toml"))
        ...     before = site.mark()
        ...     same, _ = site.mark() == before, rows.write_text("a,b,c")
        ...     same, site.mark() == before
        (True, False)
        """
        size = self.rows.stat().st_size if self.rows is not None and self.rows.exists() else 0
        told = json.dumps([self.name, _changed(self.rows or self.file), size])
        return hashlib.sha256(told.encode()).hexdigest()[:_MARK]

    def member(self) -> Member:
        """Return the client, with its log file."""
        member: Any
        if self.rows is not None:
            member = Client(self.name, read_rows(self.rows), self.policy, privacy=self.privacy, log_file=self.log)
            if self.target is not None and self.target not in member.rows.columns:
                close = difflib.get_close_matches(self.target, map(str, member.rows.columns), n=1)
                hint = f"did you mean {close[0]!r}?" if close else "check the target"
                raise InputError(f"{self.file}: there is no column {shown(self.target)} in {self.rows}; {hint}")
            return member  # type: ignore[no-any-return]
        member = self._made()
        if (member.policy, member.privacy, member.log_file) != (self.policy, self.privacy, self.log):
            member = replace(member, policy=self.policy, privacy=self.privacy, log_file=self.log)
        return member  # type: ignore[no-any-return]

    def _made(self) -> Any:
        """Return what the factory makes, having checked that it is this client."""
        module, _, function = str(self.factory).partition(":")
        beside = str(self.file.resolve().parent)
        sys.path.insert(0, beside)
        try:
            found = getattr(import_module(module), function, None)
        except ImportError as error:
            raise InputError(f"{self.file}: the factory {self.factory!r} cannot be imported ({error})") from None
        finally:
            sys.path.remove(beside)
        if not callable(found):
            raise InputError(f"{self.file}: there is no function {function!r} in {module!r}; check the factory")
        member = found(self)
        if type(member).__name__ not in ("Client", "DatasetClient") or not hasattr(member, "log_file"):
            raise InputError(
                f"{self.file}: the factory {self.factory!r} gives {shown(member)}; it must give a Client or a "
                "DatasetClient"
            )
        if member.name != self.name:
            raise InputError(
                f"{self.file}: the factory {self.factory!r} gives a client {shown(member.name)}, and the name is "
                f"{shown(self.name)}; make them the same (site.name)"
            )
        return member


def _changed(file: Path) -> int:
    """Return when a file was changed last."""
    return file.stat().st_mtime_ns if file.exists() else 0


def _site(file: Path, settings: Mapping[str, Any]) -> Site:
    """Return the site that settings describe."""
    _check_keys(settings, _KEYS, "")
    if "name" not in settings:
        raise InputError("there is no name; say which client this is: name = …")
    check_name(settings["name"])
    if ("rows" in settings) == ("factory" in settings):
        both = "both rows and a factory" if "rows" in settings else "neither rows nor a factory"
        raise InputError(f'there are {both}; give one: rows = "file.csv", or factory = "module:function"')
    for key in ("rows", "factory", "target", "log", "received"):
        value = settings.get(key, "-")
        if not isinstance(value, str) or not value:
            raise InputError(f"{key} is {shown(value)}; it must be text in quotes")
    factory = settings.get("factory")
    if factory is not None and not _FACTORY.fullmatch(factory):
        raise InputError(f'factory is {shown(factory)}; it must be "module:function"')
    for key in ("policy", "privacy"):
        if not isinstance(settings.get(key, {}), dict):
            raise InputError(f"{key} is {shown(settings[key])}; it must be a table: [{key}]")
    given, noise = settings.get("policy", {}), settings.get("privacy")
    _check_keys(given, _OF_POLICY, "[policy] ")
    _check_keys(noise or {}, _OF_PRIVACY, "[privacy] ")
    privacy = None if noise is None else _within("[privacy] ", Privacy, noise)
    policy = _within("[policy] ", Policy, {**given, "target": settings.get("target")})
    if policy.only_private and (privacy is None or not privacy.noise):
        raise InputError("[policy] only_private is true and there is no noise; say how much: noise in [privacy]")
    here = file.parent
    return Site(
        file=file,
        name=settings["name"],
        rows=here / settings["rows"] if "rows" in settings else None,
        factory=factory,
        log=here / settings.get("log", "audit.jsonl"),
        received=here / settings.get("received", "received"),
        policy=policy,
        privacy=privacy,
    )


def _within(table: str, kind: Any, settings: Mapping[str, Any]) -> Any:
    """Return what settings make, saying of an error in which table it is."""
    try:
        return kind(**settings)
    except InputError as error:
        raise InputError(f"{table}{error}") from None


def _check_keys(settings: Mapping[str, Any], known: Iterable[str], table: str) -> None:
    names = list(known)
    for key in settings:
        if key not in names:
            close = difflib.get_close_matches(key, names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(names)}"
            raise InputError(f"{table}there is no setting {shown(key)}; {hint}")
