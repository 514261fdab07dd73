"""Clients read from tables: whose row is whose, in which order, and one clear message for each bad input."""

import gzip
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from comity.client import Client, Policy
from comity.client.tables import read_clients, read_rows, warnings_about
from comity.errors import FormatError, InputError, MissingDependencyError
from comity.questions import Describe
from comity.rows.encoding import summarise

TABLE = "site,age,sex,died\nB,61,f,0\nA,48.5,m,1\nB,,f,0\nA,75,,1\n"
FRAME = pd.DataFrame(
    {"site": ["B", "A", "B", "A"], "age": [61, 48.5, None, 75], "sex": ["f", "m", "f", None], "died": [0, 1, 0, 1]}
)


def plain(rows: pd.DataFrame) -> dict[str, list[Any]]:
    return {name: [None if pd.isna(value) else value for value in rows[name]] for name in rows.columns}


def written(directory: Path, name: str, content: str | bytes) -> Path:
    path = directory / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def sources(directory: Path) -> dict[str, Any]:
    one_each = {name: rows.drop(columns="site") for name, rows in FRAME.groupby("site", sort=False)}
    (directory / "sites").mkdir()
    one_each["A"].to_csv(directory / "sites" / "A.csv", index=False)
    one_each["B"].to_parquet(directory / "sites" / "B.parquet")
    written(directory / "sites", ".hidden", "")
    FRAME.to_parquet(directory / "table.parquet")
    FRAME.to_excel(directory / "table.xlsx", index=False)
    FRAME.set_index([[5, 6, 7, 8]]).to_parquet(directory / "indexed.parquet")
    return {
        "frame": FRAME,
        "categories": FRAME.astype({"site": "category", "sex": "category"}),
        "csv": written(directory, "table.csv", TABLE),
        "name as text": str(written(directory, "TABLE.CSV", TABLE)),
        "mark, Windows line ends, blank lines": written(
            directory, "bom.csv", b"\xef\xbb\xbf" + TABLE.replace("\n", "\r\n\r\n").encode()
        ),
        "semicolons": written(directory, "semicolons.csv", TABLE.replace(",", ";")),
        "blanks": written(directory, "blanks.csv", TABLE.replace(",", ", ")),
        "tabs": written(directory, "table.tsv", TABLE.replace(",", "\t")),
        "gzip": written(directory, "table.csv.gz", gzip.compress(TABLE.encode())),
        "parquet": directory / "table.parquet",
        "excel": directory / "table.xlsx",
        "parquet with names of rows": directory / "indexed.parquet",
        "mapping": one_each,
        "mapping to files": {"B": directory / "sites" / "B.parquet", "A": str(directory / "sites" / "A.csv")},
        "directory": directory / "sites",
    }


@pytest.mark.parametrize("source", range(15))
def test_all_sources_give_the_same_clients(tmp_path: Path, source: int) -> None:
    kind, given = list(sources(tmp_path).items())[source]
    own = kind.startswith(("mapping", "directory"))
    clients = read_clients(given, None if own else "site", Policy(least_rows=3))
    assert [client.name for client in clients] == (["A", "B"] if kind == "directory" else ["B", "A"])
    rows = {client.name: client.rows for client in clients}
    assert plain(rows["A"]) == {"age": [48.5, 75], "sex": ["m", None], "died": [1, 1]}
    assert plain(rows["B"]) == {"age": [61, None], "sex": ["f", "f"], "died": [0, 0]}
    assert all(frame.index.equals(pd.RangeIndex(2)) for frame in rows.values())
    assert clients[0].policy.least_rows == 3


def test_the_summary_of_a_client_has_no_level_of_another(tmp_path: Path) -> None:
    text = "site,x\n" + "A,red\n" * 9 + "B,blue\n" * 9
    frame = pd.DataFrame({"site": list("AABB"), "x": pd.Categorical(["red"] * 2 + ["blue"] * 2)})
    for source in (written(tmp_path, "t.csv", text), frame):
        first, second = read_clients(source, "site")
        (summary,) = summarise(first.rows, "y", False, 100)
        assert list(summary.levels or {}) == ["red"]
        assert list(second.rows["x"].cat.categories) == ["blue"]


def test_later_changes_of_a_frame_do_not_reach_the_client() -> None:
    own = {"A": pd.DataFrame({"x": [1.0, 2.0]}), "B": pd.DataFrame({"x": [3.0, 4.0]})}
    clients = read_clients(own)
    own["A"].loc[0, "x"] = 9.0
    assert clients[0].rows["x"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([1.0, 2.0], ["1", "2"]),
        ([1, 2], ["1", "2"]),
        ([True, False], ["True", "False"]),
        (["01", "1.0"], ["01", "1.0"]),
    ],
)
def test_names_in_a_frame(values: list[Any], names: list[str]) -> None:
    assert [client.name for client in read_clients(pd.DataFrame({"id": values, 7: [1, 2]}), "id")] == names
    assert list(read_clients(pd.DataFrame({"id": values, 7: [1, 2]}), "id")[0].rows.columns) == ["7"]


def test_names_in_a_file_stay_as_written_but_for_a_decimal_point(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", "id,x\n007,1\n7,2\n8.0,3\nTRUE,4\n1e3,5\n")
    assert [client.name for client in read_clients(path, "id")] == ["007", "7", "8", "TRUE", "1e3"]


def test_columns_can_be_left_out(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", TABLE)
    for source in (path, FRAME):
        assert list(read_clients(source, "site", exclude=["sex", "died"])[0].rows) == ["age"]
        with pytest.raises(InputError, match=r"no column 'sexe'; the columns are .* \(did you mean 'sex'\?\)"):
            read_clients(source, "site", exclude=["sexe"])
    own = {"A": pd.DataFrame({"x": [1], "only here": [1]}), "B": pd.DataFrame({"x": [2]})}
    assert [list(client.rows) for client in read_clients(own, exclude=["only here"])] == [["x"], ["x"]]
    with pytest.raises(InputError, match="no column 'nowhere'"):
        read_clients(own, exclude=["nowhere"])


def test_a_column_for_the_client_in_its_own_table_is_checked_and_left_out() -> None:
    own = dict(iter(FRAME.groupby("site")))
    assert [list(client.rows) for client in read_clients(own, "site")] == [["age", "sex", "died"]] * 2
    with pytest.raises(InputError, match=r"client 'X': column 'site' has 'B' and 'A', but all these rows .* 'X'"):
        read_clients({"X": FRAME, "Y": own["A"]}, "site")


def test_names_that_look_alike_are_returned_as_warnings_and_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    clients = read_clients(pd.DataFrame({"site": ["North", "north ", "South"], "x": 1}), "site")
    assert warnings_about(clients) == ("'North' and 'north ' are treated as two clients",)
    assert warnings_about(clients[1:]) == ()
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("source", "client", "message"),
    [
        (FRAME, None, r"the client: client=…; the columns are 'site', 'age', 'sex', 'died'"),
        (FRAME, "Site ", r"the table: there is no column 'Site '; the columns are .* \(did you mean 'site'\?\)"),
        (FRAME, "zzz", r"the columns are 'site', 'age', 'sex', 'died'$"),
        (FRAME, "sex", "column 'sex', which names the client, is missing in 1 of 4 rows"),
        (FRAME[FRAME["site"] == "A"], "site", r"one client only \('A'\); comity needs at least two"),
        (FRAME[:0], "site", "the table: there are no rows"),
        (FRAME[["site"]], "site", "there is no column but 'site'"),
        (FRAME.set_axis(["site", "age", "age", "died"], axis=1), "site", "the table: there are two columns 'age'"),
        (FRAME.set_axis(["site", "1", 1, "died"], axis=1), "site", "the table: there are two columns '1'"),
        (pd.concat({"a": FRAME}, axis=1), "site", "column names have 2 levels"),
        (FRAME.assign(site=["a", " ", "a", "b"]), "site", "empty name"),
        ({}, None, "no clients"),
        ({"A": FRAME}, None, "one client only"),
        ({"A": FRAME, 2: FRAME}, None, "name must be text, not 2"),
        ({"A": FRAME, "B": 3}, None, "client 'B' must be a DataFrame or the path of a file, not 'int'"),
        ({"A": FRAME, "B": FRAME[:0]}, None, "client 'B': there are no rows"),
        ({"A": FRAME, "B": FRAME.drop(columns="site")}, "site", "client 'B': there is no column 'site'"),
        ([1, 2], "site", "the table must be a DataFrame or the path of a file, not 'list'"),
        ("", "site", "the file name is empty"),
        ("no/such.csv", "site", "no/such.csv: there is no such file"),
    ],
)  # fmt: skip
def test_a_bad_source_gets_one_message(source: Any, client: str | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_clients(source, client)


def test_the_column_of_the_client_cannot_be_excluded() -> None:
    for source in (FRAME, {"A": FRAME[::2], "B": FRAME[1::2]}):
        with pytest.raises(InputError, match="cannot be excluded"):
            read_clients(source, "site", exclude=["site"])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", "", "there is nothing in it"),
        ("t.csv", "\n \n", "there is nothing in it"),
        ("t.csv", "site,x\n", "there are no rows"),
        ("t.csv", "site,x\n\n\n", "there are no rows"),
        ("t.csv", "site,x,x\nA,1,2\n", "there are two columns 'x'"),
        ("t.csv", "site,x\nA,1\nB,2,3\n", "line 3: 3 values for 2 columns"),
        ("t.csv", "site,x\nA,1,2\nB,2\n", "line 2: 3 values for 2 columns"),
        ("t.csv", "site,x,y\nA,1,2\nB,2\n", "line 3: 2 values for 3 columns"),
        ("t.csv", "site,x\nA,1\nB,2\nC\n", "line 4: 1 values for 2 columns"),
        ("t.csv", 'site,x\nA,1\nB,"2\n', "a quote opens in line 3 and is never closed"),
        ("t.csv", b"site,x\nA,1\nB,\xe9t\xe9\n", "line 3 is not UTF-8 text"),
        ("t.csv", b"site,x\xff\nA,1\n", "line 1 is not UTF-8 text"),
        ("t.csv", "site,x\nA,1\nB,2\n".encode("utf-16"), "line 1 is not UTF-8 text"),
        ("t.csv", "site,x\nA,1\nNA,2\n,3\n", "is missing in 2 of 3 rows"),
        ("t.csv.gz", b"site,x\nA,1\n", "not a whole gzip file"),
        ("t.csv.gz", gzip.compress(TABLE.encode() * 1000)[:-20], "not a whole gzip file"),
        ("t.csv.gz", b"", "there is nothing in it"),
        ("t.parquet", b"site,x\nA,1\n", "not a Parquet file that can be read"),
        ("t.parquet", b"", "not a Parquet file that can be read"),
        ("t.xlsx", b"", "not an Excel file that can be read"),
        ("t.xls", b"", r"the name of a table must end in \.csv, .* or \.xlsx"),
    ],
)
def test_a_bad_file_gets_one_message_that_begins_with_its_name(
    tmp_path: Path, name: str, content: str | bytes, message: str
) -> None:
    path = written(tmp_path, name, content)
    with pytest.raises(FormatError, match=message) as raised:
        read_clients(path, "site")
    assert str(raised.value).startswith(f"{path}: ")
    assert "\n" not in str(raised.value)
    if "missing" not in message:
        with pytest.raises(FormatError, match=message):
            read_rows(path)


FRENCH = "\ufeffhôpital;âge du patient;dose, mg;durée\r\nB;61;1,5;3\r\nA;48,5;-2;4,25\r\nB;;0,5;1\r\n"


def test_a_file_of_a_french_spreadsheet_is_read_correctly(tmp_path: Path) -> None:
    """It has a byte order mark, semicolons, decimal commas and Windows' line ends."""
    path = written(tmp_path, "table.csv", FRENCH)
    second, first = read_clients(path, client="hôpital")
    assert plain(first.rows) == {"âge du patient": [48.5], "dose, mg": [-2.0], "durée": [4.25]}
    assert plain(second.rows) == {"âge du patient": [61.0, None], "dose, mg": [1.5, 0.5], "durée": [3.0, 1.0]}
    assert plain(read_rows(path, "hôpital"))["durée"] == [3.0, 4.25, 1.0]
    assert plain(read_rows(path, "hôpital", ["durée"]))["durée"] == ["3", "4,25", "1"], "as it is written"


@pytest.mark.parametrize("value", ["1.5", "x", "1,5,2", "1.234,5"])
def test_a_comma_is_not_taken_for_a_point_where_values_say_otherwise(tmp_path: Path, value: str) -> None:
    path = written(tmp_path, "table.csv", f"site;dose\nA;1,5\nB;{value}\n")
    assert plain(read_rows(path))["dose"] == ["1,5", value]


def test_commas_that_may_separate_thousands_are_not_decimal(tmp_path: Path) -> None:
    path = written(tmp_path, "table.tsv", "site\tdose\nA\t1,234\nB\t12,500\nB\t800\n")
    assert plain(read_rows(path))["dose"] == ["1,234", "12,500", "800"]
    path = written(tmp_path, "table.tsv", "site\tdose\nA\t1,234\nB\t0,500\nB\t800\n")
    assert plain(read_rows(path))["dose"] == [1.234, 0.5, 800.0]


def test_a_comma_between_columns_is_never_a_decimal_one(tmp_path: Path) -> None:
    path = written(tmp_path, "table.csv", 'site,dose\nA,"1,500"\nB,"2,500"\n')
    assert plain(read_rows(path))["dose"] == ["1,500", "2,500"], "which may be thousands"


def test_a_bad_byte_far_down_is_found(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", b"site,x\n" + b"A,1\n" * 300_000 + b"B,\xff\n")
    with pytest.raises(FormatError, match="line 300002 is not UTF-8"):
        read_clients(path, "site")


def test_bad_parquet_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.parquet"
    FRAME[:0].to_parquet(path)
    with pytest.raises(FormatError, match=r"t.parquet: there are no rows"):
        read_clients(path, "site")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=r"to read Parquet files; install comity's extra 'parquet'"):
        read_rows(path)


def test_bad_excel_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.xlsx"
    FRAME[:0].to_excel(path, index=False)
    with pytest.raises(FormatError, match=r"t.xlsx: there are no rows"):
        read_clients(path, "site")
    FRAME.set_axis(["site", "age", "age", "died"], axis=1).to_excel(path, index=False)
    with pytest.raises(FormatError, match=r"t.xlsx: there are two columns 'age'"):
        read_clients(path, "site")
    pd.DataFrame().to_excel(path, index=False)
    with pytest.raises(FormatError, match=r"t.xlsx: there is nothing in it"):
        read_clients(path, "site")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingDependencyError, match=r"to read Excel files; install comity's extra 'excel'"):
        read_rows(path)


def test_another_encoding(tmp_path: Path) -> None:
    for encoding in ("latin-1", "utf-16", "utf-8"):
        path = written(tmp_path, "t.csv", "site,ü\nÅ,1\nB,é\n".encode(encoding))
        assert [client.name for client in read_clients(path, "site", encoding=encoding)] == ["Å", "B"]
        assert read_rows(path, encoding=encoding)["ü"].tolist() == ["1", "é"]
    with pytest.raises(FormatError, match="perhaps encoding='cp1252'"):
        read_rows(written(tmp_path, "t.csv", "site,ü\n".encode("latin-1")))


def test_a_column_that_is_text_in_one_table_is_text_in_all(tmp_path: Path) -> None:
    frames = {"A": pd.DataFrame({"x": [1, 2], "z": [1, 2]}), "B": pd.DataFrame({"x": ["7p", "1"], "z": [None, None]})}
    files = {name: written(tmp_path, f"{name}.csv", frame.to_csv(index=False)) for name, frame in frames.items()}
    for source in (frames, files):
        first, second = read_clients(source)
        assert first.rows["x"].tolist() == ["1", "2"]
        assert second.rows["x"].tolist() == ["7p", "1"]
        assert first.rows["z"].dtype == np.int64, "an empty column has no kind"


def test_a_group_stays_with_its_client() -> None:
    frame = FRAME.assign(patient=["p", "q", "p", "r"])
    second, first = read_clients(frame, "site", group="patient")
    assert [len(set(client.groups)) for client in (second, first) if client.groups is not None] == [1, 2]
    own = Client("A", pd.concat([frame] * 5), group="patient")
    assert [column.name for column in own.answer(Describe("died")).columns] == ["site", "age", "sex", "died"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "there is no file in this directory"),
        ({"A.csv": "x\n1\n", "notes.txt": ""}, "'notes.txt' is not a client's table"),
        ({"A.csv": "x\n1\n", "A.tsv": "x\n1\n"}, "two files for client 'A'"),
        ({"A.csv": "x\n1\n"}, "one client only"),
        ({"A.csv": "x\n1\n", "B.csv": ""}, "B.csv: there is nothing in it"),
    ],
)
def test_bad_directories(tmp_path: Path, files: dict[str, str], message: str) -> None:
    for name, content in files.items():
        written(tmp_path, name, content)
    with pytest.raises(InputError, match=message):
        read_clients(tmp_path)


def test_a_directory_cannot_be_read_as_rows(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="this is a directory"):
        read_rows(tmp_path)
    (tmp_path / "A.csv").mkdir()
    with pytest.raises(FormatError, match=r"'A.csv' is not a client's table"):
        read_clients(tmp_path)


def test_rows_to_predict(tmp_path: Path) -> None:
    assert plain(read_rows(written(tmp_path, "t.csv", TABLE))) == plain(FRAME)
    assert plain(read_rows(FRAME)) == plain(FRAME)


def test_words_that_clients_share_are_listed_however_the_tables_are_given() -> None:
    """An empty column of one client says nothing; who limits what it discloses lists nothing that is rare."""
    frame = pd.DataFrame(
        {"ward": np.repeat(["A", "B", "C"], 4), "season": ["spring", "summer", "autumn", "winter"] * 3}
    )
    frame.loc[frame["ward"] == "C", "season"] = None
    apart = {name: rows.drop(columns="ward") for name, rows in frame.groupby("ward")}
    for clients in (read_clients(frame, "ward"), read_clients(apart)):
        assert [client.listed for client in clients] == [("season",)] * 3
    limited = read_clients(frame, "ward", Policy(disclosure=0.5))
    assert [client.listed for client in limited] == [()] * 3
