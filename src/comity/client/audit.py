"""The audit log of a client: an entry for every question, in memory and, optionally, in a file of JSON lines.

Entries are only appended, each before its answer leaves. The file is also the ledger of the privacy that noisy answers
spent.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from comity.core.files import lock_file
from comity.core.names import shown
from comity.errors import FormatError, InputError, RefusedError

_DIGEST_LENGTH = 64
_HEXADECIMAL = set("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One entry of the audit log.

    Args:
        question: The kind of the question.
        rows: The number of rows from which the answer was computed.
        size: The size of the answer in bytes.
        when: The time of the question (UTC, ISO 8601).
        asked: The SHA-256 of the question.
        given: The SHA-256 of the answer; empty if it was refused.
        refused: The reason of a refusal; empty if there was an answer.
        releases: The number of noisy sums in the answer, which spend the client's privacy.
        noise: The standard deviation of their noise, in units of their sensitivity.

    >>> AuditEntry("moments", rows=20, size=8, when="2026-01-01T00:00:00+00:00", asked="a" * 64, given="b" * 64).rows
    20
    """

    question: str
    rows: int
    size: int
    when: str = ""
    asked: str = ""
    given: str = ""
    refused: str = ""
    releases: int = 0
    noise: float = 0.0

    def to_json(self) -> str:
        """Return the entry as a line of JSON, the most useful fields first."""
        plain = {"when": self.when, "question": self.question, "asked": self.asked} | asdict(self)
        return json.dumps(plain, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> AuditEntry:
        """Return the entry of a line of JSON.

        Args:
            text: The line.

        Raises:
            InputError: If the line is no entry.
        """
        try:
            plain = json.loads(text)
        except ValueError:
            raise InputError("this is not JSON") from None
        names = [each.name for each in fields(cls)]
        if not isinstance(plain, dict) or sorted(plain) != sorted(names):
            raise InputError(f"there must be {', '.join(names)} in it, and nothing else")
        for name in ("question", "when", "asked", "given", "refused"):
            _check(isinstance(plain[name], str), name, plain[name], "text")
        for name in ("rows", "size", "releases"):
            _check(type(plain[name]) is int and plain[name] >= 0, name, plain[name], "a whole number, 0 or more")
        noise = plain["noise"]
        known = type(noise) in (int, float) and math.isfinite(noise) and noise >= 0
        _check(known, "noise", noise, "a number, 0 or more")
        for name in ("asked", "given"):
            digest = plain[name]
            whole = len(digest) == _DIGEST_LENGTH and set(digest) <= _HEXADECIMAL
            _check(whole or (name == "given" and not digest), name, digest, "a SHA-256")
        _check(
            bool(plain["given"]) != bool(plain["refused"]),
            "refused",
            plain["refused"],
            "a reason if nothing was given",
        )
        _check(not plain["releases"] or noise > 0, "noise", noise, "more than 0 where there were releases")
        try:
            moment = datetime.fromisoformat(plain["when"])
        except ValueError:
            moment = datetime.min
        _check(moment.tzinfo is not None, "when", plain["when"], "a time with its zone")
        return cls(**plain)


def now() -> str:
    """Return the time (UTC) as it is written into a log."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def read_log(path: str | os.PathLike[str]) -> tuple[AuditEntry, ...]:
    """Read an audit log.

    Args:
        path: The file.

    Returns:
        The entries, in order.

    Raises:
        FormatError: If the file cannot be read, or a line is no entry.
    """
    file = Path(path)
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise FormatError(f"{file}: cannot be read ({error.strerror or error})") from None
    return tuple(_lines(file, raw, 1))


class AuditLog:
    """A log in memory and, with a path, in a file to which an entry is appended before each answer leaves.

    Other processes may append to the same file: `held` locks it while a client answers, and returns their entries.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, lines: list[AuditEntry] | None = None) -> None:
        self.path = None if path is None else Path(path)
        self.lines: list[AuditEntry] = [] if lines is None else lines
        self._read, self._number = 0, 1

    @contextmanager
    def held(self, name: str) -> Iterator[tuple[AuditEntry, ...]]:
        """Lock the log, and yield the entries that were added since the last time, by this process or others."""
        if self.path is None:
            new = tuple(self.lines[self._read :])
            self._read = len(self.lines)
            yield new
            return
        try:
            opened = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        except OSError as error:
            raise self._unwritable(name, error) from None
        try:
            lock_file(opened, wait=True)
            yield self._new_entries(opened)
        finally:
            os.close(opened)  # this also releases the lock

    def append(self, name: str, line: AuditEntry) -> None:
        """Append an entry, and flush it to disk; if the log cannot be written, the answer is refused."""
        if self.path is not None:
            text = (line.to_json() + "\n").encode()
            try:
                opened = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
                try:
                    written = os.write(opened, text)
                    os.fsync(opened)
                finally:
                    os.close(opened)
                if written < len(text):
                    raise OSError(0, "there is no space for the whole line")
            except OSError as error:
                raise self._unwritable(name, error) from None
        self.lines.append(line)

    def _new_entries(self, opened: int) -> tuple[AuditEntry, ...]:
        """Return the entries of the file that have not been read yet."""
        assert self.path is not None
        size = os.fstat(opened).st_size
        if size < self._read:
            raise FormatError(f"{self.path}: lines that were there are gone; a log is only ever appended to")
        os.lseek(opened, self._read, os.SEEK_SET)
        raw = b""
        while len(raw) < size - self._read:
            part = os.read(opened, size - self._read - len(raw))
            if not part:
                break
            raw += part
        new = tuple(_lines(self.path, raw, self._number))
        self._read += len(raw)
        self._number += len(new)
        return new

    def _unwritable(self, name: str, error: OSError) -> RefusedError:
        return RefusedError(
            f"client {name!r} answers nothing: its log {self.path} cannot be written ({error.strerror or error}); "
            "mend that at the client"
        )


def _lines(file: Path, raw: bytes, first: int) -> Iterator[AuditEntry]:
    """Yield the entries in some bytes of a log; `first` is the number of the first line."""
    *whole, rest = raw.split(b"\n")
    for number, line in enumerate(whole, first):
        try:
            yield AuditEntry.from_json(line.decode())
        except UnicodeDecodeError:
            raise FormatError(f"{file}: line {number}: this is not UTF-8 text") from None
        except InputError as error:
            raise FormatError(f"{file}: line {number}: {error}") from None
    if rest:
        raise FormatError(
            f"{file}: line {first + len(whole)}: it was cut off while it was written, and its answer never left; "
            "take it out"
        )


def _check(holds: bool, name: str, value: Any, expected: str) -> None:
    if not holds:
        raise InputError(f"{name} is {shown(value)}; it must be {expected}")
