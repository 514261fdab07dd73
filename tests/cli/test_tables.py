"""Tables as they are, on the installed command: mixed columns, dates, leaks, free text, Excel files, ids, groups."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import comity as package
from support.small_tables import classes, numbers

Run = Callable[..., subprocess.CompletedProcess[str]]
SOLVE = ("solve", "table.csv", "--client", "site", "--target", "effect")


def write(frame: pd.DataFrame, place: Path) -> None:
    frame.to_csv(place / "table.csv", index=False)


def refused(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert (done.returncode, done.stdout) == (2, ""), done
    for each in words:
        assert each in done.stderr
    assert len(done.stderr.splitlines()) <= 4, "usage, and one message"


def warned(done: subprocess.CompletedProcess[str], *warnings: str) -> None:
    assert done.returncode in (0, 1), done  # with so few rows, the proof may fail
    assert done.stderr == "".join(f"Warning: {each}\n" for each in warnings)


def column(place: Path, name: str) -> dict[str, Any]:
    columns = json.loads((place / "run" / "result.json").read_text())["schema"]["columns"]
    return next(each for each in columns if each["name"] == name)


def test_a_column_that_gives_the_target_away_is_named(comity: Run, tmp_path: Path) -> None:
    def message(name: str, target: str) -> str:
        return (
            f"column {name!r} alone predicts the target {target!r} almost perfectly; if it would not be known before "
            f"the target is, leave it out with --exclude {name}"
        )

    frame = numbers()
    write(frame.assign(twice=2 * frame["effect"] + 1), tmp_path)
    warned(comity(*SOLVE), message("twice", "effect"))
    warned(comity(*SOLVE, "--exclude", "twice"))
    frame = classes()
    write(
        frame.assign(outcome=frame["cured"].map({"yes": "alive", "no": "dead"}), flag=frame["cured"] == "yes"), tmp_path
    )
    done = comity("solve", "table.csv", "--client", "site", "--target", "cured")
    warned(done, message("outcome", "cured"), message("flag", "cured"))


def test_numbers_at_one_client_and_text_at_another_are_text_if_few(comity: Run, tmp_path: Path) -> None:
    frame = numbers()
    codes = np.resize(["01", "23", "46"], len(frame)).astype(object)
    codes[frame["site"] == "West"] = np.resize(["46", "7p", "01"], 24)
    frame["code"] = codes
    write(frame, tmp_path)
    message = "column 'code' has numbers and text at client 'West'; it is taken for text"
    warned(comity(*SOLVE, "--out", "run"), message)
    assert column(tmp_path, "code")["levels"] == ["01", "23", "46", "7p"]
    frame[frame["site"] == "North"].to_csv(tmp_path / "new.csv", index=False)
    warned(comity("predict", "run", "new.csv", "--out", "p.csv"))
    (tmp_path / "each").mkdir()
    for name, rows in frame.groupby("site"):
        rows.drop(columns="site").to_csv(tmp_path / "each" / f"{name}.csv", index=False)
    done = comity("solve", "each", "--target", "effect", "--out", "run", "--force")
    warned(done, message)
    assert column(tmp_path, "code")["levels"] == ["01", "23", "46", "7p"], "as they are written"


DAYS = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(72) * 5 % 365, unit="D")


@pytest.mark.parametrize("written", ["%Y-%m-%d", "%Y/%m/%d %H:%M", "%d.%m.%Y"])
def test_dates_are_days(comity: Run, tmp_path: Path, written: str) -> None:
    frame = numbers().assign(admitted=DAYS)
    frame["effect"] += frame["admitted"].dt.day_of_year / 50
    write(frame.assign(admitted=DAYS.strftime(written)), tmp_path)
    warned(comity(*SOLVE, "--out", "run"), "column 'admitted' holds dates; the models use the days since 2000-01-01")
    found = column(tmp_path, "admitted")
    assert found["kind"] == "date"
    assert found["mean"] == pytest.approx((DAYS - pd.Timestamp("2000-01-01")).days.to_numpy().mean())
    warned(comity("predict", "run", "table.csv", "--out", "p.csv"))
    predicted = pd.read_csv(tmp_path / "p.csv")["prediction"]
    with pytest.warns(package.ComityWarning, match="'admitted' holds dates"):
        result = package.solve(frame, client="site", target="effect")
    assert result.schema == package.Result.load(tmp_path / "run").schema, "a frame and a file agree"
    for days in (DAYS, DAYS.tz_localize("UTC"), DAYS.strftime(written), DAYS.date):
        assert np.allclose(result.predict(frame.assign(admitted=days))["prediction"], predicted)
    write(frame.assign(admitted="soon"), tmp_path)
    refused(
        comity("predict", "run", "table.csv", "--out", "q.csv"),
        "column 'admitted' has 'soon', which is not a date such as 2024-03-01",
    )


def test_dates_that_cannot_be_read_or_predicted(comity: Run, tmp_path: Path) -> None:
    message = "holds dates that cannot be read, and is left out; write them with the year first, such as 2024-03-01"
    mostly = [*DAYS[:60].strftime("%Y-%m-%d"), *["unknown"] * 12]
    write(numbers().assign(seen=DAYS.strftime("%m/%d/%Y"), left=mostly), tmp_path)
    warned(comity(*SOLVE), f"column 'seen' {message}", f"column 'left' {message}")
    few = np.resize(["03/05/2024", "04/05/2024", "17/05/2024"], 72)
    write(numbers().assign(seen=few), tmp_path)
    warned(
        comity(*SOLVE),
        "column 'seen' holds dates that cannot be read; it is taken for text. Write them with the year first, such as "
        "2024-03-01",
    )
    write(numbers().assign(effect=DAYS), tmp_path)
    refused(comity(*SOLVE), "the target 'effect' holds dates", "predict a number")


def test_months_that_each_client_has_once_are_levels_and_years_are_numbers(comity: Run, tmp_path: Path) -> None:
    """In a panel, no client has a month or a year twice: they are no identifiers."""
    months = np.resize(["May", "June", "July", "August", "autumn", "winter"], 72)
    frame = numbers().assign(site=np.repeat([f"ward {number}" for number in range(12)], 6))
    write(frame.assign(month=months, year=np.resize(np.arange(2001, 2007), 72)), tmp_path)
    done = comity(*SOLVE, "--out", "run")
    assert done.returncode == 0, done
    assert column(tmp_path, "month")["levels"] == sorted(set(months))
    assert column(tmp_path, "year")["mean"] == pytest.approx(2003.5)
    assert "left out" not in done.stderr


def test_prices_that_explain_the_target_exactly_and_each_other(comity: Run, tmp_path: Path) -> None:
    """Some are the same in all rows of a shop: without a least noise, matrices are singular."""
    rng = np.random.default_rng(2)
    shops = []
    for number, shop in enumerate("abcde"):
        frame = pd.DataFrame({"site": shop, "week": rng.integers(0, 50, 80)})
        frame["price"] = np.where(frame["week"] > 25, 1.69, 1.59) + 0.1 * number
        frame["other"] = 2.09 + 0.04 * number * (number % 2)
        frame["off"] = rng.choice([0, 0, 0, 0.1, 0.3], 80)
        frame["otheroff"] = rng.choice([0, 0, 0.2, 0.4], 80) if number != 2 else 0.0
        shops.append(frame.assign(number=number))
    frame = pd.concat(shops, ignore_index=True)
    frame["loyal"] = rng.random(len(frame))
    frame["otherprice"], frame["list"] = frame["other"] - frame["otheroff"], frame["other"] - frame["price"]
    frame["pct"], frame["otherpct"] = frame["off"] / frame["price"], frame["otheroff"] / frame["other"]
    frame["effect"] = frame["price"] - frame["off"]
    frame["diff"], frame["special"] = frame["otherprice"] - frame["effect"], (frame["off"] > 0) * 1
    frame["kind"], frame["seven"] = rng.choice(["x", "y"], len(frame)), np.where(frame["site"] == "e", "yes", "no")
    write(frame.round(2), tmp_path)
    done = comity(*SOLVE, "--out", "run")
    assert done.returncode == 0, done
    assert comity("verify", "run").returncode == 0


def test_classes_told_apart_by_counts_of_very_different_size(comity: Run, tmp_path: Path) -> None:
    """A large client's counts are forty times a small one's: steps must be shortened, and keep their direction."""
    rng = np.random.default_rng(0)
    sizes = {"A": (85, 150), "B": (2600, 6900), "C": (260, 880), "D": (1270, 4340)}
    sizes |= {"E": (660, 1290), "F": (100, 370), "G": (950, 3790), "H": (840, 3440)}
    frame = pd.DataFrame(
        [
            (site, sex, kind, round(size * share * np.exp(0.3 * rng.normal())))
            for site, pair in sizes.items()
            for sex, share in (("f", 0.08), ("m", 1.0))
            for kind, size in zip(("remanded", "sentenced"), pair, strict=True)
            for _ in range(24)
        ],
        columns=["site", "sex", "kind", "count"],
    )
    write(frame, tmp_path)
    done = comity("solve", "table.csv", "--client", "site", "--target", "sex", "--out", "run")
    assert done.returncode == 0, done
    result = package.Result.load(tmp_path / "run")
    assert all(np.isfinite(models).all() for models in result.models.values())


def test_an_excel_file_is_a_table(comity: Run, tmp_path: Path) -> None:
    frame = numbers().assign(admitted=DAYS, note=None, grade=np.resize([1, 2, 3], 72))
    frame.loc[3, "dose"] = None
    write(frame, tmp_path)
    frame.to_excel(tmp_path / "table.xlsx", index=False)
    options = ("--client", "site", "--target", "effect", "--json")
    read = comity("solve", "table.xlsx", *options, "--out", "run")
    assert read.returncode == 0, read
    one, other = (json.loads(each.stdout) for each in (read, comity("solve", "table.csv", *options)))
    assert one["schema"] == other["schema"]
    assert one["equilibrium"] == other["equilibrium"]
    for table in ("table.csv", "table.xlsx"):
        warned(comity("predict", "run", table, "--out", f"{table}.out"))
    assert (tmp_path / "table.csv.out").read_text() == (tmp_path / "table.xlsx.out").read_text()


def test_another_encoding(comity: Run, tmp_path: Path) -> None:
    frame = numbers().replace({"site": {"North": "Orléans"}}).assign(sex="é")
    frame.loc[::2, "sex"] = "à"
    (tmp_path / "table.csv").write_bytes(frame.to_csv(index=False).encode("cp1252"))
    refused(comity(*SOLVE), "line 2 is not UTF-8 text", "perhaps --encoding cp1252")
    refused(comity(*SOLVE, "--encoding", "klingon"), "--encoding is 'klingon'; it must be the name of an encoding")
    refused(comity(*SOLVE, "--encoding", "ascii"), "this is not ascii text; check --encoding")
    warned(comity(*SOLVE, "--encoding", "cp1252", "--out", "run"))
    assert column(tmp_path, "sex")["levels"] == ["à", "é"]
    warned(comity("predict", "run", "table.csv", "--out", "p.csv"))
    assert pd.read_csv(tmp_path / "p.csv")["client"][0] == "Orléans"
    write(frame, tmp_path)
    warned(comity("predict", "run", "table.csv", "--encoding", "utf-8", "--out", "p.csv", "--force"))


def test_an_id_is_carried_into_predictions(comity: Run, tmp_path: Path) -> None:
    frame = numbers().assign(patient=[f"{number:04}" for number in range(72)])
    write(frame, tmp_path)
    warned(comity(*SOLVE, "--id", "patient", "--out", "run"))
    warned(comity("predict", "run", "table.csv", "--out", "p.csv"))
    predicted = pd.read_csv(tmp_path / "p.csv", dtype={"patient": str})
    assert list(predicted) == ["patient", "client", "prediction"]
    assert predicted["patient"].tolist() == frame["patient"].tolist(), "as written"
    write(frame.drop(columns="patient"), tmp_path)
    warned(
        comity("predict", "run", "table.csv", "--out", "q.csv"),
        "there is no column 'patient', so that predictions do not have it",
    )
    refused(comity(*SOLVE, "--id", "patiend"), "there is no column 'patiend'")
    refused(comity(*SOLVE, "--id", "effect"), "column 'effect' has another use; change --id")
    refused(comity(*SOLVE, "--id", "age", "--exclude", "age"), "column 'age' is needed")


def test_numbers_may_be_categories(comity: Run, tmp_path: Path) -> None:
    frame = numbers().assign(grade=np.resize([1.0, 2.0, 10.0, np.nan], 72))
    write(frame, tmp_path)
    warned(comity(*SOLVE, "--categories", "grade", "--out", "run"))
    assert column(tmp_path, "grade") == {"kind": "text", "name": "grade", "levels": ["1", "10", "2"], "indicator": True}
    write(frame.assign(grade="2"), tmp_path)
    warned(comity("predict", "run", "table.csv", "--out", "p.csv"))
    refused(comity(*SOLVE, "--categories", "dose"), "column 'dose' has", "too many for categories", "--categories")
    refused(comity(*SOLVE, "--categories", "grad"), "no column 'grad'", "did you mean 'grade'?")


def test_rows_of_a_group_are_held_out_together(comity: Run, tmp_path: Path) -> None:
    frame = numbers().assign(patient=[f"p{number // 2}" for number in range(72)])
    write(frame, tmp_path)
    warned(comity(*SOLVE, "--group", "patient", "--out", "run"))
    document = json.loads((tmp_path / "run" / "result.json").read_text())
    assert "patient" not in [each["name"] for each in document["schema"]["columns"]]
    warned(comity("predict", "run", "table.csv", "--out", "p.csv"))
    refused(comity(*SOLVE, "--group", "patiend"), "client 'North' has no column 'patiend', which groups its rows")
    write(frame.assign(patient=frame["patient"].where(frame.index > 0)), tmp_path)
    refused(comity(*SOLVE, "--group", "patient"), "is missing in 1 row of client 'North'")
    write(frame.assign(patient=frame["site"]), tmp_path)
    refused(comity(*SOLVE, "--group", "patient"), "no client has enough rows, or groups of rows, to hold some out")
    refused(comity(*SOLVE, "--group", "patient", "--search", "spo"), "'North' has 1 group of rows, too few for")


def test_free_text_and_identifiers_are_called_what_they_are(comity: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    frame = numbers()
    frame["remark"] = [f"the patient was seen {number} times this year" for number in range(72)]
    frame["income"] = rng.permutation(72) * 137 + 20_000
    frame["patient_id"] = rng.permutation(72) * 91 + 5
    frame.loc[5, "patient_id"] = None
    write(frame, tmp_path)
    warned(
        comity(*SOLVE, "--out", "run"),
        "column 'remark' is free text, which the models do not read, and is left out",
        "column 'patient_id' looks like an identifier (a name of one, whole numbers, and no client has a value twice) "
        "and is left out; if it is a measurement, keep it with --keep patient_id",
    )
    assert column(tmp_path, "income")["kind"] == "number"
    assert column(tmp_path, "income")["mean"] == pytest.approx(frame["income"].mean())
    warned(comity(*SOLVE, "--keep", "patient_id", "--exclude", "remark"))


def test_advice_does_not_lead_in_a_circle(comity: Run, tmp_path: Path) -> None:
    write(numbers().assign(effect=[f"e{number}" for number in range(72)]), tmp_path)
    refused(comity(*SOLVE), "too many different values to be classes; it is text: merge its values")
    write(numbers().assign(effect=np.resize([0, 1, 2], 72)), tmp_path)
    warned(
        comity(*SOLVE),
        "the target 'effect' has few different values, all whole numbers, and is taken for a number; if they are "
        "classes, say --task classes",
    )
    warned(comity(*SOLVE, "--task", "classes"))
    warned(comity(*SOLVE, "--task", "regression"))
