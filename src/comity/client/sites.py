"""A client's set-up on its own machine: a TOML file that says where its rows are and what it allows."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

from comity.client import Client, Policy, Privacy
from comity.client.gate import Respondent
from comity.client.policy import OVER_A_NETWORK
from comity.client.tables import read_rows
from comity.core.names import check_name, shown
from comity.core.settings import (
    Declaration,
    check_known,
    check_settings,
    encoding,
    located,
    name,
    path,
    settings_file,
    settings_of,
    text,
)
from comity.core.wording import mention
from comity.errors import InputError
from comity.questions.schema import list_columns

_FACTORY = r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*"
_MARK_LENGTH = 16  # hexadecimal digits


@dataclass(frozen=True, eq=False)
class Site:
    """A client's set-up. It has either `rows` or a `factory`.

    Args:
        file: The TOML file that describes the site.
        name: The client's name.
        rows: Its table, a CSV, Parquet or Excel file. Default: none.
        encoding: The encoding of a CSV file. Default: utf-8.
        group: A column of the table whose rows with equal values, such as those of one patient, are held out together;
            it is not described to anybody. Default: none.
        factory: For examples that are not a table: ``module:function``. The function is called with the site and
            returns a `Client` or a `DatasetClient`; modules beside the file are found. Default: none.
        log: The file of the audit log. Default: audit.jsonl.
        received: The directory for results that come back. Default: received.
        policy: What the client allows, even if a factory sets another policy. Default: as `Policy`, with a disclosure
            of at most one half.
        privacy: The noise in its answers, even if a factory sets another. Default: none.

    Raises:
        InputError: A value is not allowed.
    """

    file: Path
    name: Annotated[str, Declaration("the client's name", check_name)]
    rows: Annotated[Path | None, path()] = None
    encoding: Annotated[str, encoding()] = "utf-8"
    group: Annotated[str | None, name("column")] = None
    factory: Annotated[str | None, text('"module:function"', _FACTORY)] = None
    log: Annotated[Path, path()] = Path("audit.jsonl")
    received: Annotated[Path, path()] = Path("received")
    policy: Policy = field(default_factory=partial(Policy, disclosure=OVER_A_NETWORK))
    privacy: Privacy | None = None

    def __post_init__(self) -> None:
        check_settings(self)
        if (self.rows is None) == (self.factory is None):
            both = "neither rows nor a factory" if self.rows is None else "both rows and a factory"
            raise InputError(
                f"there are {both}; give one: {mention('rows', 'file.csv')} or {mention('factory', 'module:function')}"
            )

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Site:
        """Read and check a site's file.

        Args:
            path: The TOML file; paths in it are relative to it.

        Returns:
            The site.

        Raises:
            InputError: The file cannot be read, or something in it is not allowed.
        """
        file = Path(path)
        with settings_file(file) as settings:
            declared = settings_of(Site)
            check_known(settings, (*declared, "target", "policy", "privacy"))
            if "name" not in settings:
                raise InputError(f"there is no name; say which client this is: {mention('name', ...)}")
            values = {key: declared[key].check(settings[key]) for key in declared if key in settings}
            privacy = _read_table(settings, "privacy", Privacy) if "privacy" in settings else None
            target = settings_of(Policy)["target"].check(settings.get("target"))
            policy = _read_table(settings, "policy", Policy, {"disclosure": OVER_A_NETWORK}, target=target)
            if policy.only_private and (privacy is None or not privacy.noise):
                raise InputError(
                    "[policy] only_private is true and there is no noise; give its size: noise in [privacy]"
                )
            values = {"log": cls.log, "received": cls.received} | values
            paths = {key: file.parent / value for key, value in values.items() if isinstance(value, Path)}
            return cls(file, **(values | paths), policy=policy, privacy=privacy)

    @property
    def target(self) -> str | None:
        """The only target that the client answers about, if its policy has one."""
        return self.policy.target

    @property
    def state(self) -> Path:
        """The directory of what the client must remember during a job; it is never sent."""
        return self.file.parent / "state"

    def stamp(self) -> tuple[str, int, int]:
        """Return a value that changes when the site's file or its rows change."""
        return str(self.file.resolve()), _changed(self.file), _changed(self.rows or self.file)

    def mark(self) -> str:
        """Return a text that changes when the rows' file changes and reveals nothing of its content."""
        size = self.rows.stat().st_size if self.rows is not None and self.rows.exists() else 0
        version = json.dumps([self.name, _changed(self.rows or self.file), size])
        return hashlib.sha256(version.encode()).hexdigest()[:_MARK_LENGTH]

    def member(self) -> Respondent:
        """Return the client, with its rows read.

        Raises:
            InputError: The rows cannot be read, or the factory does not return this client.
            RefusedError: The audit log cannot be written.
        """
        if self.rows is None:
            made = self._call_factory()
            if (made.policy, made.privacy, made.log_file) != (self.policy, self.privacy, self.log):
                made = replace(made, policy=self.policy, privacy=self.privacy, log_file=self.log)
            member: Respondent = made
            return member
        rows = read_rows(self.rows, encoding=self.encoding)
        client = Client(self.name, rows, self.policy, privacy=self.privacy, log_file=self.log, group=self.group)
        if self.target is not None and self.target not in client.rows.columns:
            columns = list_columns([*map(str, client.rows.columns)], self.target)
            raise InputError(f"{self.file}: there is no column {shown(self.target)} in {self.rows}; {columns}")
        return client

    def _call_factory(self) -> Any:
        """Return the client that the factory returns, after checking that it is this one."""
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
        if not isinstance(member, Respondent):
            raise InputError(
                f"{self.file}: the factory {self.factory!r} returns {shown(member)}; it must return a Client or "
                "a DatasetClient"
            )
        if member.name != self.name:
            raise InputError(
                f"{self.file}: the factory {self.factory!r} returns a client named {shown(member.name)}, and the "
                f"site's name is {shown(self.name)}; give it that name (site.name)"
            )
        return member


def _changed(file: Path) -> int:
    """Return when a file was last changed."""
    return file.stat().st_mtime_ns if file.exists() else 0


def _read_table(
    settings: Mapping[str, Any], key: str, cls: Any, defaults: Mapping[str, Any] | None = None, **more: Any
) -> Any:
    """Return the settings in a table of the file; `more` are set by the file outside of it."""
    given = settings.get(key, {})
    if not isinstance(given, dict):
        raise InputError(f"{key} is {shown(given)}; it must be a table: [{key}]")
    with located(f"[{key}] "):
        check_known(given, [known for known in settings_of(cls) if known not in more])
        return cls(**(dict(defaults or {}) | given), **more)
