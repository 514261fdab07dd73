"""Who the clients are: single hospitals, or hospitals of a region and size together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from comity.datasets.eicu.cohort import TARGET
from comity.datasets.eicu.database import Database
from comity.errors import InputError

DEATHS = 5  # and as many who live, in every client: otherwise nothing can be learned or tested there
_ABOUT = 2.0  # "about 1,000 stays" is from half to twice as many
_BEDS = {"<100": (0, 100), "100 - 249": (100, 250), "250 - 499": (250, 500), ">= 500": (500, 0)}
_UNKNOWN = "unknown"


def by_hospital(table: pd.DataFrame, sizes: Sequence[int]) -> tuple[pd.Series, tuple[str, ...]]:
    """Return each stay's client, for every size the hospital with the nearest number of stays that is not taken yet.

    The others belong to nobody (missing). The paper has five hospitals with about 1,000 stays and five with about 100.
    """
    told = table.groupby("hospital")[TARGET].agg(["size", "sum"])
    able = told[(told["sum"] >= DEATHS) & (told["size"] - told["sum"] >= DEATHS)]["size"]
    names = {}
    for size in sizes:
        distance = np.abs(np.log(able / size))
        if able.empty or distance.min() > np.log(_ABOUT):
            raise InputError(
                f"there is no hospital left with about {size:,} stays, {DEATHS} deaths and {DEATHS} survivors (the "
                f"largest of {len(told):,} has {told['size'].max():,} stays); take hospitals together by region and "
                "size, or give other sizes"
            )
        nearest = distance.idxmin()
        names[nearest] = f"hospital {nearest}"
        able = able.drop(nearest)
    client = table["hospital"].map(names)
    return client, (f"{len(names)} of {len(told):,} hospitals are clients",)


def by_region_and_size(table: pd.DataFrame, database: Database, least: int) -> tuple[pd.Series, tuple[str, ...]]:
    """Return each stay's client: the hospitals of a region with about as many beds.

    In every region, from few beds to many and unknown ones last, hospitals are taken together until they have at least
    so many stays (and deaths, and survivors); what then remains joins the last of them. Regions that have too few in
    all are taken together with the hospitals whose region is unknown; if these still are too few, they are left out.
    """
    columns = ["hospitalid", "region", "numbedscategory"]
    hospitals = database.read("hospital", columns, as_text=columns[1:]).drop_duplicates("hospitalid")
    known = hospitals.set_index("hospitalid").reindex(table["hospital"])
    region = known["region"].astype(object).fillna(_UNKNOWN).set_axis(table.index)
    beds = known["numbedscategory"].astype(object).set_axis(table.index)
    beds = beds.where(beds.isin([*_BEDS]), _UNKNOWN)
    enough = [
        name
        for name in sorted(set(region) - {_UNKNOWN})
        if _is_enough(table.loc[region == name, TARGET].value_counts(), least)
    ]
    pooled = sorted(set(region) - {*enough, _UNKNOWN}) + [_UNKNOWN] * (_UNKNOWN in set(region))
    client = pd.Series(None, index=table.index, dtype=object)
    for name in enough:
        inside = region == name
        for sizes in _together(table[inside], beds[inside], least):
            client[inside & beds.isin(sizes)] = f"{name}{_told(sizes)}"
    rest = region.isin(pooled)
    if _is_enough(table.loc[rest, TARGET].value_counts(), least):
        client[rest] = " or ".join(name if name != _UNKNOWN else "unknown region" for name in pooled)
        return client, ()
    if rest.any():
        return client, (
            f"{rest.sum():,} stays ({', '.join(pooled)} region) are too few for a client and were left out",
        )
    return client, ()


def _together(table: pd.DataFrame, beds: pd.Series, least: int) -> list[list[str]]:
    """Return the sizes of hospitals that are taken together."""
    groups: list[list[str]] = []
    going: list[str] = []
    for size in (*_BEDS, _UNKNOWN):
        going.append(size)
        if _is_enough(table.loc[beds.isin(going), TARGET].value_counts(), least):
            groups.append(going)
            going = []
    groups[-1] += going
    return groups


def _is_enough(outcomes: pd.Series, least: int) -> bool:
    return bool(outcomes.sum() >= least and min(outcomes.get(0, 0), outcomes.get(1, 0)) >= DEATHS)


def _told(sizes: Sequence[str]) -> str:
    """Say which hospitals they are: nothing if all, otherwise their numbers of beds.

    >>> _told(["<100", "100 - 249"]), _told(["250 - 499"]), _told([">= 500", "unknown"]), _told([*_BEDS, "unknown"])
    (' <250 beds', ' 250-499 beds', ' >=500 or unknown beds', '')
    """
    known = [_BEDS[size] for size in sizes if size in _BEDS]
    if len(known) == len(_BEDS):
        return ""
    return f" {' or '.join([*_ranges(known), *([_UNKNOWN] if _UNKNOWN in sizes else [])])} beds"


def _ranges(known: Sequence[tuple[int, int]]) -> Iterator[str]:
    if known:
        first, last = known[0][0], known[-1][1]
        yield f"{first}-{last - 1}" if first and last else f">={first}" if first else f"<{last}"
