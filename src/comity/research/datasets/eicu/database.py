"""The tables of the eICU database: finds them by their published names, checks them, and reads them in parts."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from comity.client.tables.csv_text import CsvTable
from comity.errors import FormatError, InputError
from comity.research.datasets.published import PublishedFile, Source

SOURCE = Source(
    "eICU",
    "https://physionet.org/content/eicu-crd-demo/2.0.1/ (the demo, open to all) or "
    "https://physionet.org/content/eicu-crd/2.0/ (the full database, for those who apply)",
    "patient.csv.gz, hospital.csv.gz and the other tables",
    (
        "eicu", "eicu-crd/2.0", "eicu-collaborative-research-database-2.0",
        "eicu-demo-2.0.1", "eicu-crd-demo/2.0.1", "eicu-collaborative-research-database-demo-2.0.1",
    ),
)  # fmt: skip
# The tables of the demo that are used, with their published checksums.
DEMO = tuple(
    PublishedFile(f"{table}.csv.gz", checksum)
    for table, checksum in {
        "patient": "15e1eb52169828e3cfff3b67132a087298de4d0365bbb31bb294f6043bffd474",
        "hospital": "4ed356f9c4e7c8ce80e89241697e94b77f21c2f325cd6ad126794b1e92805ef4",
        "admissionDx": "607020180f1c7fbbc994a23552d6a4fdc70b86d4abc8e1b36f3ee28e96f15c42",
        "apacheApsVar": "2dc6d63f9807c7e663ffa253998691605d527b702ac1db8cc5dda92308061e78",
        "lab": "e06852850abeb65211bc22ac43f17121ba41b14656fac862396449af84d8273a",
        "nurseCharting": "475000d63d4ef883b2e891d7197997201300bedc13fcf23e67add1abee11dafe",
        "respiratoryCharting": "21bfe647fea0a229d09ff04c775ec4270d20ae084131a987943da836df534235",
        "vitalAperiodic": "c294f46647990cb648b3ebfa589e83f330bdc0c2c922b5e8f23aa0ef99954635",
        "vitalPeriodic": "04dc093a2e77cd4c52ac7f2a47a8356fbb7456c7f15deb20d5abb1ca4303231d",
    }.items()
)
STAY = "patientunitstayid"
_REQUIRED_TABLES = ("patient", "hospital")
_CHECKSUM_FILE = "SHA256SUMS.txt"


@dataclass(frozen=True, slots=True)
class Database:
    """A directory with tables, their `paths` by lower-case name, and the known checksums by file name."""

    folder: Path
    paths: Mapping[str, Path]
    checksums: Mapping[str, str]

    @classmethod
    def open(cls, directory: str | os.PathLike[str] | None) -> Database:
        """Find the tables in a directory; those of patients and of hospitals are required."""
        places = SOURCE.places(directory)
        found = [(place, _tables(place)) for place in places]
        folder, paths = max(found, key=lambda candidate: sum(name in candidate[1] for name in _REQUIRED_TABLES))
        absent = [name for name in _REQUIRED_TABLES if name not in paths]
        if len(absent) == len(_REQUIRED_TABLES):
            raise SOURCE.missing(places[0])
        if absent:
            raise InputError(
                f"{folder}: the table {absent[0]!r} of eICU is missing, although others are there; get "
                f"{absent[0]}.csv.gz from {SOURCE.page}"
            )
        return cls(folder, paths, _checksums(folder, paths))

    def __contains__(self, table: str) -> bool:
        return table.lower() in self.paths

    def read(self, table: str, columns: Sequence[str], as_text: Collection[str] = ()) -> pd.DataFrame:
        """Return some columns of a table that fits into memory."""
        return pd.DataFrame(self._opened(table, columns).read(columns, as_text))

    def parts(self, table: str, columns: Sequence[str], as_text: Collection[str] = ()) -> Iterator[pd.DataFrame]:
        """Return some columns of a table of any length, in parts."""
        opened = self._opened(table, columns)
        yield from opened.parts(usecols=list(columns), dtype=dict.fromkeys(as_text, "category"))

    def _opened(self, table: str, columns: Sequence[str]) -> CsvTable:
        path = self.paths[table.lower()]
        if checksum := self.checksums.get(path.name):
            SOURCE.check(path, PublishedFile(path.name, checksum))
        if path.suffix.lower() == ".csv":
            _check_end(path)
        opened = CsvTable.open(path)
        for column in columns:
            if column not in opened.names:
                raise opened.error(
                    f"the column {column!r} of eICU's table {table} is missing; get the table again from {SOURCE.page}"
                )
        return opened


def _tables(folder: Path) -> dict[str, Path]:
    """Return the tables in a folder; a compressed file is preferred, because its checksum is known."""
    if not folder.is_dir():
        return {}
    paths = sorted(folder.iterdir(), key=lambda path: path.name.lower().endswith(".gz"))
    return {
        path.name.lower().partition(".")[0]: path for path in paths if re.search(r"\.csv(\.gz)?$", path.name.lower())
    }


def _checksums(folder: Path, paths: Mapping[str, Path]) -> dict[str, str]:
    """Return the checksums of the demo's files if this is the demo, otherwise those in the folder."""
    required = {paths[name].name: paths[name] for name in _REQUIRED_TABLES}
    if any(file.name in required and file.is_at(required[file.name]) for file in DEMO):
        return {file.name: file.checksum for file in DEMO}
    if not (folder / _CHECKSUM_FILE).is_file():
        return {}
    lines = (folder / _CHECKSUM_FILE).read_text(encoding="utf-8", errors="replace").splitlines()
    pairs = [line.split(maxsplit=1) for line in lines]
    return {pair[1].strip().lstrip("*"): pair[0] for pair in pairs if len(pair) == 2 and len(pair[0]) == 64}


def _check_end(path: Path) -> None:
    """Raise an error if a table was truncated, so that its last line has no end; gzip detects this itself."""
    with path.open("rb") as file:
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
        if file.read() != b"\n":
            raise FormatError(
                f"{path}: the last line is incomplete, so the file was truncated; get it again from {SOURCE.page}"
            )
