"""What is measured in the first hours of a stay, and the tables of eICU that have it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from comity.core.arrays import Floats

APACHE = "apacheApsVar"


@dataclass(frozen=True, slots=True)
class Measure:
    """A measurement: its name, the range of plausible values, and its column in APACHE's table."""

    title: str
    minimum: float
    maximum: float
    apache: str = ""


# The vital signs, the two results of the laboratory and the Glasgow coma score of the benchmark that the paper follows.
MEASURES: Mapping[str, Measure] = {
    "heart_rate": Measure("heart rate", 10, 300, "heartrate"),
    "mean_pressure": Measure("mean blood pressure", 10, 250, "meanbp"),
    "systolic_pressure": Measure("systolic blood pressure", 20, 300),
    "diastolic_pressure": Measure("diastolic blood pressure", 5, 200),
    "oxygen_saturation": Measure("oxygen saturation", 30, 100),
    "respiratory_rate": Measure("respiratory rate", 1, 100, "respiratoryrate"),
    "temperature": Measure("temperature", 25, 45, "temperature"),
    "glucose": Measure("glucose", 10, 2000, "glucose"),
    "fio2": Measure("FiO2", 21, 100, "fio2"),
    "ph": Measure("pH", 6.5, 8, "ph"),
    "gcs_eyes": Measure("GCS eyes", 1, 4, "eyes"),
    "gcs_motor": Measure("GCS motor", 1, 6, "motor"),
    "gcs_verbal": Measure("GCS verbal", 1, 5, "verbal"),
    "gcs_total": Measure("GCS total", 3, 15),
}


def cleaned(measure: str, values: pd.Series) -> Floats:
    """Return values as numbers in one unit; texts and implausible numbers become missing.

    Temperatures in degrees Fahrenheit and FiO2 as a fraction are converted: their ranges do not overlap the usual ones.

    >>> cleaned("temperature", pd.Series(["98.6", "37", "warm", "0"])).round(1)
    array([37., 37., nan, nan])
    """
    numbers: Floats = pd.to_numeric(values, errors="coerce").to_numpy(np.float64)
    if measure == "temperature":
        numbers = np.where(numbers > 60, (numbers - 32) / 1.8, numbers)
    elif measure == "fio2":
        numbers = np.where(numbers <= 1, 100 * numbers, numbers)
    known = MEASURES[measure]
    return np.where((numbers >= known.minimum) & (numbers <= known.maximum), numbers, np.nan)


@dataclass(frozen=True, slots=True)
class Chart:
    """A table with measurements over time: each measure in a column, or one measurement per row with its name.

    `columns` maps columns to measures. `items` maps each column of names to a mapping from names to measures; the
    measured values are then in the column `value`.
    """

    table: str
    offset: str
    columns: Mapping[str, str] = field(default_factory=dict)
    value: str = ""
    items: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def measures(self) -> frozenset[str]:
        """The measures that the table has."""
        return frozenset([*self.columns.values(), *(name for texts in self.items.values() for name in texts.values())])


_NURSES = Chart(
    "nurseCharting",
    "nursingchartoffset",
    value="nursingchartvalue",
    items={
        "nursingchartcelltypevalname": {
            "Heart Rate": "heart_rate", "O2 Saturation": "oxygen_saturation", "Respiratory Rate": "respiratory_rate",
            "Non-Invasive BP Mean": "mean_pressure", "Invasive BP Mean": "mean_pressure",
            "Non-Invasive BP Systolic": "systolic_pressure", "Invasive BP Systolic": "systolic_pressure",
            "Non-Invasive BP Diastolic": "diastolic_pressure", "Invasive BP Diastolic": "diastolic_pressure",
            "Temperature (C)": "temperature", "Temperature (F)": "temperature",
            "Eyes": "gcs_eyes", "Motor": "gcs_motor", "Verbal": "gcs_verbal", "GCS Total": "gcs_total",
        },
        "nursingchartcelltypevallabel": {
            "Heart Rate": "heart_rate", "O2 Saturation": "oxygen_saturation", "Respiratory Rate": "respiratory_rate",
            "MAP (mmHg)": "mean_pressure", "Arterial Line MAP (mmHg)": "mean_pressure",
            "Score (Glasgow Coma Scale)": "gcs_total",
        },
    },
)  # fmt: skip
_LABORATORY = Chart(
    "lab",
    "labresultoffset",
    value="labresult",
    items={"labname": {"glucose": "glucose", "bedside glucose": "glucose", "FiO2": "fio2", "pH": "ph"}},
)
_PERIODIC = Chart(
    "vitalPeriodic",
    "observationoffset",
    {
        "heartrate": "heart_rate", "sao2": "oxygen_saturation", "respiration": "respiratory_rate",
        "systemicmean": "mean_pressure", "systemicsystolic": "systolic_pressure",
        "systemicdiastolic": "diastolic_pressure", "temperature": "temperature",
    },
)  # fmt: skip
_APERIODIC = Chart(
    "vitalAperiodic",
    "observationoffset",
    {
        "noninvasivemean": "mean_pressure", "noninvasivesystolic": "systolic_pressure",
        "noninvasivediastolic": "diastolic_pressure",
    },
)  # fmt: skip
_RESPIRATORY = Chart(
    "respiratoryCharting",
    "respchartoffset",
    value="respchartvalue",
    items={"respchartvaluelabel": {"FiO2": "fio2", "FIO2 (%)": "fio2", "SaO2": "oxygen_saturation"}},
)
# The benchmark's tables come first; a measure is taken from the first group that has it, or else from APACHE.
CHARTS = ((_NURSES, _LABORATORY), (_PERIODIC, _APERIODIC), (_RESPIRATORY,))
