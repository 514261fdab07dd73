"""The audit log of a client: an entry for every question, in memory and, optionally, in a file of JSON lines.

Entries are only appended, each before its answer leaves. The file is also the ledger of the privacy that noisy answers
spent, and of what the others disclosed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from comity.core.files import lock_file
from comity.core.names import shown
from comity.core.settings import check_settings, real, text, whole
from comity.core.wording import Caller, speaking_to
from comity.errors import FormatError, InputError, RefusedError

_ANY_TEXT = text("text", "(?s:.*)")


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
        numbers: The independent numbers in the answer that had not left before; 0 where they are not counted.
        disclosed: Their share in the numbers of the rows.

    >>> AuditEntry("moments", rows=20, size=8, when="2026-01-01T00:00:00+00:00", asked="a" * 64, given="b" * 64).rows
    20
    """

    question: Annotated[str, _ANY_TEXT]
    rows: Annotated[int, whole()]
    size: Annotated[int, whole()]
    when: Annotated[str, _ANY_TEXT] = ""
    asked: Annotated[str, text("a SHA-256", "[0-9a-f]{64}")] = ""
    given: Annotated[str, text("a SHA-256", "([0-9a-f]{64})?")] = ""
    refused: Annotated[str, _ANY_TEXT] = ""
    releases: Annotated[int, whole()] = 0
    noise: Annotated[float, real(0)] = 0.0
    numbers: Annotated[int, whole()] = 0
    disclosed: Annotated[float, real(0)] = 0.0

    def to_json(self) -> str:
        """Return the entry as a line of JSON, the most useful fields first."""
        plain = {"when": self.when, "question": self.question, "asked": self.asked} | asdict(self)
        return json.dumps(plain, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> AuditEntry:
        """Return the entry of a line of JSON; a line that is no entry is an `InputError`."""
        try:
            plain = json.loads(text)
        except ValueError:
            raise InputError("this is not JSON") from None
        names = [each.name for each in fields(cls)]
        if isinstance(plain, dict):  # lines of version 0.1 count nothing
            plain = {"numbers": 0, "disclosed": 0.0} | plain
        if not isinstance(plain, dict) or sorted(plain) != sorted(names):
            raise InputError(f"there must be {', '.join(names)} in it, and nothing else")
        entry = cls(**plain)
        with speaking_to(Caller.FILE):
            check_settings(entry)
        if bool(entry.given) == bool(entry.refused):
            raise InputError(f"refused is {shown(entry.refused)}; it must be a reason if nothing was given")
        if entry.releases and not entry.noise:
            raise InputError(f"noise is {entry.noise}; it must be more than 0 where there were releases")
        try:
            zone = datetime.fromisoformat(entry.when).tzinfo
        except ValueError:
            zone = None
        if zone is None:
            raise InputError(f"when is {shown(entry.when)}; it must be a time with its zone")
        return entry


def now() -> str:
    """Return the time (UTC) as it is written into a log."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def read_log(path: str | os.PathLike[str]) -> tuple[AuditEntry, ...]:
    """Return the entries of an audit log, in order; a line that is no entry is a `FormatError`."""
    file = Path(path)
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise FormatError(f"{file}: cannot be read ({error.strerror or error})") from None
    return tuple(_parse(file, raw, 1))


class AuditLog:
    """The log of a client in memory and, with a path, in a file to which each entry is appended.

    Other processes may append to the same file: `held` locks it while a client answers, and returns their entries.
    """

    def __init__(self, client: str, path: str | os.PathLike[str] | None, entries: list[AuditEntry]) -> None:
        self._client, self._entries = client, entries
        self._path = None if path is None else Path(path)
        self._read, self._line = 0, 1  # how many entries (of a file, bytes) are read, and the next line of the file

    @contextmanager
    def held(self) -> Iterator[tuple[AuditEntry, ...]]:
        """Lock the log, and yield the entries that were added since the last time, by this process or others."""
        if self._path is None:
            new = tuple(self._entries[self._read :])
            self._read = len(self._entries)
            yield new
            return
        try:
            opened = _open_private(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        except OSError as error:
            raise self._unwritable(error) from None
        try:
            lock_file(opened, wait=True)
            yield self._new_entries(self._path, opened)
        finally:
            os.close(opened)  # this also releases the lock

    def append(self, entry: AuditEntry) -> None:
        """Append an entry, and flush it to disk; if the log cannot be written, the answer is refused."""
        if self._path is not None:
            line = (entry.to_json() + "\n").encode()
            try:
                with open(self._path, "ab", buffering=0, opener=_open_private) as file:
                    written = file.write(line)
                    os.fsync(file.fileno())
                if written < len(line):
                    raise OSError(0, "there is no space for the whole line")
            except OSError as error:
                raise self._unwritable(error) from None
        self._entries.append(entry)

    def _new_entries(self, path: Path, opened: int) -> tuple[AuditEntry, ...]:
        """Return the entries of the open file that have not been read yet."""
        size = os.fstat(opened).st_size
        if size < self._read:
            raise FormatError(f"{path}: lines that were there are gone; a log is only ever appended to")
        with open(opened, "rb", closefd=False) as file:
            file.seek(self._read)
            raw = file.read(size - self._read)
        new = tuple(_parse(path, raw, self._line))
        self._read += len(raw)
        self._line += len(new)
        return new

    def _unwritable(self, error: OSError) -> RefusedError:
        return RefusedError(
            f"client {self._client!r} answers nothing: its log {self._path} cannot be written "
            f"({error.strerror or error}); mend that at the client"
        )


def _open_private(path: str | os.PathLike[str], flags: int) -> int:
    """Open a file; if it is new, only its owner may read it."""
    return os.open(path, flags, 0o600)


def _parse(file: Path, raw: bytes, first: int) -> Iterator[AuditEntry]:
    """Yield the entries in some bytes of a log; `first` is the number of the first line."""
    *whole_lines, rest = raw.split(b"\n")
    for number, line in enumerate(whole_lines, first):
        try:
            yield AuditEntry.from_json(line.decode())
        except UnicodeDecodeError:
            raise FormatError(f"{file}: line {number}: this is not UTF-8 text") from None
        except InputError as error:
            raise FormatError(f"{file}: line {number}: {error}") from None
    if rest:
        raise FormatError(
            f"{file}: line {first + len(whole_lines)}: it was cut off while it was written, and its answer never left; "
            "take it out"
        )
