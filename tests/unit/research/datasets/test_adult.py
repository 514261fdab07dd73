"""UCI Adult is read as the paper's experiment has it, and a wrong directory or file is reported at once."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from comity.client.tables import read_clients
from comity.errors import FormatError, InputError
from comity.research.datasets import adult

needs_data = pytest.mark.skipif("COMITY_DATA" not in os.environ, reason="COMITY_DATA does not say where UCI Adult is")


@pytest.fixture(scope="module")
def data() -> adult.Adult:
    return adult.load()


def one_hot(rows: pd.DataFrame) -> np.ndarray:
    """The encoding of q-FFL: a column for each value in the order of adult.names, all zero for a missing one."""
    columns = [rows[name] == level for name, levels in adult.CATEGORIES.items() for level in levels]
    return np.column_stack(columns).astype(float)


def test_the_columns_of_the_paper() -> None:
    assert [len(levels) for levels in adult.CATEGORIES.values()] == [8, 16, 7, 14, 6, 5, 2, 41]


@needs_data
def test_rows_and_clients(data: adult.Adult) -> None:
    for rows, phd, others in ((data.train, 413, 32_148), (data.test, 181, 16_100)):
        assert rows["client"].value_counts().to_dict() == {"non-PhD": others, "PhD": phd}
        assert set(rows["income"]) == {"<=50K", ">50K"}
        assert list(rows) == ["client", *adult.CATEGORIES, "income"]
        assert not (rows == "?").any().any()
        assert rows["workclass"].isna().any()
    assert {client.name for client in read_clients(data.train, "client")} == {"PhD", "non-PhD"}


@needs_data
def test_continuous_columns_are_kept_when_asked_for(data: adult.Adult) -> None:
    more = adult.load(continuous=True)
    assert more.train[list(data.train)].equals(data.train)
    assert set(more.train) - set(data.train) == set(adult.CONTINUOUS)
    assert more.train["age"].head(3).tolist() == [39, 50, 38]
    assert all(more.test[name].dtype == np.int64 for name in adult.CONTINUOUS)


@needs_data
@pytest.mark.parametrize(("part", "name"), [("train", "mytrain.json.gz"), ("test", "mytest.json.gz")])
def test_the_same_numbers_as_in_q_ffl(data: adult.Adult, part: str, name: str) -> None:
    places = [Path(os.environ["COMITY_DATA"]) / folder / "qffl" / name for folder in (".", "adult")]
    path = next((place for place in places if place.exists()), None)
    if path is None:
        pytest.skip("q-FFL's own files are not there")
    with gzip.open(path) as file:
        theirs = json.load(file)["user_data"]
    rows = getattr(data, part)
    for client in adult.CLIENTS:
        own = rows[rows["client"] == client]
        np.testing.assert_array_equal(one_hot(own), theirs[client.lower()]["x"])
        np.testing.assert_array_equal((own["income"] == ">50K").astype(int), theirs[client.lower()]["y"])


def test_a_directory_without_the_data_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    how = "https://archive.ics.uci.edu/dataset/2/adult and give their directory, .* with --data or COMITY_DATA"
    with pytest.raises(
        InputError, match=rf"^{tmp_path}: the files of UCI Adult .*\(adult.data and adult.test\); .* {how}"
    ):
        adult.load(tmp_path)
    monkeypatch.delenv("COMITY_DATA", raising=False)
    with pytest.raises(InputError, match=f"^the files of UCI Adult are needed .*; .* {how}"):
        adult.load()
    monkeypatch.setenv("COMITY_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match=r"nowhere: the files of UCI Adult are missing: there is no"):
        adult.load()


def cut(raw: bytes) -> bytes:
    return raw[:-100]


def retyped(raw: bytes) -> bytes:
    return raw.replace(b"\n", b"\r\n")


@needs_data
@pytest.mark.parametrize("change", [cut, retyped])
def test_another_file_is_reported(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    given = Path(os.environ["COMITY_DATA"])
    folder = given / "adult" if (given / "adult").exists() else given
    for name in ("adult.data", "adult.test"):
        raw = (folder / name).read_bytes()
        (tmp_path / name).write_bytes(change(raw) if name == "adult.test" else raw)
    with pytest.raises(FormatError, match=r"adult.test: this is not the published file of UCI Adult .* get it again"):
        adult.load(tmp_path)
