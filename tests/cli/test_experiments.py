"""`comity compare` and `comity reproduce`, as a user types them."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.small_eicu import eicu_tables, write_eicu
from support.small_tables import classes, numbers

Run = Callable[..., subprocess.CompletedProcess[str]]
SHORT = ("--rounds", "6", "--local-steps", "2", "--rates", "0.05", "--seeds", "2", "--parts", "4")
COMPARE = ("compare", "table.csv", "--client", "site", "--target", "cured", *SHORT)
FEW = ("--methods", "local,fedavg,q-ffl,spo,ce")


def test_all_methods_on_a_table(comity: Run, tmp_path: Path) -> None:
    classes(rows=60).to_csv(tmp_path / "table.csv", index=False)
    done = comity(*COMPARE, "--seeds", "1", "--out", "compared")
    assert done.returncode == 0, done.stderr
    table = json.loads((tmp_path / "compared" / "table.json").read_text())
    assert len(table["table"]) == 16
    assert {cell["rows"] for cell in table["cells"]} == {table["cells"][0]["rows"]}, "all have the same rows"
    written = (tmp_path / "compared" / "table.md").read_text()
    helped = " ".join(comity("compare", "--help").stdout.split())
    for line in table["table"]:
        assert line["method"] in done.stdout
        assert line["method"] in written
    names = [line["method"] for line in table["table"]]
    assert f"Methods: {', '.join(names[:-3])}, and comity's {', '.join(names[-3:])}" in helped
    details = next(cell["details"] for cell in table["cells"] if cell["method"] == "ce")
    together = "; ".join("{" + ", ".join(each) + "}" for each in sorted(details["coalitions"]))
    for text in (" ".join(done.stdout.split()), written):
        assert f"Coalitions, ce: {together} ({details['verdict']}), with seed 0." in text
        assert "auc on test rows (more is better)" in text
        assert "Few test rows per seed: " in text


def test_a_directory_of_files_and_the_same_again(comity: Run, tmp_path: Path) -> None:
    (tmp_path / "sites").mkdir()
    for name, part in numbers(rows=60).groupby("site"):
        part.drop(columns="site").to_csv(tmp_path / "sites" / f"{name}.csv", index=False)
    command = ("compare", "sites", "--target", "effect", *SHORT, *FEW, "--seeds", "1")
    one, two = (comity(*command, "--out", out) for out in ("one", "two"))
    assert one.returncode == 0, one.stderr
    assert _values(tmp_path / "one") == _values(tmp_path / "two"), two.stderr
    assert comity(*command, "--out", "one").stdout.splitlines()[:-1] == one.stdout.splitlines()[:-1]


def test_interrupted_it_says_what_is_kept(comity: Run, tmp_path: Path) -> None:
    classes(rows=60).to_csv(tmp_path / "table.csv", index=False)
    command = comity("--version").args[0]
    process = subprocess.Popen(
        [command, *COMPARE, "--out", "parts"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    for _ in range(6000):
        if any((tmp_path / "parts" / "cells").glob("*.json")):
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    _, message = process.communicate(timeout=60)
    # On a busy machine there are lines of progress before it.
    assert message.endswith("The finished part is kept in parts; the same command continues from there.\n")
    assert process.returncode == 128 + signal.SIGTERM


def test_what_was_compared_before_stays_in_the_table(comity: Run, tmp_path: Path) -> None:
    numbers(rows=60).to_csv(tmp_path / "table.csv", index=False)
    command = ("compare", "table.csv", "--client", "site", "--target", "effect", *SHORT, "--out", "compared")
    for methods in ("local,fedavg", "q-ffl"):
        done = comity(*command, "--seeds", "1", "--methods", methods)
    assert "rmse on test rows (less is better)" in done.stdout
    table = json.loads((tmp_path / "compared" / "table.json").read_text())
    assert [line["method"] for line in table["table"]] == ["local", "fedavg", "q-ffl"]


def test_interrupted_and_resumed_it_gives_the_same_table(comity: Run, tmp_path: Path) -> None:
    classes(rows=60).to_csv(tmp_path / "table.csv", index=False)
    assert comity(*COMPARE, *FEW, "--out", "whole").returncode == 0
    command = comity("--version").args[0]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": os.environ}
    process = subprocess.Popen([command, *COMPARE, *FEW, "--out", "parts"], cwd=tmp_path, **quiet)
    cells = tmp_path / "parts" / "cells"
    for _ in range(1200):
        if cells.exists() and len(list(cells.glob("*.json"))) >= 3:
            break
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=60)
    assert not (tmp_path / "parts" / "table.json").exists()
    done = comity(*COMPARE, *FEW, "--out", "parts")
    assert done.returncode == 0, done.stderr
    assert _values(tmp_path / "whole") == _values(tmp_path / "parts")


def _values(directory: Path) -> list[tuple]:
    table = json.loads((directory / "table.json").read_text())
    return [(cell["method"], cell["seed"], cell["values"], cell["alone"], cell["rows"]) for cell in table["cells"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--methods", "local,fedavgg"), "there is no method 'fedavgg'"),
        (("--seeds", "0"), "--seeds is 0; it must be a whole number, 1 or more"),
        (("--rates", "quick"), "--rates must be numbers separated by commas"),
        (("--rates", "-1"), "it must be a list of rates, each a number, more than 0"),
        (("--rounds", "-3"), "rounds is -3"),
        (("--parts", "1"), "--parts is 1"),
        (("--target", "curd"), "curd"),
        (("--without", "nobody"), "nobody"),
    ],
)
def test_bad_input_gets_one_clear_message(comity: Run, tmp_path: Path, arguments: tuple, message: str) -> None:
    classes(rows=60).to_csv(tmp_path / "table.csv", index=False)
    done = comity(*COMPARE, *FEW, "--out", "compared", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_directory_with_another_job_is_refused(comity: Run, tmp_path: Path) -> None:
    classes(rows=60).to_csv(tmp_path / "table.csv", index=False)
    few = ("--methods", "local", "--out", "compared")
    assert comity(*COMPARE, *few).returncode == 0
    assert "rounds differs" in comity(*COMPARE, *few, "--rounds", "7").stderr
    classes(rows=70).to_csv(tmp_path / "table.csv", index=False)
    assert "rows differs" in comity(*COMPARE, *few).stderr


def test_a_quick_run_of_the_papers_first_table(comity: Run, tmp_path: Path) -> None:
    """With seed 1; the errors of the paper's procedure are in tests/paper/test_table_1.py."""
    done = comity("reproduce", "synthetic", "--quick")
    assert done.returncode == 0, done.stderr
    assert "a quick run" in done.stdout
    assert "Coalitions, paper's procedure, left: {0, 1, 2}; {3, 4, 5}, with seed 1." in done.stdout
    assert "Coalitions, paper's procedure, right: {0}; {1}; {2}; {3}; {4}; {5}, with seed 1." in done.stdout
    assert "Coalitions, every subset tried, left: {0}; {1}; {2}; {3}; {4}; {5}, with seed 1." in done.stdout
    table = json.loads((tmp_path / "reproduced" / "synthetic-quick" / "table.json").read_text())
    assert table["experiment"]["quick"]
    alone = next(line for line in table["table"] if line["method"] == "ce")
    assert all(value == pytest.approx(1e-4, rel=0.1) for value in alone["clients"].values())


def full_eicu(folder: Path) -> None:
    """Write hospitals as large as the paper's, in the full database's layout.

    All tables are there, but so that it takes seconds, they have only the age of the patients in the cohort.
    """
    tables = eicu_tables({**dict.fromkeys(range(100, 105), 576), **dict.fromkeys(range(200, 205), 60), 300: 12})
    people = tables["patient"]
    others = people["patientunitstayid"][people["age"] == "17"]
    for name, rows in tables.items():
        if name not in ("hospital", "patient"):
            tables[name] = rows[rows["patientunitstayid"].isin(others)]
    unknown = ("gender", "ethnicity", "admissionheight", "admissionweight")
    write_eicu(folder, {**tables, "patient": people.assign(**dict.fromkeys(unknown))})


def test_who_has_the_full_eicu_gets_a_table_of_single_hospitals(comity: Run, tmp_path: Path) -> None:
    """If it had regions instead, as the demo has, nobody could compare it with the paper's ten hospitals."""
    full_eicu(tmp_path / "data" / "eicu-crd" / "2.0")
    done = comity("reproduce", "eicu", "--data", "data", "--quick", "--seeds", "1", "--methods", "ce")
    assert done.returncode == 0, done.stderr
    hospitals = [f"hospital {number}" for number in (*range(100, 105), *range(200, 205))]
    out = tmp_path / "reproduced" / "eicu-quick"
    (line,) = json.loads((out / "table.json").read_text())["table"]
    assert sorted(line["clients"]) == hospitals
    assert all(0 <= value <= 1 for value in line["clients"].values())
    written = (out / "table.md").read_text()
    for text in (*hospitals, "10 of 11 hospitals are clients", "Coalitions, CE:"):
        assert text in written
        assert text in done.stdout


@pytest.mark.parametrize("name", ["adult", "cifar10", "eicu"])
def test_without_data_it_says_where_to_get_them(comity: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    done = comity("reproduce", name, "--data", "empty", "--quick")
    assert done.returncode == 2
    assert "get" in done.stderr
    assert "https://" in done.stderr
    assert "Traceback" not in done.stderr


def test_columns_left_out_are_reported_and_the_order_of_rows_does_not_matter(comity: Run, tmp_path: Path) -> None:
    """pFedHN draws for one client after the other: with another order, it would be another method."""
    table = numbers(rows=60).assign(number=range(180))
    table.to_csv(tmp_path / "table.csv", index=False)
    table.sort_values("site", ascending=False, kind="stable").to_csv(tmp_path / "turned.csv", index=False)
    rest = ("--client", "site", "--target", "effect", *SHORT, "--seeds", "1", "--methods", "pfedhn")
    for name in ("table", "turned"):
        done = comity("compare", f"{name}.csv", *rest, "--out", name)
        assert done.returncode == 0, done.stderr
        assert "'number'" in done.stderr
        assert "--keep" in done.stderr
    assert _values(tmp_path / "table") == _values(tmp_path / "turned")


def test_what_is_refused_leaves_no_directory(comity: Run, tmp_path: Path) -> None:
    numbers(rows=60).to_csv(tmp_path / "table.csv", index=False)
    command = ("compare", "table.csv", "--client", "site", "--target", "effect", "--methods", "local", "--out", "out")
    for more in (("--parts", "1000"), ("--metric", "auc"), ("--target", "efect")):
        assert comity(*command, *more).returncode == 2
        assert not (tmp_path / "out").exists()


def test_out_must_be_a_directory(comity: Run, tmp_path: Path) -> None:
    classes(rows=60).to_csv(tmp_path / "table.csv", index=False)
    for command in ((*COMPARE, *FEW), ("reproduce", "synthetic", "--quick")):
        done = comity(*command, "--out", "table.csv")
        assert done.returncode == 2
        assert done.stderr == (
            "Error: table.csv: this is not a directory; give one, to keep a file for each method and seed\n"
        )


def test_what_reproduce_refuses(comity: Run, tmp_path: Path) -> None:
    assert "choose among paper, subsets, spo, ce" in comity("reproduce", "synthetic", "--methods", "spoo").stderr
    assert "seeds is 0; it must be 1 or more" in comity("reproduce", "synthetic", "--seeds", "0").stderr
    assert "--download needs --data" in comity("reproduce", "adult", "--download").stderr
    assert comity("reproduce", "mnist").returncode == 2
    assert not (tmp_path / "reproduced").exists()
