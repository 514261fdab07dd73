"""UCI Adult with two clients, people with a doctorate and all others (paper, Section 5.2).

The data are not part of comity: https://archive.ics.uci.edu/dataset/2/adult (CC BY 4.0).
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from comity.errors import FormatError, InputError

CLIENTS = ("PhD", "non-PhD")
TARGET = "income"
_VARIABLE = "COMITY_DATA"
_GET = "https://archive.ics.uci.edu/dataset/2/adult"
_HOW = (
    f"say where they are with --data or {_VARIABLE}: the directory that holds adult.data and adult.test, or the one "
    "above it if it is called adult"
)

# The categorical columns with their values in the order of adult.names.
CATEGORIES: dict[str, tuple[str, ...]] = {
    name: tuple(values.split())
    for name, values in {
        "workclass": "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked",
        "education": """Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th 12th Masters
            1st-4th 10th Doctorate 5th-6th Preschool""",
        "marital-status": """Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent
            Married-AF-spouse""",
        "occupation": """Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners
            Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv
            Armed-Forces""",
        "relationship": "Wife Own-child Husband Not-in-family Other-relative Unmarried",
        "race": "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black",
        "sex": "Female Male",
        "native-country": """United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc) India
            Japan Greece South China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam Mexico Portugal Ireland
            France Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary Guatemala Nicaragua Scotland Thailand
            Yugoslavia El-Salvador Trinadad&Tobago Peru Hong Holand-Netherlands""",
    }.items()
}
CONTINUOUS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
_COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", TARGET,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _File:
    name: str
    rows: int
    sha256: str
    comments: int = 0


_TRAIN = _File("adult.data", 32_561, "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d")
_TEST = _File("adult.test", 16_281, "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05", comments=1)


@dataclass(frozen=True, eq=False)
class Adult:
    """The rows to train with and those to test with.

    The column `client` says whose row it is, `income` is to be predicted (``<=50K`` or ``>50K``), and what the data
    have as ``?`` is missing. `education` is the same for all of the PhD client, as it is what makes the clients; it is
    among the columns all the same, as in the paper's experiment, and only tells the other client's people apart.
    """

    train: pd.DataFrame = field(repr=False)
    test: pd.DataFrame = field(repr=False)


def load(directory: str | os.PathLike[str] | None = None, *, continuous: bool = False) -> Adult:
    """Read UCI Adult from a directory, by default that which the environment variable COMITY_DATA names.

    There are eight categorical columns. The paper, which follows q-FFL here, leaves out the six continuous ones;
    `continuous` keeps them.
    """
    folder = _folder(directory)
    names = (*(name for name in _COLUMNS[:-1] if continuous or name in CATEGORIES), TARGET)
    train, test = (_read(folder / file.name, file)[["client", *names]] for file in (_TRAIN, _TEST))
    return Adult(train, test)


def _folder(directory: str | os.PathLike[str] | None) -> Path:
    given = os.environ.get(_VARIABLE, "") if directory is None else os.fspath(directory)
    if not given:
        raise InputError(f"the files of UCI Adult are needed; get them from {_GET} and {_HOW}")
    for folder in (Path(given), Path(given) / "adult"):
        if all((folder / file.name).is_file() for file in (_TRAIN, _TEST)):
            return folder
    raise InputError(f"{given}: adult.data and adult.test of UCI Adult are not in it; get them from {_GET} and {_HOW}")


def _read(path: Path, file: _File) -> pd.DataFrame:
    """Return the rows of one of the two files, having checked that it is the one that everybody uses."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror or error})") from None
    if hashlib.sha256(raw).hexdigest() != file.sha256:
        raise FormatError(
            f"{path}: this is not the file of UCI Adult (its SHA-256 differs; it has {len(raw.splitlines()):,} lines, "
            f"{file.rows:,} rows are expected); get it again from {_GET}"
        )
    lines = raw.decode().splitlines()[file.comments :]
    # Labels end in a dot in the file for testing only.
    values = [line.removesuffix(".").split(", ") for line in lines if line]
    frame = pd.DataFrame(values, columns=list(_COLUMNS), dtype=object)
    frame = frame.astype(dict.fromkeys(CONTINUOUS, "int64"))
    for name, levels in CATEGORIES.items():
        frame[name] = pd.Categorical(frame[name].where(frame[name] != "?"), categories=list(levels))
    client = frame["education"].eq("Doctorate").map({True: CLIENTS[0], False: CLIENTS[1]})
    return frame.assign(client=client)
