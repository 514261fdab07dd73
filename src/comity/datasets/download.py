"""Published files from the web, fetched only when asked for, and kept only if they are what was published."""

from __future__ import annotations

import io
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator, Sequence
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING

from comity.datasets.published import Published
from comity.errors import FormatError, InputError
from comity.files import writing

if TYPE_CHECKING:
    from comity.fitting import Tell

_PART = 1 << 18
_PATIENCE = 60.0  # seconds without a word from the server


def download(address: str, file: Published, folder: Path, tell: Tell | None = None) -> None:
    """Fetch a file into a folder; nothing is kept of one that is not what was published."""
    with writing(folder / file.name) as draft:
        for part in _receive(address, file.name, tell):
            draft.write(part)
        draft.seek(0)
        _check(address, file, draft)


def download_members(address: str, files: Sequence[Published], folder: Path, tell: Tell | None = None) -> None:
    """Fetch a small zip archive, and put some of its files into a folder; the archive itself has no known checksum."""
    archive = io.BytesIO(b"".join(_receive(address, address.rpartition("/")[2], tell)))
    try:
        with zipfile.ZipFile(archive) as opened:
            members = {file: opened.read(file.name) for file in files}
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise FormatError(f"{address}: this is not the archive that is expected ({error}); try again later") from None
    for file, raw in members.items():
        _check(address, file, io.BytesIO(raw))
    for file, raw in members.items():
        with writing(folder / file.name) as draft:
            draft.write(raw)


def _receive(address: str, name: str, tell: Tell | None) -> Iterator[bytes]:
    """Return what is at an address, part by part; whatever goes wrong on the way is told in one sentence."""
    if not address.startswith(("https://", "http://")):
        raise InputError(f"{address}: this is no address on the web; it should begin with https://")
    try:
        with urllib.request.urlopen(address, timeout=_PATIENCE) as answer:  # noqa: S310 (see above)
            expected, done = int(answer.headers.get("Content-Length") or 0), 0
            while part := answer.read(_PART):
                yield part
                done += len(part)
                if tell is not None:
                    tell(f"fetching {name}", done, max(expected, done))
    except urllib.error.HTTPError as error:
        error.close()
        raise InputError(
            f"{address}: the server answers {error.code} ({error.reason}); try again later, or get {name} elsewhere"
        ) from None
    except (OSError, HTTPException) as error:
        why = getattr(error, "reason", None) or error
        raise InputError(
            f"{address}: cannot be fetched ({why}); check that this machine may use the web, or get {name} elsewhere"
        ) from None
    if expected and done != expected:
        raise FormatError(f"{address}: the connection ended after {done:,} of {expected:,} bytes; try again")


def _check(address: str, file: Published, raw: io.BufferedIOBase) -> None:
    if fault := file.fault(raw):
        raise FormatError(f"{address}: what is there is not the published {file.name} ({fault}), so it was not kept")
