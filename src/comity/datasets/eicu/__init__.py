"""eICU: who dies in hospital after intensive care, for single hospitals or groups of them (paper, Section 5.3).

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

from comity.datasets.eicu.charting import measurements
from comity.datasets.eicu.clients import by_hospital, by_region_and_size
from comity.datasets.eicu.cohort import TARGET, cohort
from comity.datasets.eicu.database import DEMO, SOURCE, Database
from comity.errors import InputError
from comity.splits import assign_folds

if TYPE_CHECKING:
    from comity.fitting import Tell

__all__ = ["CLIENT", "DEMO", "PAPER_SIZES", "SOURCE", "TARGET", "Eicu", "load"]

By = Literal["region and size", "hospital"]
CLIENT = "client"
PAPER_SIZES = (1000,) * 5 + (100,) * 5


@dataclass(frozen=True, eq=False)
class Eicu:
    """Stays in intensive care: `table` has a row for each, with `client`, the features, and `died` (1 or 0) at the end.

    The index has the numbers of the stays. `notes` are sentences on who is in it, what could not be used, and why.
    """

    directory: Path
    table: pd.DataFrame = field(repr=False)
    notes: tuple[str, ...] = field(repr=False)

    def split(self, seed: int, parts: int = 5, part: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the rows to train with and those to test with: in each client one of `parts`, of the dead and others.

        The seed determines the parts; each of them can be the one to test with.
        """
        if parts < 2 or not 0 <= part < parts:
            raise InputError(
                f"part {part} of {parts} cannot be tested with; there must be two parts at least, from 0 on"
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
    shortest: float = 0,
    least: int = 150,
    sizes: Sequence[int] = PAPER_SIZES,
    tell: Tell | None = None,
) -> Eicu:
    """Read eICU from a directory, by default that which the environment variable COMITY_DATA names: demo or all of it.

    Adults from 18 to 89 with a single stay in a unit; features at admission and of the first `hours`, as far as the
    tables that are there allow. Some stays end sooner, and their last measurements tell how; `shortest` leaves out
    those with fewer hours. Clients are hospitals taken together by region and size, with at least `least` stays
    each, or single hospitals with about so many stays as `sizes` say: by default the paper's five of about 1,000 and
    five of about 100. `tell` is told which table is being read.
    """
    if by not in get_args(By):
        raise InputError(f"clients cannot be made by {by!r}; there are {' and '.join(map(repr, get_args(By)))}")
    if not (hours > 0 and shortest >= 0):
        raise InputError(f"the first {hours} hours of stays of at least {shortest} make no sense; give other numbers")
    database = Database.open(directory)
    table, notes = cohort(database, hours, shortest)
    client, more = by_hospital(table, sizes) if by == "hospital" else by_region_and_size(table, database, least)
    table = table.assign(**{CLIENT: client}).dropna(subset=CLIENT)
    if table.empty:
        raise InputError(
            f"{database.folder}: there are too few stays for a client of at least {least} with deaths and survivors; "
            "give a smaller number"
        )
    measured, told = measurements(database, table.index, hours, tell)
    features = table.drop(columns=["hospital", CLIENT, TARGET])
    return Eicu(
        database.folder,
        pd.concat([table[[CLIENT]], features, measured, table[[TARGET]]], axis=1),
        (*notes, *more, *told),
    )
