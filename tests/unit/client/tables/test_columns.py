"""A file read in parts gives the same values as when read at once, in memory proportional to the number of values."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.client.tables import columns, read_rows
from comity.rows.columns import typed

VALUES = ["1", "2", "07", "-3", "1.5", "1e3", "", "NA", "None", "True", "FALSE", "x", "1,5", "inf", " 4", "é", 'q"q',
          "18446744073709551615", "99999999999999999999999", "2001-02-03", "two\nlines"]  # fmt: skip


def same(ours: pd.Series, theirs: pd.Series) -> bool:
    return all(
        (pd.isna(a) and pd.isna(b)) or (type(a) is type(b) and a == b) for a, b in zip(ours, theirs, strict=True)
    )


@given(
    pairs=st.lists(st.lists(st.sampled_from(VALUES), min_size=2, max_size=2), min_size=1, max_size=3),
    picks=st.lists(st.lists(st.integers(0, 1), min_size=3, max_size=3), min_size=1, max_size=9),
    size=st.integers(1, 4),
)
def test_reading_in_parts_equals_reading_at_once(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[list[str]], picks: list[list[int]], size: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "parts.csv"
    frame = pd.DataFrame({f"c{n}": [two[pick[n]] for pick in picks] for n, two in enumerate(pairs)})
    frame.assign(last=1).to_csv(path, index=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "_VALUES_IN_PART", size * (len(pairs) + 1))
        ours = read_rows(path)
    theirs = pd.read_csv(path, low_memory=False, skipinitialspace=True)
    assert list(ours) == list(theirs)
    for name in frame:
        if any(value in VALUES[-4:-2] for value in frame[name]):  # pandas' type beyond int64 depends on the others
            assert same(ours[name].map(str), theirs[name].map(str)) or same(
                pd.to_numeric(ours[name], errors="coerce").astype(float),
                pd.to_numeric(theirs[name], errors="coerce").astype(float),
            )
        else:
            assert same(ours[name], typed(theirs[name])), (ours[name], theirs[name])


@pytest.mark.parametrize("cells", [2, 4, 1000])
def test_a_column_of_numbers_with_a_text_far_down_is_text_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cells: int
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n01,1\n2.50,2\nTrue,3\n<5,4\n")
    monkeypatch.setattr(columns, "_VALUES_IN_PART", cells)
    rows = read_rows(path)
    assert rows["a"].tolist() == ["01", "2.50", "True", "<5"]
    assert rows["b"].dtype == np.int64


def test_the_type_of_a_column_is_the_same_in_csv_and_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame(
        {
            "small": np.array([1, 2, 3], np.int8),
            "single": np.array([0.5, 1, 2], np.float32),
            "gaps": pd.array([1, None, 3], "Int64"),
            "flag": [True, False, True],
            "maybe": pd.array([True, None, False], "boolean"),
            "text": ["a", None, "b"],
            "day": pd.to_datetime(["2020-01-02", None, "2020-01-03"]),
            "empty": [None, None, None],
        }
    )
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    for cells in (1, 1000):
        monkeypatch.setattr(columns, "_VALUES_IN_PART", cells)
        for name in ("t.parquet", "t.csv"):
            rows = read_rows(tmp_path / name)
            assert rows.dtypes.map(str).tolist() == [
                "int64", "float64", "float64", "bool", "object", "category", "datetime64[us]", "float64"
            ]  # fmt: skip
            assert rows["gaps"].tolist()[::2] == [1.0, 3.0]
            assert rows["maybe"].tolist()[::2] == [True, False]
            assert rows["day"].tolist()[::2] == [pd.Timestamp("2020-01-02"), pd.Timestamp("2020-01-03")]
            assert rows["day"].isna().tolist() == [False, True, False]


# getrusage would also count the memory of the parent process.
STATUS = Path("/proc/self/status")
MEASURE = """
import re, sys, pandas, pyarrow
from pathlib import Path
from comity.client.tables import read_clients
def peak():
    return 1024 * int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1])
before = peak()
clients = read_clients(sys.argv[1], client="site")
grown = peak() - before
held = sum(int(client.rows.memory_usage(index=False).sum()) for client in clients)
print(len(clients), sum(len(client.rows) for client in clients), held, grown)
"""


@pytest.mark.skipif(not STATUS.exists(), reason="needs /proc to measure the peak of memory")
def test_memory_depends_on_the_number_of_values_and_not_on_their_text(tmp_path: Path) -> None:
    path, rows = tmp_path / "large.csv", 400_000
    rng = np.random.default_rng(0)
    block = "".join(
        f"site-{site},{note:0100d},{','.join(map(repr, values))}\n"
        for site, note, values in zip(
            rng.integers(0, 12, 10_000).tolist(),
            rng.integers(0, 500, 10_000).tolist(),
            rng.normal(size=(10_000, 4)).tolist(),
            strict=True,
        )
    )
    block = block.replace(",0000", ",text")
    with path.open("w") as file:
        file.write("site,note,a,b,c,d\n")
        for _ in range(rows // 10_000):
            file.write(block)
    size = path.stat().st_size
    assert size > 60e6
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, path], capture_output=True, text=True, check=True, timeout=120
    )
    clients, read, held, grown = map(int, done.stdout.split())
    assert (clients, read) == (12, rows)
    assert held < size / 4
    # One part of the file and one column are held besides the result; read at once it is over 150 MB.
    assert grown < 3 * held + 30e6, f"{grown / 1e6:.0f} MB for {held / 1e6:.0f} MB of rows"
