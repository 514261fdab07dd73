"""Eleven synthetic hospitals that predict how many days a patient stays, with known true effects.

Two groups of four small hospitals follow a pattern of care each, so that the same measurement has different effects. A
university hospital and a heart centre are unlike all others and have many patients. One small hospital resembles those
of the first group, but less than they resemble each other.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from comity.core.arrays import Floats
from comity.errors import InputError

CLIENT = "hospital"
TARGET = "days"

_PATTERNS = ("protocol", "early", "research", "heart")
# The usual value and the scale of each measurement; then its effect, in days for one unit of scale, under each pattern.
_MEASURED = {
    "age":               (60.0, 14.0,  (+0.9, +0.8, -0.6, -0.9)),
    "bmi":               (27.0, 4.5,   (+0.5, -0.5, -0.5, +0.6)),
    "systolic_bp":       (122.0, 18.0, (-0.8, +0.8, -0.7, +0.7)),
    "heart_rate":        (88.0, 15.0,  (+0.6, +0.6, +0.7, -1.0)),
    "breaths":           (18.0, 4.0,   (+0.7, -0.7, +0.6, +0.5)),
    "temperature":       (37.1, 0.6,   (+0.5, +0.5, -0.5, +0.4)),
    "oxygen_saturation": (95.0, 1.8,   (-0.8, -0.7, +0.8, +0.8)),
    "lactate":           (1.9, 0.6,    (+1.0, -0.9, -0.8, -0.4)),
    "creatinine":        (1.2, 0.3,    (+0.9, +0.8, +0.7, -0.6)),
    "glucose":           (140.0, 32.0, (+0.4, -0.5, -0.6, -0.7)),
    "sodium":            (139.0, 4.0,  (-0.6, +0.5, +0.5, -0.5)),
    "potassium":         (4.2, 0.5,    (+0.5, +0.6, -0.5, -0.4)),
    "albumin":           (3.4, 0.5,    (-0.9, +0.8, -0.8, +0.5)),
    "bilirubin":         (1.1, 0.3,    (+0.6, -0.6, +0.6, -0.7)),
    "haemoglobin":       (12.0, 1.8,   (-0.7, -0.6, -0.7, -0.5)),
    "platelets":         (220.0, 60.0, (-0.5, +0.6, +0.5, +0.5)),
    "white_cells":       (9.5, 2.8,    (+0.7, +0.7, +0.6, +0.6)),
    "urea":              (35.0, 9.0,   (+0.8, -0.7, -0.7, +0.5)),
    "calcium":           (8.9, 0.5,    (-0.6, -0.6, +0.5, -0.5)),
    "clotting_time":     (13.0, 1.5,   (+0.6, +0.7, +0.6, -0.6)),
}  # fmt: skip
_USUAL_STAY = 14.0
_UNEXPLAINED = 1.5  # days; the standard deviation of what no measurement tells
_MOST = 2.5  # units of scale by which a measurement differs from the usual value
_SEVERITY = 0.3  # the correlation of each measurement with the severity of the illness


@dataclass(frozen=True, slots=True)
class Hospital:
    """A hospital: its number of rows and its pattern of care, from which its effects deviate by `apart` days."""

    name: str
    rows: int
    pattern: str
    apart: float = 0.0

    @property
    def effects(self) -> Floats:
        """The effect of each measurement, in days for one unit of its scale."""
        column = _PATTERNS.index(self.pattern)
        effects = np.array([by_pattern[column] for _, _, by_pattern in _MEASURED.values()])
        return effects + self.apart * np.where(np.arange(len(effects)) % 2, 1.0, -1.0)

    def draw(self, rng: np.random.Generator, rows: int) -> pd.DataFrame:
        """Draw patients."""
        severity = rng.normal(size=(rows, 1))
        scaled = _SEVERITY * severity + np.sqrt(1 - _SEVERITY**2) * rng.normal(size=(rows, len(_MEASURED)))
        scaled = np.clip(scaled, -_MOST, _MOST)
        frame = pd.DataFrame({CLIENT: [self.name] * rows})
        for column, (name, (usual, scale, _)) in enumerate(_MEASURED.items()):
            frame[name] = (usual + scale * scaled[:, column]).round(1 if scale < 10 else 0)
        frame["sex"] = np.where(rng.random(rows) < 0.56, "m", "f")
        frame["admission"] = rng.choice(["emergency", "planned"], rows, p=[0.6, 0.4])
        stay = _USUAL_STAY + scaled @ self.effects + np.where(frame["admission"] == "emergency", 0.6, -0.6)
        frame[TARGET] = np.maximum(stay + _UNEXPLAINED * rng.normal(size=rows), 0.5).round(1)
        frame.loc[rng.random(rows) < 0.03, "albumin"] = np.nan
        return frame


HOSPITALS = (
    Hospital("University Hospital", 1500, "research"),
    Hospital("Northgate", 60, "protocol"),
    Hospital("St. Brigid's", 58, "early"),
    Hospital("Alder Valley", 45, "protocol"),
    Hospital("Harbour Heart Centre", 600, "heart"),
    Hospital("Queensmead", 52, "protocol"),
    Hospital("Eastfield", 48, "early"),
    Hospital("Fairhaven", 60, "protocol", apart=0.5),
    Hospital("Millbrook", 36, "protocol"),
    Hospital("Larkhill", 40, "early"),
    Hospital("Oakbridge", 34, "early"),
)


def hospitals(seed: int = 0, rows_per_hospital: int | None = None) -> pd.DataFrame:
    """Return the patients of eleven synthetic hospitals; `hospital` is the client column and `days` the target.

    By default a hospital has as many patients as `Hospital.rows`. They depend only on the seed and on its position in
    `HOSPITALS`, not on the sizes of the others.

    >>> frame = hospitals()
    >>> frame["hospital"].nunique(), len(frame)
    (11, 2533)
    """
    if rows_per_hospital is not None and rows_per_hospital < 1:
        raise InputError(f"rows_per_hospital is {rows_per_hospital}; it must be 1 or more")
    drawn = [
        hospital.draw(np.random.default_rng([seed, place]), rows_per_hospital or hospital.rows)
        for place, hospital in enumerate(HOSPITALS)
    ]
    return pd.concat(drawn, ignore_index=True)
