"""Where the files of each data set are published, to fetch them on request (``--download``)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from comity.errors import InputError, OutputError
from comity.research.datasets import adult, cifar10, eicu
from comity.research.datasets.download import download, download_members
from comity.research.datasets.published import PublishedFile

if TYPE_CHECKING:
    from comity.core.progress import Progress


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
        wanted = [file for file in self.files if not _is_there(folder / file.name, file)]
        if self.address.endswith(".zip") and wanted:
            download_members(self.address, wanted, folder, progress)
        elif wanted:
            for file in wanted:
                download(f"{self.address}/{file.name}", file, folder, progress)
        return tuple(folder / file.name for file in self.files)


def _is_there(path: Path, file: PublishedFile) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as opened:
        return file.fault(opened) is None


REMOTES = {
    "adult": Remote("https://archive.ics.uci.edu/static/public/2/adult.zip", (adult.TRAIN, adult.TEST), "adult"),
    "cifar10": Remote("https://www.cs.toronto.edu/~kriz", (cifar10.BINARY.archive,), "cifar10"),
    "eicu": Remote("https://physionet.org/files/eicu-crd-demo/2.0.1", eicu.DEMO, "eicu-demo-2.0.1"),
}
# Data sets that are not open to all, and where to apply.
_ON_REQUEST = {"eicu-full": ("the full eICU database", "https://physionet.org/content/eicu-crd/2.0/")}


def fetch(name: str, directory: str | os.PathLike[str], progress: Progress | None = None) -> tuple[Path, ...]:
    """Fetch a data set into a folder below a directory, where its `load` finds it, and return the files.

    `name` is ``adult``, ``cifar10`` or ``eicu`` (the demo; the full database is only for those who apply). Files that
    are there and right are left alone; the others are fetched, and kept only if they are the published ones. `progress`
    is called with the file, the bytes received and the total.

    >>> fetch("eicu-full", "data")
    Traceback (most recent call last):
    comity.errors.InputError: the full eICU database is given to those who apply at …
    """
    if name in _ON_REQUEST:
        title, page = _ON_REQUEST[name]
        raise InputError(
            f"{title} is given to those who apply at {page}; get it there, and give its directory (--data)"
        )
    if name not in REMOTES:
        raise InputError(f"there is no data set {name!r} to fetch; choose one of {', '.join(REMOTES)}")
    return REMOTES[name].fetch(Path(directory), progress)
