"""Eight synthetic hospitals that predict deaths in intensive care, with known true effects.

Four of them follow one pattern of care and three another, so that the same measurement has different effects; the
eighth is a heart centre unlike all others. The small hospitals have too few rows for a good model alone.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from comity.core.arrays import Floats
from comity.errors import InputError

CLIENT = "hospital"
TARGET = "died"

# The usual value and the scale of each measurement; effects on the risk are per unit of scale.
_USUAL = {
    "age": (64, 15), "lactate": (1.8, 0.9), "creatinine": (1.2, 0.5), "systolic_bp": (122, 18), "heart_rate": (88, 15),
    "oxygen_saturation": (96, 1.6), "glucose": (140, 40),
}  # fmt: skip
# The effects on the log odds of death under each pattern of care.
_EFFECTS = {
    "protocol": {
        "age": 0.7, "lactate": 1.0, "creatinine": 0.6, "systolic_bp": -0.7, "heart_rate": 0.3,
        "oxygen_saturation": -0.6, "glucose": 0.1, "sex=m": 0.2, "admission=emergency": 0.6, "admission=transfer": 0.4,
        "unit=surgical": -0.4, "unit=cardiac": 0.1,
    },
    # Patients with high lactate or low pressure are treated first here, which reverses the effects.
    "early": {
        "age": 0.8, "lactate": -0.5, "creatinine": 0.1, "systolic_bp": 0.5, "heart_rate": 1.0,
        "oxygen_saturation": 0.2, "glucose": 0.8, "sex=m": -0.2, "admission=emergency": -0.2, "admission=transfer": 0.5,
        "unit=surgical": 0.5, "unit=cardiac": -0.3,
    },
    # Old patients come for planned repairs and young ones with inborn defects; slow hearts and low glucose are risks.
    "heart": {
        "age": -0.9, "lactate": 0.3, "creatinine": -0.4, "systolic_bp": 0.7, "heart_rate": -1.0,
        "oxygen_saturation": 0.8, "glucose": -0.8, "sex=m": 0.5, "admission=emergency": -0.6, "admission=transfer": 0.9,
        "unit=surgical": 0.6, "unit=cardiac": 0.9,
    },
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Hospital:
    """A hospital: its number of rows, its pattern of care, and its patients.

    `base` are the log odds of death of the usual patient, `older` shifts the ages, `units` are the shares of medical,
    surgical and cardiac patients, and `unmeasured` is the share without a lactate value.
    """

    name: str
    rows: int
    pattern: str
    base: float = -2.6
    older: float = 0.0
    units: tuple[float, float, float] = (0.5, 0.35, 0.15)
    unmeasured: float = 0.25

    def draw(self, rng: np.random.Generator, rows: int) -> pd.DataFrame:
        """Draw patients; the severity of their illness affects most measurements."""
        severity = rng.normal(size=rows)

        def noise(share: float) -> Floats:
            """Return standard normal values whose correlation with the severity is `share`."""
            return np.asarray(share * severity + np.sqrt(1 - share**2) * rng.normal(size=rows))

        frame = pd.DataFrame(
            {
                CLIENT: self.name,
                "age": np.clip(np.round(64 + self.older + 15 * rng.normal(size=rows)), 18, 95).astype(np.int64),
                "sex": np.where(rng.random(rows) < 0.56, "m", "f"),
                "admission": rng.choice(["emergency", "elective", "transfer"], rows, p=[0.58, 0.27, 0.15]),
                "unit": rng.choice(["medical", "surgical", "cardiac"], rows, p=self.units),
                "lactate": np.round(np.exp(0.47 + 0.45 * noise(0.6)), 1),
                "creatinine": np.round(np.exp(0.1 + 0.4 * noise(0.4)), 2),
                "systolic_bp": np.clip(np.round(122 - 18 * noise(0.5)), 60, 220),
                "heart_rate": np.clip(np.round(88 + 15 * noise(0.5)), 35, 180),
                "oxygen_saturation": np.round(100 - np.exp(1.3 + 0.4 * noise(0.5))),
                "glucose": np.round(np.exp(4.9 + 0.28 * noise(0.3))),
            }
        )
        frame[TARGET] = (rng.random(rows) < 1 / (1 + np.exp(-self._log_odds(frame)))).astype(np.int64)
        # Lactate is measured less often in patients who are less ill; the other values are missing at random.
        frame.loc[rng.random(rows) < self.unmeasured * np.where(severity < 0, 1.5, 0.5), "lactate"] = np.nan
        frame.loc[rng.random(rows) < 0.04, "creatinine"] = np.nan
        frame.loc[rng.random(rows) < 0.08, "glucose"] = np.nan
        return frame

    def _log_odds(self, frame: pd.DataFrame) -> Floats:
        odds = np.full(len(frame), self.base)
        for feature, effect in _EFFECTS[self.pattern].items():
            name, _, level = feature.partition("=")
            if level:
                odds += effect * (frame[name] == level).to_numpy(np.float64)
            else:
                usual, step = _USUAL[name]
                odds += effect * (frame[name].to_numpy(np.float64) - usual) / step
        return odds


HOSPITALS = (
    Hospital("Northgate General", 900, "protocol"),
    Hospital("St. Brigid's", 420, "early", older=4),
    Hospital("Alder Valley", 130, "protocol", older=3, units=(0.6, 0.3, 0.1)),
    Hospital("Harbour Heart Centre", 800, "heart", base=-3.4, older=-2, units=(0.1, 0.4, 0.5), unmeasured=0.1),
    Hospital("Queensmead", 240, "protocol", older=-3),
    Hospital("Eastfield University", 650, "early", units=(0.4, 0.4, 0.2)),
    Hospital("Millbrook", 60, "protocol", older=5, units=(0.7, 0.25, 0.05), unmeasured=0.4),
    Hospital("Fairhaven", 90, "early", older=2, unmeasured=0.35),
)


def hospitals(seed: int = 0, rows_per_hospital: int | None = None) -> pd.DataFrame:
    """Return the patients of eight synthetic hospitals; `hospital` is the client column and `died` the target.

    By default a hospital has as many patients as `Hospital.rows`. They depend only on the seed and on its position in
    `HOSPITALS`, not on the sizes of the others.

    >>> frame = hospitals()
    >>> frame["hospital"].nunique(), len(frame)
    (8, 3290)
    """
    if rows_per_hospital is not None and rows_per_hospital < 1:
        raise InputError(f"rows_per_hospital is {rows_per_hospital}; it must be 1 or more")
    drawn = [
        hospital.draw(np.random.default_rng([seed, place]), rows_per_hospital or hospital.rows)
        for place, hospital in enumerate(HOSPITALS)
    ]
    return pd.concat(drawn, ignore_index=True)
