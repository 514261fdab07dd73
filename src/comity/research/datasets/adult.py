"""UCI Adult with two clients, people with a doctorate and all others (paper, Section 5.2).

The data are not part of comity: https://archive.ics.uci.edu/dataset/2/adult (CC BY 4.0).
"""

import os
from dataclasses import dataclass, field

import pandas as pd

from comity.research.datasets.published import PublishedFile, Source

CLIENTS = ("PhD", "non-PhD")
TARGET = "income"
SOURCE = Source("UCI Adult", "https://archive.ics.uci.edu/dataset/2/adult", "adult.data and adult.test", ("adult",))
TRAIN = PublishedFile("adult.data", "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d", 3_974_305)
TEST = PublishedFile("adult.test", "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05", 2_003_153)

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


@dataclass(frozen=True, eq=False)
class Adult:
    """The training rows and the test rows.

    The column `client` names the owner of each row, `income` (``<=50K`` or ``>50K``) is the target, and ``?`` in the
    files is a missing value. `education` defines the clients, so it is constant for the PhD client; it is kept as a
    feature, as in the paper's experiment.
    """

    train: pd.DataFrame = field(repr=False)
    test: pd.DataFrame = field(repr=False)


def load(directory: str | os.PathLike[str] | None = None, *, continuous: bool = False) -> Adult:
    """Read UCI Adult from a directory, by default the one in the environment variable COMITY_DATA.

    There are eight categorical columns. The paper follows q-FFL and leaves out the six continuous columns;
    `continuous` keeps them.
    """
    folder, _ = SOURCE.find(directory, [(TRAIN.name, TEST.name)])
    names = (*(name for name in _COLUMNS[:-1] if continuous or name in CATEGORIES), TARGET)
    train, test = (_rows(SOURCE.read(folder / file.name, file))[["client", *names]] for file in (TRAIN, TEST))
    return Adult(train, test)


def _rows(raw: bytes) -> pd.DataFrame:
    """Return the rows of a file; the test file also has a comment line, and a dot after each label."""
    lines = raw.decode().splitlines()
    values = [line.removesuffix(".").split(", ") for line in lines if line and not line.startswith("|")]
    frame = pd.DataFrame(values, columns=list(_COLUMNS), dtype=object)
    frame = frame.astype(dict.fromkeys(CONTINUOUS, "int64"))
    for name, levels in CATEGORIES.items():
        frame[name] = pd.Categorical(frame[name].where(frame[name] != "?"), categories=list(levels))
    client = frame["education"].eq("Doctorate").map({True: CLIENTS[0], False: CLIENTS[1]})
    return frame.assign(client=client)
