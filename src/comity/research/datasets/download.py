"""Downloads of published files, which are kept only if their checksums are right."""

from __future__ import annotations

import io
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator, Sequence
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING

from comity.core.files import open_atomic
from comity.errors import FormatError, InputError
from comity.research.datasets.published import PublishedFile

if TYPE_CHECKING:
    from comity.core.progress import Progress

_CHUNK_BYTES = 1 << 18
_TIMEOUT_SECONDS = 60.0


def download(address: str, file: PublishedFile, folder: Path, progress: Progress | None = None) -> None:
    """Fetch a file into a folder, and keep it only if it is the published one."""
    with open_atomic(folder / file.name) as draft:
        for part in _receive(address, file.name, progress):
            draft.write(part)
        draft.seek(0)
        _check(address, file, draft)


def download_members(
    address: str, files: Sequence[PublishedFile], folder: Path, progress: Progress | None = None
) -> None:
    """Fetch a small zip archive and put some of its files into a folder; only these have known checksums."""
    archive = io.BytesIO(b"".join(_receive(address, address.rpartition("/")[2], progress)))
    try:
        with zipfile.ZipFile(archive) as opened:
            members = {file: opened.read(file.name) for file in files}
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise FormatError(f"{address}: this is not the expected archive ({error}); try again later") from None
    for file, raw in members.items():
        _check(address, file, io.BytesIO(raw))
    for file, raw in members.items():
        with open_atomic(folder / file.name) as draft:
            draft.write(raw)


def _receive(address: str, name: str, progress: Progress | None) -> Iterator[bytes]:
    """Return the content at an address in parts; every failure becomes an error with one clear message."""
    if not address.startswith(("https://", "http://")):
        raise InputError(f"{address}: this is not a web address; it should begin with https://")
    try:
        with urllib.request.urlopen(address, timeout=_TIMEOUT_SECONDS) as answer:  # noqa: S310 (see above)
            expected, done = int(answer.headers.get("Content-Length") or 0), 0
            while part := answer.read(_CHUNK_BYTES):
                yield part
                done += len(part)
                if progress is not None:
                    progress(f"fetching {name}", done, max(expected, done))
    except urllib.error.HTTPError as error:
        error.close()
        raise InputError(
            f"{address}: the server answers {error.code} ({error.reason}); try again later, or get {name} elsewhere"
        ) from None
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise InputError(
            f"{address}: cannot be fetched ({reason}); check this machine's network access, or get {name} elsewhere"
        ) from None
    if expected and done != expected:
        raise FormatError(f"{address}: the connection was closed after {done:,} of {expected:,} bytes; try again")


def _check(address: str, file: PublishedFile, raw: io.BufferedIOBase) -> None:
    if fault := file.fault(raw):
        raise FormatError(
            f"{address}: the content is not the published {file.name} ({fault}), so it was not kept; try again later"
        )
