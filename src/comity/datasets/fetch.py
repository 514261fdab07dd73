"""Each data set's files from the place where they are published, for those who ask for them (``--download``)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from comity.datasets import adult, cifar10, eicu
from comity.datasets.download import download, download_members
from comity.datasets.published import Published
from comity.errors import InputError, OutputError

if TYPE_CHECKING:
    from comity.fitting import Tell


@dataclass(frozen=True, slots=True)
class Remote:
    """Files on the web, to be put into a folder: below an address, or in the zip archive that is there."""

    address: str
    files: tuple[Published, ...]
    folder: str

    def fetch(self, directory: Path, tell: Tell | None = None) -> tuple[Path, ...]:
        """Fetch what is not there yet, or not as it was published, into the folder below a directory."""
        folder = directory if directory.name == self.folder else directory / self.folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{folder}: cannot be made ({error.strerror or error}); give another directory") from None
        wanted = [file for file in self.files if not _is_there(folder / file.name, file)]
        if self.address.endswith(".zip") and wanted:
            download_members(self.address, wanted, folder, tell)
        elif wanted:
            for file in wanted:
                download(f"{self.address}/{file.name}", file, folder, tell)
        return tuple(folder / file.name for file in self.files)


def _is_there(path: Path, file: Published) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as opened:
        return file.fault(opened) is None


REMOTES = {
    "adult": Remote("https://archive.ics.uci.edu/static/public/2/adult.zip", (adult.TRAIN, adult.TEST), "adult"),
    "cifar10": Remote("https://www.cs.toronto.edu/~kriz", (cifar10.BINARY.archive,), "cifar10"),
    "eicu": Remote("https://physionet.org/files/eicu-crd-demo/2.0.1", eicu.DEMO, "eicu-demo-2.0.1"),
}
# What is not open to all, and where to apply.
_ON_REQUEST = {"eicu-full": ("the full eICU database", "https://physionet.org/content/eicu-crd/2.0/")}


def fetch(name: str, directory: str | os.PathLike[str], tell: Tell | None = None) -> tuple[Path, ...]:
    """Fetch a data set into a folder below a directory, where its `load` finds it, and return the files.

    `name` is ``adult``, ``cifar10`` or ``eicu``: of eICU the demo; the full database is given only to those who apply.
    Files that are there already and right are left alone; others are checked, and kept only if they are what was
    published. `tell` is told what is being fetched, and how many bytes of how many have come.

    >>> fetch("eicu-full", "data")
    Traceback (most recent call last):
    comity.errors.InputError: the full eICU database is given to those who apply at …
    """
    if name in _ON_REQUEST:
        title, page = _ON_REQUEST[name]
        raise InputError(f"{title} is given to those who apply at {page}; get it from there and say where it is")
    if name not in REMOTES:
        raise InputError(f"there is no data set {name!r} to fetch; there are {', '.join(REMOTES)}")
    return REMOTES[name].fetch(Path(directory), tell)
