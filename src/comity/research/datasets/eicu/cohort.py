"""The cohort of the benchmark that the paper follows (Sheikhalishahi et al.): features at admission, and outcomes."""

from __future__ import annotations

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
