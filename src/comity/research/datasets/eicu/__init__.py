"""eICU: deaths in hospital after intensive care; clients are hospitals or groups of them (paper, Section 5.3).

The data are not part of comity: https://physionet.org/content/eicu-crd-demo/2.0.1/ (the demo, ODbL 1.0) and
https://physionet.org/content/eicu-crd/2.0/ (the full database, for those who apply). Both have the same tables.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import pandas as pd

from comity.errors import InputError
from comity.research.datasets.eicu.charts import measurements
from comity.research.datasets.eicu.cohort import TARGET, by_hospital, by_region_and_size, cohort
from comity.research.datasets.eicu.database import DEMO, SOURCE, Database
from comity.rows.splits import assign_folds

if TYPE_CHECKING:
    from comity.core.progress import Progress

__all__ = ["CLIENT", "DEMO", "PAPER_SIZES", "SOURCE", "TARGET", "Eicu", "load"]

By = Literal["region and size", "hospital"]
CLIENT = "client"
PAPER_SIZES = (1000,) * 5 + (100,) * 5


@dataclass(frozen=True, eq=False)
class Eicu:
    """Stays in intensive care: `table` has a row for each, with `client`, the features, and the target `died` (1 or 0).

    The index has the ids of the stays. `notes` describe the cohort and what could not be used, and why.
    """

    directory: Path
    table: pd.DataFrame = field(repr=False)
    notes: tuple[str, ...] = field(repr=False)

    def split(self, seed: int, parts: int = 5, part: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the training rows and the test rows; the test rows are part `part` of `parts`.

        The seed determines the parts, which are stratified by client and outcome.
        """
        if parts < 2 or not 0 <= part < parts:
            raise InputError(
                f"cannot test on part {part} of {parts}; give at least two parts, and a part from 0 to parts - 1"
            )
        tested = np.zeros(len(self.table), np.bool_)
        for name, rows in self.table.groupby(CLIENT).indices.items():
            died = self.table[TARGET].to_numpy(np.float64)[rows]
            tested[rows] = assign_folds(died, parts, seed, str(name)) == part
        return self.table[~tested], self.table[tested]


def load(
    directory: str | os.PathLike[str] | None = None,
    *,
    by: By = "region and size",
    hours: float = 24,
    min_hours: float = 0,
    min_stays: int = 150,
    sizes: Sequence[int] = PAPER_SIZES,
    progress: Progress | None = None,
) -> Eicu:
    """Read eICU, the demo or the full database, from a directory, by default the one in COMITY_DATA.

    The cohort are adults from 18 to 89 with a single stay in a unit. Features are known at admission or measured in
    the first `hours`, as far as the tables are there. Some stays end sooner, and their last measurements reveal the
    outcome; `min_hours` leaves out shorter stays. Clients are groups of hospitals by region and size with at least
    `min_stays` stays each, or single hospitals with about as many stays as `sizes`: by default, as in the paper, five
    with about 1,000 and five with about 100. `progress` is called with the table that is being read.
    """
    if by not in get_args(By):
        raise InputError(f"clients cannot be formed by {by!r}; choose {' or '.join(map(repr, get_args(By)))}")
    if not (hours > 0 and min_hours >= 0):
        raise InputError(
            f"hours is {hours} and min_hours is {min_hours}; hours must be positive, and min_hours 0 or more"
        )
    database = Database.open(directory)
    table, notes = cohort(database, hours, min_hours)
    client, client_notes = (
        by_hospital(table, sizes) if by == "hospital" else by_region_and_size(table, database, min_stays)
    )
    table = table.assign(**{CLIENT: client}).dropna(subset=CLIENT)
    if table.empty:
        raise InputError(
            f"{database.folder}: there are too few stays for a client of at least {min_stays} with deaths and "
            "survivors; give a smaller number (min_stays)"
        )
    measured, measure_notes = measurements(database, table.index, hours, progress)
    features = table.drop(columns=["hospital", CLIENT, TARGET])
    return Eicu(
        database.folder,
        pd.concat([table[[CLIENT]], features, measured, table[[TARGET]]], axis=1),
        (*notes, *client_notes, *measure_notes),
    )
