"""The audit log of a client: a line for every question, kept in memory and, if wanted, in a file of JSON lines.

Lines are only ever appended, each before its answer leaves. The file is also the ledger of what noisy answers spent.
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

from comity.core import shown
from comity.errors import FormatError, InputError, RefusedError
from comity.files import held

_DIGEST = 64
_HEXADECIMAL = set("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class Given:
    """One line of the audit log.

    The `question`'s kind; how many `rows` the answer is made of; its `size` in bytes; `when` it was asked (UTC, ISO
    8601); the SHA-256 of what was `asked` and of what was `given`; why it was `refused`, if it was: then nothing was
    given; and how many `releases` with `noise` times their sensitivity it spent of the client's privacy.
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
        """Return the line as it is written."""
        told = {"when": self.when, "question": self.question, "asked": self.asked} | asdict(self)
        return json.dumps(told, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Given:
        """Return the line that was written, having checked it."""
        try:
            told = json.loads(text)
        except ValueError:
            raise InputError("this is not JSON") from None
        names = [each.name for each in fields(cls)]
        if not isinstance(told, dict) or sorted(told) != sorted(names):
            raise InputError(f"there must be {', '.join(names)} in it, and nothing else")
        for name in ("question", "when", "asked", "given", "refused"):
            _check(isinstance(told[name], str), name, told[name], "text")
        for name in ("rows", "size", "releases"):
            _check(type(told[name]) is int and told[name] >= 0, name, told[name], "a whole number, 0 or more")
        noise = told["noise"]
        known = type(noise) in (int, float) and math.isfinite(noise) and noise >= 0
        _check(known, "noise", noise, "a number, 0 or more")
        for name in ("asked", "given"):
            digest = told[name]
            whole = len(digest) == _DIGEST and set(digest) <= _HEXADECIMAL
            _check(whole or (name == "given" and not digest), name, digest, "a SHA-256")
        _check(bool(told["given"]) != bool(told["refused"]), "refused", told["refused"], "told where nothing was given")
        _check(not told["releases"] or noise > 0, "noise", noise, "more than 0 where there were releases")
        try:
            moment = datetime.fromisoformat(told["when"])
        except ValueError:
            moment = datetime.min
        _check(moment.tzinfo is not None, "when", told["when"], "a time with its zone")
        return cls(**told)


def now() -> str:
    """Return the time, UTC, as it is written into a log."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def read_log(path: str | os.PathLike[str]) -> tuple[Given, ...]:
    """Read a log, having checked each line."""
    file = Path(path)
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise FormatError(f"{file}: cannot be read ({error.strerror or error})") from None
    return tuple(_lines(file, raw, 1))


class AuditLog:
    """A log in memory and, with a path, in a file to which lines are appended, one before each answer leaves.

    Other processes may append to the same file: `held` keeps them out while a client answers, and brings what they
    wrote.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, lines: list[Given] | None = None) -> None:
        self.path = None if path is None else Path(path)
        self.lines: list[Given] = [] if lines is None else lines
        self._read, self._number = 0, 1

    @contextmanager
    def held(self, name: str) -> Iterator[tuple[Given, ...]]:
        """Hold the log; yields the lines that were not yet known, of this process and others."""
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
            held(opened, wait=True)
            yield self._news(opened)
        finally:
            os.close(opened)  # and the lock goes with it

    def append(self, name: str, line: Given) -> None:
        """Append a line, and see that it is written; a log that cannot be written refuses the answer."""
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

    def _news(self, opened: int) -> tuple[Given, ...]:
        """Return the lines of the file that have not been read yet."""
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


def _lines(file: Path, raw: bytes, first: int) -> Iterator[Given]:
    """Yield the lines in some bytes of a log, the first of which has a number."""
    *whole, rest = raw.split(b"\n")
    for number, line in enumerate(whole, first):
        try:
            yield Given.from_json(line.decode())
        except UnicodeDecodeError:
            raise FormatError(f"{file}: line {number}: this is not UTF-8 text") from None
        except InputError as error:
            raise FormatError(f"{file}: line {number}: {error}") from None
    if rest:
        raise FormatError(
            f"{file}: line {first + len(whole)}: it was cut off while it was written, and what it tells of never left; "
            "take it out"
        )


def _check(holds: bool, name: str, value: Any, expected: str) -> None:
    if not holds:
        raise InputError(f"{name} is {shown(value)}; it must be {expected}")
