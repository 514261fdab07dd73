"""The cohort of the benchmark that the paper follows (Sheikhalishahi et al.), and the client of each stay.

A client is a single hospital, or a group of hospitals of the same region and size.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from comity.errors import FormatError, InputError
from comity.research.datasets.eicu.database import SOURCE, STAY, Database

YOUNGEST, OLDEST = 18, 89  # the database has older patients as "> 89"
TARGET = "died"
_PATIENT = (
    STAY, "uniquepid", "hospitalid", "age", "gender", "ethnicity", "admissionheight", "admissionweight",
    "hospitaldischargestatus", "unitdischargeoffset",
)  # fmt: skip
_HEIGHTS, _WEIGHTS = (100, 240), (30, 300)  # cm and kg
_OUTCOMES = {"Alive": 0, "Expired": 1}
_SYSTEMS = r"\|(Operative|Non-operative) Organ Systems\|Organ System\|([^|]+)"
MIN_OUTCOMES = 5  # deaths, and survivors, of every client: with fewer, nothing can be learned or tested
_SIZE_TOLERANCE = 2.0  # "about 1,000 stays" means from half to twice as many
_BEDS = {"<100": (0, 100), "100 - 249": (100, 250), "250 - 499": (250, 500), ">= 500": (500, 0)}
_UNKNOWN = "unknown"


def cohort(database: Database, hours: float, min_hours: float) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return a row for each stay of the cohort, with its hospital and features at admission, and notes.

    The cohort are adults from 18 to 89 with a single stay in a unit, of at least `min_hours` hours, whose outcome at
    discharge from the hospital is known. Measurements will be taken from the first `hours`.
    """
    patients = database.read("patient", _PATIENT, as_text=set(_PATIENT) - {STAY, "hospitalid"})
    path = database.paths["patient"]
    if not (pd.api.types.is_integer_dtype(patients[STAY]) and patients[STAY].is_unique):
        raise FormatError(
            f"{path}: {STAY} should be a different whole number in every row; get the table again from {SOURCE.page}"
        )
    age = _number(patients["age"], (YOUNGEST, OLDEST))
    single = ~patients["uniquepid"].duplicated(keep=False) & patients["uniquepid"].notna()
    outcome = patients["hospitaldischargestatus"].astype(object).map(_OUTCOMES)
    stayed = _number(patients["unitdischargeoffset"], (-np.inf, np.inf)) / 60
    eligible = age.notna() & single
    chosen = eligible & outcome.notna() & ((stayed >= min_hours) | (min_hours == 0))
    if not chosen.any():
        raise InputError(
            f"{path}: none of {len(patients):,} stays is in the cohort (patients from {YOUNGEST} to {OLDEST} with a "
            "single stay that is long enough and a known outcome); check that this is eICU's table"
        )
    kept = patients[chosen]
    table = pd.DataFrame(
        {
            "hospital": kept["hospitalid"],
            "age": age[chosen],
            "gender": _text(kept["gender"].where(kept["gender"].isin(["Female", "Male"]))),
            "ethnicity": _text(kept["ethnicity"]),
            "height_cm": _number(kept["admissionheight"], _HEIGHTS),
            "weight_kg": _number(kept["admissionweight"], _WEIGHTS),
            TARGET: outcome[chosen].astype(np.int64),
        }
    ).set_index(pd.Index(kept[STAY], name="stay"))
    enough = f" and last {min_hours:g} hours or more" if min_hours else ""
    candidates = f"{eligible.sum():,} of {len(patients):,} stays are of patients from {YOUNGEST} to {OLDEST}"
    notes = [f"{candidates} with a single stay; {len(table):,} of these have a known outcome{enough}"]
    ended = outcome[chosen & (stayed < hours)]
    if len(ended):
        notes.append(
            f"{len(ended):,} of them, {ended.sum():.0f} with a death in hospital, end within {hours:g} hours: their "
            "measurements run to the end of the stay"
        )
    if "admissionDx" in database:
        table = table.join(_diagnoses(database))
    else:
        notes.append("group of the diagnosis: not used, because admissionDx is missing")
    return table, tuple(notes)


def _diagnoses(database: Database) -> pd.DataFrame:
    """Return the organ system of each stay's admission diagnosis, and whether the patient had an operation."""
    paths = database.read("admissionDx", [STAY, "admitdxpath"], as_text=["admitdxpath"])
    found = paths["admitdxpath"].astype(object).str.extract(_SYSTEMS)
    first = found.set_index(paths[STAY]).dropna()
    first = first[~first.index.duplicated()]
    return pd.DataFrame(
        {"organ_system": _text(first[1]), "operative": _text(first[0].map({"Operative": "yes", "Non-operative": "no"}))}
    )


def _number(values: pd.Series, limits: tuple[float, float]) -> pd.Series:
    """Return numbers; values outside the limits become missing."""
    numbers = pd.to_numeric(values.astype(object), errors="coerce").astype(np.float64)
    return numbers.where(numbers.between(*limits))


def _text(values: pd.Series) -> pd.Series:
    return values.astype(object).astype("category")


def by_hospital(table: pd.DataFrame, sizes: Sequence[int]) -> tuple[pd.Series, tuple[str, ...]]:
    """Return each stay's client: for every size, the remaining hospital with the nearest number of stays.

    Stays of other hospitals have no client (missing).
    """
    counts = table.groupby("hospital")[TARGET].agg(["size", "sum"])
    deaths, survivors = counts["sum"], counts["size"] - counts["sum"]
    eligible = counts[(deaths >= MIN_OUTCOMES) & (survivors >= MIN_OUTCOMES)]["size"]
    names = {}
    for size in sizes:
        distance = np.abs(np.log(eligible / size))
        if eligible.empty or distance.min() > np.log(_SIZE_TOLERANCE):
            raise InputError(
                f"there is no hospital left with about {size:,} stays and at least {MIN_OUTCOMES} deaths and "
                f"{MIN_OUTCOMES} survivors (the largest of {len(counts):,} has {counts['size'].max():,} stays); group "
                "hospitals by region and size, or give other sizes"
            )
        nearest = distance.idxmin()
        names[nearest] = f"hospital {nearest}"
        eligible = eligible.drop(nearest)
    return table["hospital"].map(names), (f"{len(names)} of {len(counts):,} hospitals are clients",)


def by_region_and_size(table: pd.DataFrame, database: Database, min_stays: int) -> tuple[pd.Series, tuple[str, ...]]:
    """Return each stay's client: the hospitals of a region with about as many beds.

    Within a region, hospitals are grouped from few beds to many, with unknown sizes last, until a group has at least
    `min_stays` stays and enough deaths and survivors; the rest joins the last group. Regions with too few stays are
    pooled with the hospitals whose region is unknown; if these are still too few, they are left out.
    """
    columns = ["hospitalid", "region", "numbedscategory"]
    hospitals = database.read("hospital", columns, as_text=columns[1:]).drop_duplicates("hospitalid")
    known = hospitals.set_index("hospitalid").reindex(table["hospital"])
    region = known["region"].astype(object).fillna(_UNKNOWN).set_axis(table.index)
    beds = known["numbedscategory"].astype(object).set_axis(table.index)
    beds = beds.where(beds.isin([*_BEDS]), _UNKNOWN)
    regions = sorted(set(region), key=lambda name: (name == _UNKNOWN, name))
    enough = [name for name in regions if name != _UNKNOWN and _is_enough(table.loc[region == name, TARGET], min_stays)]
    pooled = [name for name in regions if name not in enough]
    client = pd.Series(None, index=table.index, dtype=object)
    for name in enough:
        inside = region == name
        for sizes in _group_sizes(table[inside], beds[inside], min_stays):
            client[inside & beds.isin(sizes)] = f"{name}{_beds_text(sizes)}"
    rest = region.isin(pooled)
    if _is_enough(table.loc[rest, TARGET], min_stays):
        client[rest] = " or ".join(name if name != _UNKNOWN else "unknown region" for name in pooled)
    elif rest.any():
        note = f"{rest.sum():,} stays ({', '.join(pooled)} region) are too few for a client and were left out"
        return client, (note,)
    return client, ()


def _group_sizes(table: pd.DataFrame, beds: pd.Series, min_stays: int) -> list[list[str]]:
    """Return the groups of hospital sizes within a region."""
    groups: list[list[str]] = []
    current: list[str] = []
    for size in (*_BEDS, _UNKNOWN):
        current.append(size)
        if _is_enough(table.loc[beds.isin(current), TARGET], min_stays):
            groups.append(current)
            current = []
    groups[-1] += current
    return groups


def _is_enough(died: pd.Series, min_stays: int) -> bool:
    return bool(len(died) >= min_stays and min(died.sum(), len(died) - died.sum()) >= MIN_OUTCOMES)


def _beds_text(sizes: Sequence[str]) -> str:
    """Return the numbers of beds as text, empty if the sizes are all there are.

    >>> _beds_text(["<100", "100 - 249"]), _beds_text([">= 500", "unknown"]), _beds_text([*_BEDS, "unknown"])
    (' <250 beds', ' >=500 or unknown beds', '')
    """
    known = [_BEDS[size] for size in sizes if size in _BEDS]
    if len(known) == len(_BEDS):
        return ""
    texts = [_UNKNOWN] if _UNKNOWN in sizes else []
    if known:
        first, last = known[0][0], known[-1][1]
        texts.insert(0, f"{first}-{last - 1}" if first and last else f">={first}" if first else f"<{last}")
    return f" {' or '.join(texts)} beds"
