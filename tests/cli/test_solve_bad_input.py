"""Every kind of bad input of the main job on the installed command: one message and status 2, or a warning."""

import contextlib
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import comity as package
from comity.cli import interrupts as ending
from comity.core.progress import Stages
from support.processes import wait_until_ready
from support.small_tables import classes, numbers

Run = Callable[..., subprocess.CompletedProcess[str]]
Frame = pd.DataFrame
ON_NUMBERS = ("--client", "site", "--target", "effect")
ON_CLASSES = ("--client", "site", "--target", "cured")


def check_refusal(done: subprocess.CompletedProcess[str], *messages: str) -> None:
    assert done.returncode == 2, done
    assert "Traceback" not in done.stderr
    for message in messages:
        assert message in done.stderr
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if not line.startswith(("Usage:", "Try ", "Warning: ")) and line]
    assert len(lines) == 1, "one message"
    assert lines[0].startswith("Error: ")
    assert len(lines[0]) < 400, "that can be read"


def check_warning(done: subprocess.CompletedProcess[str], *warnings: str) -> None:
    assert done.returncode in (0, 1), done  # with so few rows, the proof may fail; this is about what is said
    for warning in warnings:
        assert f"Warning: {warning}" in done.stderr
    assert len(done.stderr.splitlines()) == len(warnings), "nothing else is said"


def with_value(name: str, at: int, value: Any) -> Callable[[Frame], Frame]:
    def put(frame: Frame) -> Frame:
        changed = frame.astype({name: object})
        changed.loc[at, name] = value
        return changed

    return put


def emptied(site: str, *names: str) -> Callable[[Frame], Frame]:
    def empty(frame: Frame) -> Frame:
        changed = frame.astype(dict.fromkeys(names, object))
        changed.loc[changed["site"] == site, list(names)] = None
        return changed

    return empty


FEATURES = ("dose", "age", "pulse", "sex")

# what is wrong with the table, options, what the message says
TABLES: dict[str, tuple[Callable[[Frame], Frame], tuple[str, ...], tuple[str, ...]]] = {
    "no client column": (lambda f: f, ("--client", "sites"), ("no column 'sites'", "did you mean 'site'?")),
    "no target column": (lambda f: f, ("--target", "Effects"), ("no column 'Effects'", "did you mean 'effect'?")),
    "no excluded column": (lambda f: f, ("--exclude", "doze"), ("no column 'doze'", "did you mean 'dose'?")),
    "target excluded": (lambda f: f, ("--exclude", "effect"), ("column 'effect' is needed; take it out of --exclude",)),
    "client excluded": (lambda f: f, ("--exclude", "site"), ("column 'site' is needed",)),
    "client is target": (
        lambda f: f,
        ("--target", "site"),
        ("cannot be both the target and the client of each row", "--target", "--client"),
    ),
    "all excluded": (lambda f: f, tuple(w for n in FEATURES for w in ("--exclude", n)), ("no column is left",)),
    "one client": (lambda f: f[f["site"] == "North"], (), ("there is one client only", "'North'")),
    "too few rows": (
        lambda f: f.drop(index=range(10)),
        ("--search", "spo", "--judges", "20"),
        ("'North' has 14 rows, too few for", "20"),
    ),
    "folds": (lambda f: f, ("--search", "spo", "--folds", "13"), ("'North' has 24 rows, too few for 13 folds",)),
    "nameless rows": (with_value("site", 3, None), (), ("column 'site'", "missing in 1 of 72 rows")),
    "client all missing": (emptied("South", *FEATURES), (), ("client 'South' has no value in any column",)),
    "clients all missing": (
        lambda frame: emptied("South", *FEATURES)(emptied("West", *FEATURES)(frame)),
        (),
        ("clients 'South', 'West' have no value in any column", "--without South --without West"),
    ),
    "target missing": (with_value("effect", 30, None), (), ("target 'effect' is missing in 1 row of client 'South'",)),
    "target gone at a client": (emptied("West", "effect"), (), ("target 'effect' is missing in 24 rows", "'West'")),
    "constant target": (lambda f: f.assign(effect=2.5), (), ("target 'effect' is", "2.5", "nothing to predict")),
    "infinite value": (with_value("dose", 30, np.inf), (), ("column 'dose' of client 'South' has an infinite value",)),
    "infinite target": (with_value("effect", 50, -np.inf), (), ("'effect' has an infinite value at client 'West'",)),
    "mixed types": (with_value("dose", 3, "a lot"), (), ("column 'dose' of client 'North' has numbers and text",)),
    "text at one": (
        lambda f: f.astype({"age": object}).assign(age=np.where(f["site"] == "West", "old", f["age"])),
        (),
        ("column 'age'", "'North'", "text at 'West'"),
    ),
    "text to regress": (lambda f: f, ("--target", "sex", "--task", "regression"), ("is text", "'classes'")),
    "metric for numbers": (
        lambda f: f,
        ("--target", "sex", "--metric", "rmse"),
        ("is text", "(auc, ac"),
    ),
    "too many classes": (lambda f: f, ("--task", "classes"), ("too many different values to be classes",)),
    "metric for classes": (
        lambda f: f,
        ("--metric", "auc"),
        ("too many different values to be classes", "(rmse, r2, mae, medae)"),
    ),
    "metric against task": (lambda f: f, ("--task", "regression", "--metric", "auc"), ("'auc' is not for the task",)),
    "one fold": (lambda f: f, ("--folds", "1"), ("--folds is 1", "2 or more")),
    "no judge": (lambda f: f, ("--judges", "0"), ("--judges is 0",)),
    "no repeat": (lambda f: f, ("--repeats", "0"), ("--repeats is 0",)),
    "seed below nought": (lambda f: f, ("--seed", "-1"), ("--seed is -1",)),
    "resamples below nought": (lambda f: f, ("--resamples", "-2"), ("--resamples is -2",)),
    "confidence below nought": (lambda f: f, ("--confidence", "-0.5"), ("--confidence is -0.5",)),
    "penalty of nothing": (lambda f: f, ("--penalty", "0"), ("--penalty is 0", "1e-09 to 1000")),
    "confidence not a number": (lambda f: f, ("--confidence", "nan"), ("--confidence is nan",)),
    "folds in words": (lambda f: f, ("--folds", "five"), ("'five' is not a valid integer",)),
    "no such metric": (lambda f: f, ("--metric", "f1"), ("--metric is 'f1'; it must be one of auc",)),
    "no target named": (lambda f: f, ("--target", ""), ("say which column to predict: --target",)),
}


@pytest.mark.parametrize("case", TABLES)
def test_bad_table(comity: Run, tmp_path: Path, case: str) -> None:
    spoil, options, messages = TABLES[case]
    spoil(numbers()).to_csv(tmp_path / "table.csv", index=False)
    check_refusal(comity("solve", "table.csv", *ON_NUMBERS, *options, "--out", "run"), *messages)
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"], "nothing written"


# file name, what is in it, what the message says
FILES: list[tuple[str, str | bytes, str]] = [
    ("empty.csv", "", "there is nothing in it"),
    ("header.csv", "site,effect,x\n", "there are no rows"),
    ("double.csv", "site,x,x,effect\nA,1,2,3\n", "there are two columns 'x'"),
    ("noise.csv", b"site,x\n\xff\xfe,1\n", "not UTF-8 text"),
    ("ragged.csv", "site,x,effect\nA,1,2,3\n", "4 values for 3 columns"),
    ("short.csv", "site,x,effect\nA,1\n", "2 values for 3 columns"),
    ("quote.csv", 'site,x,effect\nA,"1,2\n', "a quote opens"),
    ("table.xlsx", b"PK\x03\x04", "not an Excel file that can be read"),
    ("table.xls", b"", "the name of a table must end in"),
    ("noise.parquet", b"PAR1 not at all", "not a Parquet file"),
    ("noise.csv.gz", b"plain text", "not a whole gzip file"),
]


@pytest.mark.parametrize(("name", "content", "message"), FILES, ids=[name for name, _, _ in FILES])
def test_bad_file(comity: Run, tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    done = comity("solve", name, *ON_NUMBERS, "--out", "run")
    check_refusal(done, message)
    assert done.stderr.startswith(f"Error: {name}: ")
    assert [path.name for path in tmp_path.iterdir()] == [name], "nothing written"


def test_wrong_use(comity: Run, tmp_path: Path) -> None:
    numbers().to_csv(tmp_path / "table.csv", index=False)
    check_refusal(comity("solve", "nowhere.csv", *ON_NUMBERS), "nowhere.csv: there is no such file")
    check_refusal(comity("solve", "tabel.csv", *ON_NUMBERS), "there is no such file; did you mean 'table.csv'?")
    check_refusal(comity("solve", "", *ON_NUMBERS), "the file name is empty")
    check_refusal(comity("solve", *ON_NUMBERS), "say which table to read")
    check_refusal(comity("solve", "table.csv", "--client", "site"), "say which column to predict")
    check_refusal(comity("solve", "table.csv", "--target", "effect"), "say which column names the client: --client …")
    check_refusal(comity("solve", "table.csv", *ON_NUMBERS, "--force"), "--force needs --out")
    check_refusal(comity("solve", "table.csv", *ON_NUMBERS, "--flods", "3"), "No such option")


def test_what_is_odd_about_a_table_is_said_before_the_work_begins(comity: Run, tmp_path: Path) -> None:
    numbers().replace({"site": {"South": "North "}}).to_csv(tmp_path / "table.csv", index=False)
    done = comity("solve", "table.csv", "--client", "site", "--target", "effects")
    first, second = done.stderr.splitlines()
    assert first == "Warning: 'North' and 'North ' are treated as two clients"
    assert second.startswith("Error: there is no column 'effects'")


def test_bad_directories(comity: Run, tmp_path: Path) -> None:
    (tmp_path / "each").mkdir()
    check_refusal(comity("solve", "each", "--target", "effect"), "there is no file in this directory")
    for name, rows in numbers().groupby("site"):
        rows.drop(columns="site").to_csv(tmp_path / "each" / f"{name}.csv", index=False)
    numbers().drop(columns=["site", "dose"]).to_csv(tmp_path / "each" / "Zone.csv", index=False)
    check_refusal(
        comity("solve", "each", "--target", "effect"),
        "column 'dose' is missing at client 'Zone'",
        "leave it out with --exclude dose",
    )
    assert comity("solve", "each", "--target", "effect", "--exclude", "dose").returncode == 0
    numbers().drop(columns=["site", "age"]).to_csv(tmp_path / "each" / "Area.csv", index=False)
    check_refusal(
        comity("solve", "each", "--target", "effect"),
        "columns that other clients have are missing: 'dose' at client 'Zone', 'age' at client 'Area'; "
        "add them, or leave them out with --exclude dose --exclude age",
    )
    (tmp_path / "each" / "Area.csv").unlink()
    (tmp_path / "each" / "notes.txt").write_text("x")
    check_refusal(comity("solve", "each", "--target", "effect"), "'notes.txt' is not a client's table")


# the text of the study, what the message says
STUDIES: list[tuple[str, str]] = [
    ("target = ", "not TOML"),
    ('traget = "effect"', "there is no setting 'traget'; did you mean 'target'?"),
    ('target = "effect"\nforce = true', "there is no setting 'force'"),
    ("target = 3", ": target is 3; it must be the name of a column"),
    ('target = "effect"\nclient = ["site"]', ": client is ['site']; it must be the name of a column"),
    ('target = "effect"\nfolds = "five"', "folds is 'five'; it must be a whole number"),
    ('target = "effect"\nfolds = 2.5', "folds is 2.5; it must be a whole number"),
    ('target = "effect"\nseed = true', "seed is True; it must be a whole number"),
    ('target = "effect"\nmetric = "f1"', "metric is 'f1'; it must be one of auc"),
    ('target = "effect"\nmetric = ["auc"]', "metric is ['auc']; it must be one of"),
    ('target = "effect"\ntask = "classes"\nmetric = "r2"', "'r2' is not for the task 'classes', which has auc"),
    ('target = "effect"\nconfidence = "very"', "confidence is 'very'"),
    ('target = "effect"\npenalty = true', "penalty is True"),
    ('target = "effect"\nexclude = "age"', "exclude is 'age'; it must be a list"),
    ('target = "effect"\nexclude = [1]', "exclude is [1]"),
    ('target = "effect"\nsource = 3', "source is 3; it must be a path"),
    ('target = "effect"\nout = ""', "out is ''; it must be a path"),
    ('[target]\nname = "effect"', ": target is {'name': 'effect'}"),
    ("", "there is nothing in it"),
]


@pytest.mark.parametrize(("text", "message"), STUDIES)
def test_bad_study(comity: Run, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "study.toml").write_text(text)
    done = comity("solve", "table.csv", "--study", "study.toml")
    check_refusal(done, message)
    assert done.stderr.startswith("Error: study.toml: ")


def test_a_study_that_is_not_there(comity: Run, tmp_path: Path) -> None:
    check_refusal(comity("solve", "table.csv", "--study", "none.toml"), "none.toml: there is no such file")
    (tmp_path / "study.toml").write_text('client = "site"')
    check_refusal(comity("solve", "table.csv", "--study", "study.toml"), "say which column to predict")
    check_refusal(comity("solve", "--study", "study.toml", "--target", "y"), "say which table to read")


def test_what_was_decided_is_said(comity: Run, tmp_path: Path) -> None:
    frame = numbers()
    frame = emptied("South", "pulse")(frame)
    frame["patient"] = range(1000, 1000 + len(frame))
    frame["code"] = [f"p{number}" for number in range(len(frame))]
    frame["nothing"] = None
    frame["same"] = 7
    frame["grade"] = [["1", "2", "3+"][number % 3] for number in range(len(frame))]
    frame["remark"] = [f"word{max(number, 1)}" for number in range(len(frame))]
    frame.to_csv(tmp_path / "table.csv", index=False)
    check_warning(
        comity("solve", "table.csv", *ON_NUMBERS, "--out", "run"),
        "column 'pulse' is empty at client 'South'; all its values are taken for missing there",
        "column 'patient' looks like an identifier (whole numbers in order, and no client has a value twice) and is "
        "left out; if it is a measurement, keep it with --keep patient",
        "column 'code' looks like an identifier (text, and no client has a value twice) and is left out",
        "column 'nothing' is empty everywhere and is left out",
        "column 'same' has the same value everywhere and is left out",
        "column 'grade' has numbers and text at clients 'North', 'South', 'West'; it is taken for text",
        "column 'remark' has too many different values to learn from, and is left out",
    )
    document = json.loads((tmp_path / "run" / "result.json").read_text())
    assert document["left_out"] == ["patient", "code", "nothing", "same", "remark"]
    assert len(document["warnings"]) == 7
    assert comity("predict", "run", "table.csv", "--out", "p.csv").stderr == "", "what was left out is no surprise"


def test_what_looks_like_an_identifier_may_be_kept(comity: Run, tmp_path: Path) -> None:
    frame = numbers()
    frame["income"] = range(1000, 1000 + len(frame))
    frame.to_csv(tmp_path / "table.csv", index=False)
    comity("solve", "table.csv", *ON_NUMBERS, "--keep", "income", "--out", "run")
    document = json.loads((tmp_path / "run" / "result.json").read_text())
    assert document["left_out"] == []
    assert document["study"]["keep"] == ["income"]
    refused = comity("solve", "table.csv", *ON_NUMBERS, "--keep", "incom")
    check_refusal(refused, "no column 'incom'", "did you mean 'income'?")
    both = ("--keep", "income", "--exclude", "income")
    check_refusal(
        comity("solve", "table.csv", *ON_NUMBERS, *both),
        "cannot be both kept and excluded; take it out of --keep or --exclude",
    )


def test_a_client_may_be_left_out(comity: Run, tmp_path: Path) -> None:
    numbers().to_csv(tmp_path / "table.csv", index=False)
    comity("solve", "table.csv", *ON_NUMBERS, "--without", "South", "--out", "run")
    document = json.loads((tmp_path / "run" / "result.json").read_text())
    assert list(document["utilities"]) == ["North", "West"]
    check_refusal(comity("solve", "table.csv", *ON_NUMBERS, "--without", "Suth"), "Suth")


@pytest.mark.parametrize("column", ["dose", "effect"])
def test_decimal_commas(comity: Run, tmp_path: Path, column: str) -> None:
    frame = numbers()
    frame[column] = frame[column].map(lambda number: f"{number:.3f}".replace(".", ","))
    frame.to_csv(tmp_path / "table.csv", index=False)
    done = comity("solve", "table.csv", *ON_NUMBERS)
    check_refusal(done, f"{column!r} has numbers with a comma at client 'North'; write decimals with a point")


def test_a_copy_of_the_target_leaves_nothing_to_gain(comity: Run, tmp_path: Path) -> None:
    frame = numbers()
    frame["copy"] = frame["effect"]
    frame.to_csv(tmp_path / "table.csv", index=False)
    comity("solve", "table.csv", *ON_NUMBERS, "--out", "run")
    document = json.loads((tmp_path / "run" / "result.json").read_text())
    assert document["contributions"] == [], "what rounding gains is nothing"


def test_a_client_with_one_class(comity: Run, tmp_path: Path) -> None:
    frame = classes()
    frame.loc[frame["site"] == "North", "cured"] = "yes"
    frame.to_csv(tmp_path / "table.csv", index=False)
    one = "the target 'cured' has one class only at client 'North'"
    done = comity("solve", "table.csv", *ON_CLASSES, "--out", "run")
    check_warning(done, one, "the auc of client 'North' cannot be said on its rows")
    (north,) = (line.split() for line in done.stdout.splitlines() if re.match(r" *(\d+|alone)  North", line))
    assert north[1:4] == ["North", "24", "–"]
    assert {"–", "unknown"} & set(north[4:]), "its gain is unknown too"
    assert comity("verify", "run").returncode in (0, 1)
    check_warning(comity("show", "run"), one, "the auc of client 'North' cannot be said on its rows")
    check_warning(comity("solve", "table.csv", *ON_CLASSES, "--metric", "accuracy"), one)


def test_small_clients_are_told_in_one_line(comity: Run, tmp_path: Path) -> None:
    frame = classes()
    small = [frame.iloc[3 * number : 3 * number + 3].assign(site=f"small {number}", cured="no") for number in range(8)]
    pd.concat([frame, *small]).to_csv(tmp_path / "table.csv", index=False)
    done = comity("solve", "table.csv", *ON_CLASSES, "--out", "run")
    some = "clients 'small 0', 'small 1', 'small 2' and 5 more"
    check_warning(
        done, f"the target 'cured' has one class only at {some}", f"the auc of {some} cannot be said on their rows"
    )
    gain = json.loads((tmp_path / "run" / "result.json").read_text())["mean_gain"]
    assert abs(gain["value"]) < 0.5
    assert gain["error"] < 0.5, "however little some clients tell"


def test_a_client_whose_target_is_the_same(comity: Run, tmp_path: Path) -> None:
    frame = numbers()
    frame.loc[frame["site"] == "West", "effect"] = 1.5
    frame.to_csv(tmp_path / "table.csv", index=False)
    same = "the target 'effect' is the same in every row of client 'West'"
    check_warning(comity("solve", "table.csv", *ON_NUMBERS), same)
    cannot = "the r2 of client 'West' cannot be said on its rows"
    check_warning(comity("solve", "table.csv", *ON_NUMBERS, "--metric", "r2"), same, cannot)


def test_names_that_look_alike(comity: Run, tmp_path: Path) -> None:
    numbers().replace({"site": {"South": "north"}}).to_csv(tmp_path / "table.csv", index=False)
    check_warning(comity("solve", "table.csv", *ON_NUMBERS), "'North' and 'north' are treated as two clients")


def test_awkward_data_are_no_trouble(comity: Run, tmp_path: Path) -> None:
    """Collinear columns, huge and tiny scales, true and false with gaps; a perfect predictor, whose losses are dust."""
    frame = numbers()
    frame["twice"] = 2 * frame["dose"]
    frame["huge"], frame["tiny"] = frame["age"] * 1e12, frame["age"] * 1e-12
    frame["flag"] = (frame["age"] > 50).astype(object).where(frame.index % 5 > 0, None)
    frame.to_csv(tmp_path / "table.csv", index=False)
    check_warning(comity("solve", "table.csv", *ON_NUMBERS))
    frame.drop(columns="effect").assign(cured=np.where(frame["effect"] > 0, "yes", "no")).to_csv(
        tmp_path / "table.csv", index=False
    )
    check_warning(comity("solve", "table.csv", *ON_CLASSES))
    frame.assign(oracle=frame["effect"]).to_csv(tmp_path / "table.csv", index=False)
    check_warning(
        comity("solve", "table.csv", *ON_NUMBERS),
        "column 'oracle' alone predicts the target 'effect' almost perfectly; if it would not be known before the "
        "target is, leave it out with --exclude oracle",
    )
    numbers(rows=10).to_csv(tmp_path / "table.csv", index=False)
    for options in ((), ("--search", "spo", "--resamples", "5")):
        few = ("solve", "table.csv", "--client", "site", *options)
        assert "nan" not in comity(*few, "--target", "sex").stdout
        check_warning(comity(*few, "--target", "effect"))


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("saved") / "run"
    frame = numbers()
    package.solve(frame, client="site", target="effect").save(place)
    return place


def test_bad_predictions(comity: Run, saved: Path, tmp_path: Path) -> None:
    new = numbers(rows=3, seed=5)

    def predict(frame: Frame, *options: str) -> subprocess.CompletedProcess[str]:
        frame.to_csv(tmp_path / "new.csv", index=False)
        return comity("predict", saved, "new.csv", "--out", "p.csv", *options)

    check_refusal(predict(new.drop(columns="dose")), "new.csv: there is no column 'dose'")
    check_refusal(predict(new.rename(columns={"dose": "Dose"})), "did you mean 'Dose'?")
    check_refusal(predict(new.drop(columns="site")), "there is no column 'site', which says whose each row is")
    check_refusal(predict(new.replace({"site": {"West": "Wes"}})), "no model for client 'Wes'", "did you mean 'West'?")
    check_refusal(predict(with_value("site", 0, None)(new)), "missing in 1 of 9 rows")
    check_refusal(predict(with_value("dose", 0, "a lot")(new)), "column 'dose' has 'a lot'", "not a finite number")
    check_refusal(predict(with_value("dose", 0, np.inf)(new)), "column 'dose' has 'inf'")
    check_refusal(predict(new.iloc[:0]), "there are no rows")
    check_refusal(predict(new, "--model", "mine"), "'mine' is not one of")
    assert not (tmp_path / "p.csv").exists()
    check_warning(predict(new.assign(extra=1)), "columns that the models do not know are ignored: 'extra'")
    check_refusal(predict(new), "p.csv: this file exists already")
    check_warning(
        predict(with_value("sex", 0, "x")(new), "--force"),
        "column 'sex' has values in 1 row that no client had ('x'); they are taken for none of its levels",
    )
    check_warning(
        predict(with_value("dose", 2, None)(new), "--force"),
        "column 'dose' is missing in 1 row, which it was not when the models were trained",
    )
    check_refusal(comity("predict", saved, "new.csv", "--out", "new.csv", "--force"), "these are the rows to predict")
    check_refusal(comity("predict", saved, "new.csv", "--out", "."), "this is a directory")
    check_refusal(comity("predict", saved, "new.csv", "--out", "no/where.csv"), "there is no directory 'no'")
    check_refusal(comity("predict", saved, "none.csv", "--out", "q.csv"), "none.csv: there is no such file")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.csv", "p.csv"]


def test_something_that_is_no_run(comity: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "other" / "result.json").write_text('{"a": []}')
    (tmp_path / "broken" / "result.json").write_text("{")
    numbers().to_csv(tmp_path / "table.csv", index=False)
    for name, message in {
        "nowhere": "nowhere: there is no such directory",
        "": "the name of the directory is empty",
        "table.csv": "this is a file; give a directory that comity solve wrote",
        "empty": "there is no result.json in it",
        "other": "this is not a result of comity solve",
        "broken": "not valid JSON",
    }.items():
        check_refusal(comity("verify", name), message)
        check_refusal(comity("show", name), message)
        check_refusal(comity("predict", name, "table.csv", "--out", "p.csv"), message)


def test_out_that_is_taken_or_locked(comity: Run, tmp_path: Path) -> None:
    numbers().to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    solve = ("solve", "table.csv", *ON_NUMBERS, "--out")
    check_refusal(comity(*solve, "mine", "--force"), "it holds other files ('notes.txt')")
    check_refusal(comity(*solve, "table.csv"), "this is a file")
    check_refusal(comity(*solve, ""), "the name of the output directory is empty")
    check_refusal(comity(*solve, "/proc/nothing/here"), "/proc/nothing/here: ")
    assert comity(*solve, "run").returncode == 0
    before = (tmp_path / "run" / "result.json").read_bytes()
    check_refusal(comity(*solve, "run", "--seed", "3"), "there is a result already", "--force")
    assert (tmp_path / "run" / "result.json").read_bytes() == before
    assert comity(*solve, "run", "--seed", "3", "--force").returncode == 0
    assert (tmp_path / "run" / "result.json").read_bytes() != before
    assert comity("verify", "run").returncode == 0


def test_a_full_disk(comity: Run, saved: Path, tmp_path: Path) -> None:
    """Simulated: no file may grow past some bytes. What was there before stays."""
    numbers().to_csv(tmp_path / "table.csv", index=False)
    solve = ("solve", "table.csv", *ON_NUMBERS, "--out", "run")

    def refused(*arguments: str | Path) -> None:
        check_refusal(comity(*arguments, largest=1000), "cannot be written (File too large)")

    refused(*solve)
    refused("predict", saved, "table.csv", "--out", "p.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"], "nothing half-written"
    assert comity(*solve).returncode == 0
    before = (tmp_path / "run" / "result.json").read_bytes()
    refused(*solve, "--force")
    assert (tmp_path / "run" / "result.json").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "table.csv"]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_leaves_nothing(comity: Run, tmp_path: Path, number: int, status: int) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(6000, 12))).add_prefix("x")
    frame["site"] = np.repeat([f"s{site}" for site in range(60)], 100)
    frame["y"] = frame["x0"] + rng.normal(size=6000)
    frame.to_csv(tmp_path / "table.csv", index=False)
    process = subprocess.Popen(
        [comity("--version").args[0], "solve", "table.csv", "--client", "site", "--target", "y", "--out", "run"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ,
    )  # fmt: skip
    wait_until_ready(process)
    time.sleep(1.5)  # it is at work by now, for some time to come
    assert process.poll() is None
    process.send_signal(number)
    output, messages = process.communicate(timeout=60)
    assert process.returncode == status
    assert output == ""
    assert messages.strip() in ("Interrupted.", "")
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


def test_a_signal_that_was_lost_ends_the_work_at_its_next_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ending, "_signals", [])
    stages = Stages(ending.check)
    stages("reading", 0, 1)
    with contextlib.suppress(SystemExit):  # as where a callback of C is called
        ending.end(signal.SIGTERM, None)
    with pytest.raises(SystemExit, match="143"):
        stages("searching", 0, 1)
