"""A small made-up database in the layout of the full eICU: the tables and columns by their published names."""

import gzip
from collections import deque
from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

REGIONS = ("Midwest", "Northeast", "South", "West", None)
BEDS = ("<100", "100 - 249", "250 - 499", ">= 500", None)
_COLUMNS = {
    "hospital": "hospitalid numbedscategory teachingstatus region",
    "patient": """patientunitstayid patienthealthsystemstayid gender age ethnicity hospitalid wardid apacheadmissiondx
        admissionheight hospitaladmittime24 hospitaladmitoffset hospitaladmitsource hospitaldischargeyear
        hospitaldischargetime24 hospitaldischargeoffset hospitaldischargelocation hospitaldischargestatus unittype
        unitadmittime24 unitadmitsource unitvisitnumber unitstaytype admissionweight dischargeweight unitdischargetime24
        unitdischargeoffset unitdischargelocation unitdischargestatus uniquepid""",
    "admissionDx": "admissiondxid patientunitstayid admitdxenteredoffset admitdxpath admitdxname admitdxtext",
    "apacheApsVar": """apacheapsvarid patientunitstayid intubated vent dialysis eyes motor verbal meds urine wbc
        temperature respiratoryrate sodium heartrate meanbp ph hematocrit creatinine albumin pao2 pco2 bun glucose
        bilirubin fio2""",
    "vitalPeriodic": """vitalperiodicid patientunitstayid observationoffset temperature sao2 heartrate respiration cvp
        etco2 systemicsystolic systemicdiastolic systemicmean pasystolic padiastolic pamean st1 st2 st3 icp""",
    "vitalAperiodic": """vitalaperiodicid patientunitstayid observationoffset noninvasivesystolic noninvasivediastolic
        noninvasivemean paop cardiacoutput cardiacinput svr svri pvr pvri""",
    "lab": """labid patientunitstayid labresultoffset labtypeid labname labresult labresulttext labmeasurenamesystem
        labmeasurenameinterface labresultrevisedoffset""",
    "nurseCharting": """nursingchartid patientunitstayid nursingchartoffset nursingchartentryoffset
        nursingchartcelltypecat nursingchartcelltypevallabel nursingchartcelltypevalname nursingchartvalue""",
    "respiratoryCharting": """respchartid patientunitstayid respchartoffset respchartentryoffset respcharttypecat
        respchartvaluelabel respchartvalue""",
}
TABLES = tuple(_COLUMNS)
_CACHE: deque[tuple[pd.DataFrame, bool, bytes]] = deque(maxlen=3 * len(_COLUMNS))
SYSTEMS = ("Cardiovascular", "Neurologic", "Respiratory")
# What nurses chart: label, name, the value of a healthy patient, and its standard deviation.
CHARTED = (
    ("Heart Rate", "Heart Rate", 85, 10),
    ("Respiratory Rate", "Respiratory Rate", 18, 3),
    ("O2 Saturation", "O2 Saturation", 96, 1),
    ("Non-Invasive BP", "Non-Invasive BP Systolic", 120, 12),
    ("Non-Invasive BP", "Non-Invasive BP Diastolic", 65, 8),
    ("MAP (mmHg)", "Value", 80, 8),
    ("Temperature", "Temperature (F)", 98.6, 1),
    ("Glasgow coma score", "GCS Total", 14, 0.3),
    ("Glasgow coma score", "Eyes", 4, 0),
    ("Glasgow coma score", "Motor", 6, 0),
    ("Glasgow coma score", "Verbal", 4, 0.3),
    ("Pain Score", "Value", 3, 1),
)


def eicu_tables(sizes: Mapping[int, int], seed: int = 0, deadly: int = 6) -> dict[str, pd.DataFrame]:
    """Tables for hospitals with the given numbers of stays in the cohort; every `deadly`-th stay ends in death.

    Each hospital also has six stays outside the cohort: too old, too young, of unknown age, of unknown outcome, and two
    of the same person.
    """
    rng = np.random.default_rng(seed)
    patients: list[dict[str, object]] = []
    for hospital, count in sizes.items():
        for number in range(count + 6):
            odd = number - count
            stay = 1000 * hospital + number
            patients.append(
                {
                    "patientunitstayid": stay,
                    "patienthealthsystemstayid": 10_000_000 + stay,
                    "gender": ("Female", "Male", "Unknown")[number % 3 if number % 7 == 0 else number % 2],
                    "age": {0: "> 89", 1: "17", 2: ""}.get(odd, str(18 + number % 72)),
                    "ethnicity": ("Caucasian", "Hispanic", None)[number % 3],
                    "hospitalid": hospital,
                    "apacheadmissiondx": 'Sepsis, "pulmonary"',
                    "admissionheight": 170 if number % 9 else 17,
                    "admissionweight": 60 + number % 40,
                    "unitdischargeoffset": 600 if number % 8 == 0 else 3000,
                    "hospitaldischargestatus": "" if odd == 3 else "Alive" if number % deadly else "Expired",
                    "uniquepid": f"{hospital:03}-twice" if odd in (4, 5) else f"{hospital:03}-{number}",
                }
            )
    people = pd.DataFrame(patients)
    stays = people["patientunitstayid"].to_numpy()
    ill = (people["hospitaldischargestatus"] == "Expired").to_numpy(float)
    tables = {
        "hospital": pd.DataFrame(
            {
                "hospitalid": list(sizes),
                "numbedscategory": [BEDS[place % 5] for place in range(len(sizes))],
                "teachingstatus": "f",
                "region": [REGIONS[place // 5 % 5] for place in range(len(sizes))],
            }
        ),
        "patient": people,
        "admissionDx": _diagnoses(stays),
        "apacheApsVar": pd.DataFrame(
            {
                "patientunitstayid": stays,
                "eyes": np.where(stays % 11, 4, -1),
                "motor": 6,
                "verbal": 5,
                "temperature": np.where(stays % 5, 36.5, -1),
                "respiratoryrate": 30,
                "heartrate": 100 + 20 * ill,
                "meanbp": 60,
                "ph": np.where(stays % 2, 7.3, -1),
                "glucose": 150,
                "fio2": np.where(stays % 2, 40, -1),
            }
        ),
    }
    tables |= _charts(rng, stays, ill)
    return {name: table.reindex(columns=_COLUMNS[name].split()) for name, table in tables.items()}


def write_eicu(
    directory: Path,
    tables: Mapping[str, pd.DataFrame],
    ending: str = ".csv.gz",
    without: Collection[str] = (),
) -> Path:
    """Write tables under their published names."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        if name not in without:
            (directory / f"{name}{ending}").write_bytes(_written(table, packed=ending.endswith(".gz")))
    return directory


def _written(table: pd.DataFrame, *, packed: bool) -> bytes:
    """Return a table as CSV, compressed quickly; recent tables are cached, since most tests write the same ones."""
    for cached, as_packed, content in _CACHE:
        if cached is table and as_packed == packed:
            return content
    text = table.to_csv(index=False).encode()
    _CACHE.append((table, packed, gzip.compress(text, compresslevel=1, mtime=0) if packed else text))
    return _CACHE[-1][2]


def _diagnoses(stays: np.ndarray) -> pd.DataFrame:
    start = "admission diagnosis"
    rows = []
    for stay in stays.tolist():
        kind = "Operative" if stay % 4 == 0 else "Non-operative"
        system = SYSTEMS[stay % 3]
        rows.append((stay, f"{start}|All Diagnosis|{kind}|Diagnosis|{system}|Something"))
        if stay % 10:
            rows.append((stay, f"{start}|{kind} Organ Systems|Organ System|{system}"))
    return pd.DataFrame(rows, columns=["patientunitstayid", "admitdxpath"])


def _charts(rng: np.random.Generator, stays: np.ndarray, ill: np.ndarray) -> dict[str, pd.DataFrame]:
    """Measurements from before the admission until after the first day, in a random order; some are not numbers."""
    offsets = np.array([-30, 0, 10, 10, 700, 1439, 1440, 2000])

    def drawn(usual: float, stray: float) -> np.ndarray:
        return np.round(usual + stray * (rng.normal(size=(stays.size, offsets.size)) + 0.7 * ill[:, None]), 1).ravel()

    times = {"patientunitstayid": np.repeat(stays, offsets.size), "offset": np.tile(offsets, stays.size)}
    nurses = pd.concat(
        pd.DataFrame(times).assign(
            nursingchartcelltypevallabel=label,
            nursingchartcelltypevalname=name,
            nursingchartvalue=pd.Series(drawn(usual, stray))
            .astype(str)
            .mask(rng.random(len(times["offset"])) < 0.1, "x"),
        )
        for label, name, usual, stray in CHARTED
    )
    results = pd.concat(
        pd.DataFrame(times).assign(labname=name, labresult=drawn(usual, stray))
        for name, usual, stray in (
            ("glucose", 130, 30),
            ("bedside glucose", 140, 30),
            ("pH", 7.4, 0.1),
            ("sodium", 140, 3),
        )
    )
    periodic = pd.DataFrame(times).assign(
        temperature=np.nan, sao2=drawn(96, 1), heartrate=drawn(85, 10), respiration=drawn(18, 3),
        systemicsystolic=drawn(125, 10), systemicdiastolic=drawn(70, 5), systemicmean=drawn(85, 5),
    )  # fmt: skip
    aperiodic = pd.DataFrame(times).assign(
        noninvasivesystolic=drawn(115, 10), noninvasivediastolic=drawn(60, 5), noninvasivemean=drawn(75, 5)
    )
    oxygen = pd.DataFrame(times).assign(respchartvaluelabel="FiO2", respchartvalue=np.round(drawn(0.4, 0.02), 2))
    lab_oxygen = pd.DataFrame(times).assign(labname="FiO2", labresult=np.round(drawn(45, 2), 0))
    tables = {
        "nurseCharting": nurses.rename(columns={"offset": "nursingchartoffset"}),
        "lab": pd.concat([results, lab_oxygen]).rename(columns={"offset": "labresultoffset"}),
        "vitalPeriodic": periodic.rename(columns={"offset": "observationoffset"}),
        "vitalAperiodic": aperiodic.rename(columns={"offset": "observationoffset"}),
        "respiratoryCharting": oxygen.rename(columns={"offset": "respchartoffset"}),
    }
    return {name: table.iloc[rng.permutation(len(table))] for name, table in tables.items()}
