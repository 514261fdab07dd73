"""Data that others publish: where they are on this machine, and whether they are what was published."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from comity.errors import FormatError, InputError

VARIABLE = "COMITY_DATA"
_KINDS = {32: "md5", 64: "sha256"}  # by the number of digits


@dataclass(frozen=True, slots=True)
class Published:
    """A file as it was published: its name, its SHA-256 (or MD5, where only that is known), and perhaps its size."""

    name: str
    checksum: str
    size: int | None = None

    def fault(self, file: io.BufferedIOBase) -> str | None:
        """Tell what is wrong with the bytes of a file that should be this one; None if nothing is.

        >>> import io
        >>> abc = Published("abc.txt", "900150983cd24fb0d6963f7d28e17f72", 3)
        >>> abc.fault(io.BytesIO(b"abc")), abc.fault(io.BytesIO(b"ab"))
        (None, 'it has 2 bytes, and 3 are expected')
        """
        kind = _KINDS[len(self.checksum)]
        # An MD5 guards against accidents only, but is all that some have published.
        found = hashlib.file_digest(file, lambda: hashlib.new(kind, usedforsecurity=False)).hexdigest()
        size = file.seek(0, os.SEEK_END)
        if self.size not in (None, size):
            return f"it has {size:,} bytes, and {self.size:,} are expected"
        return None if found == self.checksum else f"its {kind.upper().replace('SHA', 'SHA-')} differs"


@dataclass(frozen=True, slots=True)
class Source:
    """A data set that others publish: its name, its page on the web, the files to have, what their folder may be."""

    title: str
    page: str
    files: str
    folders: tuple[str, ...]

    def places(self, directory: str | os.PathLike[str] | None) -> tuple[Path, ...]:
        """Return where to look: in a directory, by default that which COMITY_DATA names, and in the usual folder there.

        >>> [place.name for place in Source("Iris", "https://…", "iris.data", ("iris",)).places("data")]
        ['data', 'iris']
        """
        given = os.environ.get(VARIABLE, "") if directory is None else os.fspath(directory)
        if not given:
            raise InputError(f"the files of {self.title} are needed ({self.files}); {self._how()}")
        return Path(given), *(Path(given) / folder for folder in self.folders)

    def find(
        self, directory: str | os.PathLike[str] | None, versions: Sequence[Sequence[str]]
    ) -> tuple[Path, Sequence[str]]:
        """Return the first place and version all of whose files are there; a version is given by their names."""
        places = self.places(directory)
        found = [(place, version, _absent(place, version)) for version in versions for place in places]
        place, version, absent = min(found, key=lambda each: len(each[2]) / len(each[1]))
        if not absent:
            return place, version
        if len(absent) == len(version):
            raise self.missing(places[0])
        raise InputError(f"{place / absent[0]}: this file of {self.title} is missing, others are there; {self._how()}")

    def missing(self, directory: Path) -> InputError:
        """Return the error that the files are not in a directory."""
        lacking = "are not in it" if directory.is_dir() else "cannot be there: there is no such directory"
        return InputError(f"{directory}: the files of {self.title} {lacking} ({self.files}); {self._how()}")

    def altered(self, path: Path, fault: str) -> FormatError:
        """Return the error that a file is not what was published."""
        return FormatError(f"{path}: this is not the file of {self.title} ({fault}); get it again from {self.page}")

    def read(self, path: Path, file: Published) -> bytes:
        """Return the bytes of a file, having checked that it is the one that everybody uses."""
        try:
            raw = path.read_bytes()
        except OSError as error:
            raise FormatError(f"{path}: cannot be read ({error.strerror or error})") from None
        if fault := file.fault(io.BytesIO(raw)):
            raise self.altered(path, fault)
        return raw

    def check(self, path: Path, file: Published) -> None:
        """Refuse a file that is not the published one; it may be larger than memory."""
        try:
            with path.open("rb") as opened:
                fault = file.fault(opened)
        except OSError as error:
            raise FormatError(f"{path}: cannot be read ({error.strerror or error})") from None
        if fault:
            raise self.altered(path, fault)

    def _how(self) -> str:
        return (
            f"get them from {self.page} and say where they are with --data or {VARIABLE} (their directory, or the one "
            f"above it if it is called {self.folders[0]}), or let --download fetch what is open to all"
        )


def _absent(place: Path, names: Sequence[str]) -> list[str]:
    return [name for name in names if not (place / name).is_file()]
