"""What a column holds is the same in a DataFrame, a CSV file, a Parquet file and an Excel file."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from comity.client.tables import read_rows
from comity.rows.columns import days, read_date, typed
from comity.rows.encoding import summarise

# a column, as a frame has it, and what it is
COLUMNS: dict[str, tuple[list[Any], str]] = {
    "numbers": ([1, 2.5, None], "number"),
    "numbers as text": (["1", "2.5", None], "number"),
    "digits": (["0", "1", "2"], "number"),
    "codes": (["01", "23", "7p"], "text"),
    "dates": (["2024-01-05", "2024-02-29", None], "date"),
    "times": (["2024-01-05 12:30", "2024-02-29T08:00:00", None], "date"),
    "impossible dates": (["2024-02-30", "2024-02-29", None], "text"),
    "times of day": (["12:30", "08:00", None], "text"),
    "months": (["2024-01", "2024-02", None], "text"),
}


@pytest.mark.parametrize("case", COLUMNS)
def test_frames_and_files_agree(tmp_path: Path, case: str) -> None:
    values, kind = COLUMNS[case]
    frame = pd.DataFrame({"x": values, "y": 1})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    summaries = [
        summarise(rows, "y", False, 100)[0]
        for rows in (
            frame,
            frame.astype({"x": object}),
            *(read_rows(tmp_path / f"t.{end}") for end in ("csv", "parquet", "xlsx")),
        )
    ]
    assert summaries[0].kind == kind
    assert all(each == summaries[0] for each in summaries), summaries


def test_a_categorical_is_text_whatever_it_looks_like(tmp_path: Path) -> None:
    for values in (["0", "1"] * 4, [0, 1] * 4):
        frame = pd.DataFrame({"x": pd.Categorical(values)})
        frame.astype(str).astype("category").to_parquet(tmp_path / "t.parquet")
        for rows in (frame, read_rows(frame), read_rows(tmp_path / "t.parquet")):
            (summary,) = summarise(rows, "y", False, 100)
            assert (summary.kind, summary.levels) == ("text", {"0": 4, "1": 4})


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([date(2000, 1, 2), None], [1.0, None]),
        ([datetime(2000, 1, 2, 12), datetime(2000, 1, 1)], [1.5, 0.0]),
        (pd.to_datetime(["2000-01-02T01:00+01:00", "2000-01-03T00:00+00:00"], utc=True), [1.0, 2.0]),
        (["1.2.2000", "2000/2/2"], [31.0, 32.0]),
    ],
)
def test_dates_are_days_since_2000(values: Any, expected: list[float | None]) -> None:
    found = days(typed(pd.Series(values)))
    assert [None if np.isnan(each) else each for each in found] == expected


def test_other_objects() -> None:
    assert typed(pd.Series([timedelta(days=2), timedelta(hours=12)])).tolist() == [2.0, 0.5]
    assert typed(pd.Series([Decimal("1.5"), 2])).tolist() == [1.5, 2.0]
    assert typed(pd.Series([True, None, False])).tolist() == [True, None, False]
    assert typed(pd.Series([["a"], ["b"]])).tolist() == ["['a']", "['b']"]


@pytest.mark.parametrize(
    "text", ["", "12", "2024", "03/04/2024", "2024-1", "1.2.24", "2024-01-05x", "2024-13-01", "v1.2.2024"]
)
def test_what_is_no_date(text: str) -> None:
    assert read_date(text) is None
