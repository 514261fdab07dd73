"""Summaries of the measurements in the first hours of a stay: mean, minimum, maximum and last value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from comity.core.arrays import Floats
from comity.core.text import join
from comity.research.datasets.eicu.database import STAY, Database
from comity.research.datasets.eicu.measures import APACHE, CHARTS, MEASURES, Chart, cleaned

if TYPE_CHECKING:
    from comity.core.progress import Progress

_PLACES = {measure: place for place, measure in enumerate(MEASURES)}


def measurements(
    database: Database, stays: pd.Index, hours: float, progress: Progress | None = None
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return summaries of what was measured in the first hours of stays, in their order, and notes on missing tables.

    Tables are read in parts, so that memory grows with the stays and not with the rows.
    """
    plan = {measure: _find_charts(measure, database) for measure in MEASURES}
    summaries = RunningSummaries(len(stays))
    for chart in (chart for group in CHARTS for chart in group if chart.table in database):
        measures = [measure for measure, (charts, _) in plan.items() if chart in charts]
        for measure, places, offsets, values in _read(chart, measures, database, stays, hours, progress):
            summaries.add(measure, places, offsets, values)
    columns = {
        f"{measure}_{statistic}": values
        for measure in MEASURES
        if plan[measure][0]
        for statistic, values in summaries.summary(measure).items()
    }
    worst = _worst(database, stays, [measure for measure, (charts, _) in plan.items() if not charts])
    return pd.DataFrame(columns | worst, index=stays), _notes(plan, worst, database)


class RunningSummaries:
    """The mean, minimum, maximum and last value of each measure of each stay, updated as values come in."""

    def __init__(self, stays: int) -> None:
        shape = (len(MEASURES), stays)
        self._count, self._sum = np.zeros(shape), np.zeros(shape)
        self._least, self._most = np.full(shape, np.inf), np.full(shape, -np.inf)
        self._when, self._last = np.full(shape, -np.inf), np.full(shape, np.nan)

    def add(self, measure: str, stays: NDArray[np.intp], offsets: Floats, values: Floats) -> None:
        """Add values of a measure, NaN if missing; of two values at one time, the later in the table counts as last."""
        there = ~np.isnan(values)
        stays, offsets, values = stays[there], offsets[there], values[there]
        row = _PLACES[measure]
        np.add.at(self._count[row], stays, 1)
        np.add.at(self._sum[row], stays, values)
        np.minimum.at(self._least[row], stays, values)
        np.maximum.at(self._most[row], stays, values)
        order = np.argsort(offsets, kind="stable")[::-1]
        seen, first = np.unique(stays[order], return_index=True)
        last = order[first]
        newer = offsets[last] >= self._when[row, seen]
        self._when[row, seen[newer]] = offsets[last[newer]]
        self._last[row, seen[newer]] = values[last[newer]]

    def summary(self, measure: str) -> Mapping[str, Floats]:
        """Return the four statistics of a measure for every stay, NaN where nothing was measured."""
        row = _PLACES[measure]
        there = self._count[row] > 0
        return {
            "mean": np.where(there, self._sum[row] / np.maximum(self._count[row], 1), np.nan),
            "min": np.where(there, self._least[row], np.nan),
            "max": np.where(there, self._most[row], np.nan),
            "last": self._last[row],
        }


def _find_charts(measure: str, database: Database) -> tuple[list[Chart], list[str]]:
    """Return the tables of the first group that has a measure, and which tables that come before are missing."""
    missing: list[str] = []
    for group in CHARTS:
        charts = [chart for chart in group if measure in chart.measures]
        missing += [chart.table for chart in charts if chart.table not in database]
        if present := [chart for chart in charts if chart.table in database]:
            return present, missing
    return [], missing


def _read(
    chart: Chart, measures: Sequence[str], database: Database, stays: pd.Index, hours: float, progress: Progress | None
) -> Iterator[tuple[str, NDArray[np.intp], Floats, Floats]]:
    """Yield from each part of a table a measure, the positions of stays, minutes after admission, and values."""
    names = [STAY, chart.offset, *(chart.columns or [chart.value]), *chart.items]
    rows = 0
    for part in database.parts(chart.table, names, as_text=chart.items) if measures else ():
        rows += len(part)
        if progress is not None:
            progress(f"reading {chart.table} ({rows:,} rows)", 0, 1)
        offsets = pd.to_numeric(part[chart.offset], errors="coerce").to_numpy(np.float64)
        places = stays.get_indexer(pd.to_numeric(part[STAY], errors="coerce"))
        early = (places >= 0) & (offsets >= 0) & (offsets < 60 * hours)
        kept, offsets, places = part[early], offsets[early], places[early]
        for column, measure in chart.columns.items():
            if measure in measures:
                yield measure, places, offsets, cleaned(measure, kept[column])
        named = pd.Series(None, index=kept.index, dtype=object)  # measures, from the first column with a known text
        for column, texts in chart.items.items():
            named = named.where(named.notna(), kept[column].astype(object).map(texts))
        for measure in measures if chart.items else ():
            here = (named == measure).to_numpy()
            yield measure, places[here], offsets[here], cleaned(measure, kept.loc[here, chart.value])


def _worst(database: Database, stays: pd.Index, measures: Sequence[str]) -> dict[str, Floats]:
    """Return APACHE's value (the worst of the first day) of measures that no other table has."""
    known = {measure: MEASURES[measure].apache for measure in measures if MEASURES[measure].apache}
    if APACHE not in database or not known:
        return {}
    table = database.read(APACHE, [STAY, *known.values()]).drop_duplicates(STAY).set_index(STAY).reindex(stays)
    worst = {f"{measure}_worst": cleaned(measure, table[column]) for measure, column in known.items()}
    parts = [f"gcs_{part}_worst" for part in ("eyes", "motor", "verbal")]
    if "gcs_total" in measures and all(part in worst for part in parts):
        worst["gcs_total_worst"] = sum((worst[part] for part in parts), np.zeros(len(stays)))
    return worst


def _notes(
    plan: Mapping[str, tuple[list[Chart], list[str]]], worst: Mapping[str, Floats], database: Database
) -> tuple[str, ...]:
    """Return a note for each group of measures that lack a table."""
    grouped: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for measure, (charts, missing) in plan.items():
        if charts:
            source = f"taken from {join([chart.table for chart in charts])}"
        elif f"{measure}_worst" in worst:
            source = f"taken from {APACHE} (the worst value of the first day)"
        else:
            source = "not used"
            if MEASURES[measure].apache and APACHE not in database:
                missing = [*missing, APACHE]
        if missing:
            grouped.setdefault((tuple(missing), source), []).append(MEASURES[measure].title)
    return tuple(
        f"{join(titles)}: {source}, because {join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
        for (missing, source), titles in grouped.items()
    )
