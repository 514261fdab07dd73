"""Downloads of data sets, on request (``--download``); files are kept only if they are the published ones."""

from __future__ import annotations

import io
import os
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING

from comity.core.files import open_atomic
from comity.errors import FormatError, InputError, OutputError
from comity.research.datasets import adult, cifar10, eicu
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


@dataclass(frozen=True, slots=True)
class Remote:
    """Files on the web and the folder to put them into; the address is a directory or a zip archive."""

    address: str
    files: tuple[PublishedFile, ...]
    folder: str

    def fetch(self, directory: Path, progress: Progress | None = None) -> tuple[Path, ...]:
        """Fetch the files that are missing or wrong into the folder below a directory."""
        folder = directory if directory.name == self.folder else directory / self.folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(
                f"{folder}: cannot be created ({error.strerror or error}); give another directory"
            ) from None
        needed = [file for file in self.files if not file.is_at(folder / file.name)]
        if self.address.endswith(".zip") and needed:
            download_members(self.address, needed, folder, progress)
        else:
            for file in needed:
                download(f"{self.address}/{file.name}", file, folder, progress)
        return tuple(folder / file.name for file in self.files)


REMOTES = {
    "adult": Remote("https://archive.ics.uci.edu/static/public/2/adult.zip", (adult.TRAIN, adult.TEST), "adult"),
    "cifar10": Remote("https://www.cs.toronto.edu/~kriz", (cifar10.BINARY.archive,), "cifar10"),
    "eicu": Remote("https://physionet.org/files/eicu-crd-demo/2.0.1", eicu.DEMO, "eicu-demo-2.0.1"),
}


def fetch(name: str, directory: str | os.PathLike[str], progress: Progress | None = None) -> tuple[Path, ...]:
    """Fetch a data set into a folder below a directory, where its `load` finds it, and return the files.

    `name` is ``adult``, ``cifar10`` or ``eicu`` (the demo; the full database is only for those who apply). Files that
    are there and right are left alone; the others are fetched, and kept only if they are the published ones. `progress`
    is called with the file, the bytes received and the total.

    >>> fetch("eicu-full", "data")
    Traceback (most recent call last):
    comity.errors.InputError: the full eICU database is given to those who apply at …
    """
    if name == "eicu-full":
        raise InputError(
            "the full eICU database is given to those who apply at https://physionet.org/content/eicu-crd/2.0/; get it "
            "there, and give its directory (--data)"
        )
    if name not in REMOTES:
        raise InputError(f"there is no data set {name!r} to fetch; choose one of {', '.join(REMOTES)}")
    return REMOTES[name].fetch(Path(directory), progress)
