"""Published data sets: where their files are on this machine, and whether they are the published ones."""

import hashlib
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from comity.errors import FormatError, InputError

VARIABLE = "COMITY_DATA"
_ALGORITHMS = {32: "md5", 64: "sha256"}  # by the number of digits


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A published file: its name, its SHA-256 (or MD5, where only that is known), and its size if known."""

    name: str
    checksum: str
    size: int | None = None

    def fault(self, file: io.BufferedIOBase) -> str | None:
        """Return what is wrong with the content of a file that should be this one, or None.

        >>> import io
        >>> abc = PublishedFile("abc.txt", "900150983cd24fb0d6963f7d28e17f72", 3)
        >>> abc.fault(io.BytesIO(b"abc")), abc.fault(io.BytesIO(b"ab"))
        (None, 'it has 2 bytes instead of 3')
        """
        algorithm = _ALGORITHMS[len(self.checksum)]
        # An MD5 detects accidents, not attacks, but some publishers give nothing else.
        found = hashlib.file_digest(file, lambda: hashlib.new(algorithm, usedforsecurity=False)).hexdigest()
        size = file.seek(0, os.SEEK_END)
        if self.size not in (None, size):
            return f"it has {size:,} bytes instead of {self.size:,}"
        return None if found == self.checksum else f"its {algorithm.upper().replace('SHA', 'SHA-')} differs"

    def is_at(self, path: Path) -> bool:
        """Return whether a path has this file."""
        if not path.is_file():
            return False
        with path.open("rb") as opened:
            return self.fault(opened) is None


@dataclass(frozen=True, slots=True)
class Source:
    """A published data set: its name, its web page, the files that are needed, and usual names of their folder."""

    title: str
    page: str
    files: str
    folders: tuple[str, ...]

    def places(self, directory: str | os.PathLike[str] | None) -> tuple[Path, ...]:
        """Return where to look: in a directory, by default the one in COMITY_DATA, and in the usual folders below it.

        >>> [place.name for place in Source("Iris", "https://…", "iris.data", ("iris",)).places("data")]
        ['data', 'iris']
        """
        root = os.environ.get(VARIABLE, "") if directory is None else os.fspath(directory)
        if not root:
            raise InputError(f"the files of {self.title} are needed ({self.files}); {self._how()}")
        return Path(root), *(Path(root) / folder for folder in self.folders)

    def find(
        self, directory: str | os.PathLike[str] | None, versions: Sequence[Sequence[str]]
    ) -> tuple[Path, Sequence[str]]:
        """Return the first place and version whose files are all there; a version is a list of file names."""
        places = self.places(directory)
        found = [
            (place, version, [name for name in version if not (place / name).is_file()])
            for version in versions
            for place in places
        ]
        place, version, absent = min(found, key=lambda candidate: len(candidate[2]) / len(candidate[1]))
        if not absent:
            return place, version
        if len(absent) == len(version):
            raise self.missing(places[0])
        raise InputError(
            f"{place / absent[0]}: this file of {self.title} is missing, although others are there; {self._how()}"
        )

    def missing(self, directory: Path) -> InputError:
        """Return the error for a directory without the files."""
        lacking = "are not in this directory" if directory.is_dir() else "are missing: there is no such directory"
        return InputError(f"{directory}: the files of {self.title} {lacking} ({self.files}); {self._how()}")

    def read(self, path: Path, file: PublishedFile) -> bytes:
        """Return the content of a file after checking that it is the published one."""
        self.check(path, file)
        return path.read_bytes()

    def check(self, path: Path, file: PublishedFile) -> None:
        """Raise an error unless a file is the published one; it may be larger than memory."""
        try:
            with path.open("rb") as opened:
                fault = file.fault(opened)
        except OSError as error:
            raise FormatError(f"{path}: cannot be read ({error.strerror or error})") from None
        if fault:
            raise FormatError(
                f"{path}: this is not the published file of {self.title} ({fault}); get it again from {self.page}"
            )

    def _how(self) -> str:
        return (
            f"get them from {self.page} and give their directory, or the one above it if theirs is called "
            f"{self.folders[0]}, with --data or {VARIABLE}; --download fetches what is open to all"
        )
