"""eICU is read by its published tables, as far as they are there, into the benchmark's cohort and clients."""

import gzip
import hashlib
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from comity.client.tables import columns, read_clients
from comity.core.names import check_names
from comity.errors import FormatError, InputError
from comity.research.datasets import eicu
from comity.research.datasets.eicu import database
from comity.research.datasets.eicu.charts import RunningSummaries
from support.small_eicu import CHARTED, SYSTEMS, eicu_tables, write_eicu

HOSPITALS = {60: 80, 61: 70, 62: 40, 63: 30, 64: 36, 65: 60, 66: 12, 67: 9}
SIZES = (75, 75, 35, 35)


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    return eicu_tables(HOSPITALS)


@pytest.fixture(scope="module")
def folder(tables: dict[str, pd.DataFrame], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_eicu(tmp_path_factory.mktemp("eicu"), tables)


@pytest.fixture(scope="module")
def data(folder: Path) -> eicu.Eicu:
    return eicu.load(folder, by="hospital", sizes=SIZES)


def test_single_hospitals_of_the_sizes_asked_for(data: eicu.Eicu) -> None:
    counts = data.table["client"].value_counts().to_dict()
    assert counts == {"hospital 60": 80, "hospital 61": 70, "hospital 64": 36, "hospital 62": 40}
    assert next(iter(data.table)) == "client"
    assert list(data.table)[-1] == "died"
    assert {client.name for client in read_clients(data.table, "client")} == set(counts)


def test_the_cohort_is_of_adults_with_one_stay_and_a_known_outcome(
    data: eicu.Eicu, tables: dict[str, pd.DataFrame]
) -> None:
    people = tables["patient"].set_index("patientunitstayid").loc[data.table.index]
    assert people["age"].astype(int).between(18, 89).all()
    assert not people["uniquepid"].str.contains("twice").any()
    assert data.table["died"].tolist() == (people["hospitaldischargestatus"] == "Expired").astype(int).tolist()
    assert set(data.table["died"]) == {0, 1}
    total = sum(HOSPITALS.values())
    assert f"{total + len(HOSPITALS)} of {total + 6 * len(HOSPITALS)} stays are of" in data.notes[0]
    assert f"{total} of these have a known outcome" in data.notes[0]


def test_stays_that_end_early_are_reported_or_left_out(folder: Path, tables: dict[str, pd.DataFrame]) -> None:
    """Every eighth stay ends after ten hours, and of these every third in death."""
    short = sum(-(-count // 8) for count in HOSPITALS.values())
    deaths = sum(-(-count // 24) for count in HOSPITALS.values())
    note = f"{short} of them, {deaths} with a death in hospital, end within 24 hours: their measurements run to"
    assert any(note in each for each in eicu.load(folder, min_stays=50).notes)
    longer = eicu.load(folder, min_stays=50, min_hours=15)
    people = tables["patient"].set_index("patientunitstayid").loc[longer.table.index]
    assert set(people["unitdischargeoffset"]) == {3000}
    assert "have a known outcome and last 15 hours or more" in longer.notes[0]
    assert not any("run to the end" in each for each in longer.notes)


def test_features_at_admission(data: eicu.Eicu, tables: dict[str, pd.DataFrame]) -> None:
    people = tables["patient"].set_index("patientunitstayid").loc[data.table.index]
    assert data.table["age"].tolist() == people["age"].astype(float).tolist()
    assert set(data.table["gender"].dropna()) == {"Female", "Male"}
    assert data.table["gender"].isna().tolist() == (people["gender"] == "Unknown").tolist()
    assert data.table["ethnicity"].isna().tolist() == people["ethnicity"].isna().tolist()
    assert data.table["height_cm"].isna().tolist() == (people["admissionheight"] == 17).tolist(), "17 cm are no height"
    known = data.table[data.table.index % 10 != 0]
    assert known["organ_system"].tolist() == [SYSTEMS[stay % 3] for stay in known.index]
    assert known["operative"].tolist() == ["no" if stay % 4 else "yes" for stay in known.index]
    assert data.table["organ_system"].isna().sum() == len(data.table) - len(known)


def summarised(rows: pd.DataFrame, offset: str, value: str, stays: pd.Index) -> pd.DataFrame:
    """The four numbers by pandas, from rows in the order of the table."""
    rows = rows.assign(value=pd.to_numeric(rows[value], errors="coerce")).dropna(subset="value")
    rows = rows[rows[offset].between(0, 1439)]
    by_stay = rows.sort_values(offset, kind="stable").groupby("patientunitstayid")["value"]
    return by_stay.agg(["mean", "min", "max", "last"]).reindex(stays)


NAMES = {
    "Heart Rate": "heart_rate", "Respiratory Rate": "respiratory_rate", "O2 Saturation": "oxygen_saturation",
    "Non-Invasive BP Systolic": "systolic_pressure", "Non-Invasive BP Diastolic": "diastolic_pressure",
    "Value": "mean_pressure", "Temperature (F)": "temperature", "GCS Total": "gcs_total", "Eyes": "gcs_eyes",
    "Motor": "gcs_motor", "Verbal": "gcs_verbal",
}  # fmt: skip
LIMITS = {"oxygen_saturation": 100, "gcs_total": 15, "gcs_verbal": 5}


@pytest.mark.parametrize(("label", "name"), [item[:2] for item in CHARTED if item[0] != "Pain Score"])
def test_what_nurses_chart_in_the_first_day(
    data: eicu.Eicu, tables: dict[str, pd.DataFrame], label: str, name: str
) -> None:
    measure = NAMES[name]
    charted = tables["nurseCharting"]
    rows = charted[
        (charted["nursingchartcelltypevallabel"] == label) & (charted["nursingchartcelltypevalname"] == name)
    ]
    values = pd.to_numeric(rows["nursingchartvalue"], errors="coerce")
    values = (values - 32) / 1.8 if measure == "temperature" else values
    rows = rows.assign(nursingchartvalue=values.where(values <= LIMITS.get(measure, np.inf)))
    expected = summarised(rows, "nursingchartoffset", "nursingchartvalue", data.table.index)
    for how in ("mean", "min", "max", "last"):
        np.testing.assert_allclose(data.table[f"{measure}_{how}"], expected[how], err_msg=how)


def test_results_of_the_laboratory(data: eicu.Eicu, tables: dict[str, pd.DataFrame]) -> None:
    for measure, names in (("glucose", ["glucose", "bedside glucose"]), ("ph", ["pH"]), ("fio2", ["FiO2"])):
        rows = tables["lab"][tables["lab"]["labname"].isin(names)]
        expected = summarised(rows, "labresultoffset", "labresult", data.table.index)
        for how in ("mean", "min", "max", "last"):
            np.testing.assert_allclose(data.table[f"{measure}_{how}"], expected[how], err_msg=f"{measure} {how}")
    assert not any("_worst" in column for column in data.table)
    assert len(data.notes) == 3, "nothing was missing, but a note says so"


def test_arterial_lines_measure_mean_pressure_too(
    tables: dict[str, pd.DataFrame], data: eicu.Eicu, tmp_path: Path
) -> None:
    charted = tables["nurseCharting"].replace({"MAP (mmHg)": "Arterial Line MAP (mmHg)"})
    write_eicu(tmp_path, {**tables, "nurseCharting": charted})
    other = eicu.load(tmp_path, by="hospital", sizes=SIZES)
    pd.testing.assert_frame_equal(other.table, data.table)


def test_the_window_can_be_shorter(folder: Path, tables: dict[str, pd.DataFrame]) -> None:
    short = eicu.load(folder, by="hospital", sizes=SIZES, hours=5).table
    rows = tables["lab"][(tables["lab"]["labname"] == "pH") & (tables["lab"]["labresultoffset"] < 300)]
    expected = summarised(rows, "labresultoffset", "labresult", short.index)
    np.testing.assert_allclose(short["ph_last"], expected["last"])


def test_without_the_charts_of_nurses(tables: dict[str, pd.DataFrame], data: eicu.Eicu, tmp_path: Path) -> None:
    """Vital signs then come from the monitors, pressures from both kinds of measurement, the coma score from APACHE."""
    write_eicu(tmp_path, tables, without=["nurseCharting", "lab"])
    other = eicu.load(tmp_path, by="hospital", sizes=SIZES)
    table, notes = other.table, other.notes
    periodic, aperiodic = tables["vitalPeriodic"], tables["vitalAperiodic"]
    expected = summarised(periodic, "observationoffset", "heartrate", table.index)
    np.testing.assert_allclose(table["heart_rate_mean"], expected["mean"])
    both = pd.concat(
        [periodic.assign(pressure=periodic["systemicmean"]), aperiodic.assign(pressure=aperiodic["noninvasivemean"])]
    )
    expected = summarised(both, "observationoffset", "pressure", table.index)
    np.testing.assert_allclose(table["mean_pressure_mean"], expected["mean"])
    np.testing.assert_allclose(table["mean_pressure_min"], expected["min"])
    oxygen = tables["respiratoryCharting"].assign(share=100 * tables["respiratoryCharting"]["respchartvalue"])
    expected = summarised(oxygen, "respchartoffset", "share", table.index)
    np.testing.assert_allclose(table["fio2_mean"], expected["mean"], err_msg="a fraction is not made a percentage")
    apache = tables["apacheApsVar"].set_index("patientunitstayid").loc[table.index]
    assert table["gcs_eyes_worst"].isna().tolist() == (apache["eyes"] == -1).tolist(), "-1 stands for missing"
    assert set(table["gcs_total_worst"].dropna()) == {15.0}
    assert table["ph_worst"].tolist() == pytest.approx(apache["ph"].where(apache["ph"] > 0).tolist(), nan_ok=True)
    assert table["temperature_mean"].isna().all()
    assert table[["client", "age", "died"]].equals(data.table[["client", "age", "died"]])
    assert any(
        note == "GCS eyes, GCS motor, GCS verbal and GCS total: taken from apacheApsVar (the worst value of the first "
        "day), because nurseCharting is missing"
        for note in notes
    )
    assert "FiO2: taken from respiratoryCharting, because lab is missing" in notes
    assert any(
        note.startswith("heart rate, oxygen saturation, respiratory") and "vitalPeriodic" in note for note in notes
    )


def test_patients_and_hospitals_alone(tables: dict[str, pd.DataFrame], tmp_path: Path) -> None:
    write_eicu(tmp_path, {name: tables[name] for name in ("patient", "hospital")})
    poor = eicu.load(tmp_path, by="hospital", sizes=SIZES)
    assert list(poor.table) == ["client", "age", "gender", "ethnicity", "height_cm", "weight_kg", "died"]
    assert "group of the diagnosis: not used, because admissionDx is missing" in poor.notes
    assert "glucose: not used, because lab and apacheApsVar are missing" in [
        note.replace("glucose and pH:", "glucose:") for note in poor.notes
    ]


@pytest.mark.parametrize("change", [str.lower, str.upper, str])
def test_names_in_any_case_and_files_that_are_not_compressed(
    tables: dict[str, pd.DataFrame], data: eicu.Eicu, tmp_path: Path, change: type[str]
) -> None:
    write_eicu(tmp_path, {change(name): table for name, table in tables.items()}, ending=change(".csv"))
    other = eicu.load(tmp_path, by="hospital", sizes=SIZES)
    pd.testing.assert_frame_equal(other.table, data.table)


def test_how_a_table_is_cut_into_parts_does_not_matter(
    folder: Path, data: eicu.Eicu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "_VALUES_IN_PART", 3001)
    stages: list[str] = []
    other = eicu.load(folder, by="hospital", sizes=SIZES, progress=lambda stage, *_: stages.append(stage))
    pd.testing.assert_frame_equal(other.table, data.table, check_exact=True)
    assert stages.count("reading lab (300 rows)") == 1
    assert {stage.split()[1] for stage in stages} == {"nurseCharting", "lab"}, "a table is read that is not needed"


def test_the_last_value_of_all_parts() -> None:
    running = RunningSummaries(2)
    for offsets, values in (([5, 9, 9], [1, 2, 3]), ([9, 4], [4, 5]), ([8], [6])):
        running.add("ph", np.zeros(len(offsets), np.intp), np.array(offsets, float), np.array(values, float))
    summary = {how: numbers.tolist() for how, numbers in running.summary("ph").items()}
    assert [summary[how][0] for how in ("mean", "min", "max", "last")] == [3.5, 1, 6, 4]
    assert all(np.isnan(numbers[1]) for numbers in summary.values())


def test_the_database_may_be_below_the_directory(
    tables: dict[str, pd.DataFrame], data: eicu.Eicu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_eicu(tmp_path / "eicu-crd" / "2.0", tables)
    monkeypatch.setenv("COMITY_DATA", str(tmp_path))
    found = eicu.load(by="hospital", sizes=SIZES)
    assert found.directory == tmp_path / "eicu-crd" / "2.0"
    pd.testing.assert_frame_equal(found.table, data.table)


def test_hospitals_too_small_are_reported(folder: Path) -> None:
    with pytest.raises(InputError, match=r"no hospital left with about 1,000 stays .* has 80 stays\); group .* region"):
        eicu.load(folder, by="hospital")
    with pytest.raises(InputError, match=r"no hospital left with about 10 stays and at least 5 deaths and 5 survivors"):
        eicu.load(folder, by="hospital", sizes=(10,))  # hospital 66 has 12 stays, but two deaths only


def test_by_region_and_size(tmp_path: Path) -> None:
    """Midwest: sizes join until they are enough, the rest the last; Northeast: too few, so with the unknown region."""
    stays = {1: 40, 2: 30, 3: 60, 4: 10, 5: 8,  # Midwest, by beds
             6: 6, 7: 6, 8: 6, 9: 6, 10: 6,  # Northeast
             11: 70, 12: 70, 13: 70, 14: 70, 15: 70,  # South
             16: 0, 17: 0, 18: 90, 19: 0, 20: 0,  # West
             21: 20, 22: 20, 23: 0, 24: 0, 25: 0}  # fmt: skip # unknown
    write_eicu(tmp_path, eicu_tables(stays))
    loaded = eicu.load(tmp_path, min_stays=60)
    assert loaded.table["client"].value_counts().to_dict() == {
        "Midwest <250 beds": 70,
        "Midwest >=250 or unknown beds": 78,
        "Northeast or unknown region": 70,
        "South <100 beds": 70,
        "South 100-249 beds": 70,
        "South 250-499 beds": 70,
        "South >=500 beds": 70,
        "South unknown beds": 70,
        "West": 90,
    }
    check_names(set(loaded.table["client"]))
    fewer = eicu.load(tmp_path, min_stays=80)
    assert "70 stays (Northeast, unknown region) are too few for a client and were left out" in fewer.notes
    assert len(fewer.table) == len(loaded.table) - 70
    with pytest.raises(InputError, match=r"too few stays for a client of at least 1000 .* give a smaller number"):
        eicu.load(tmp_path, min_stays=1000)


def test_a_client_needs_deaths(tmp_path: Path) -> None:
    tables = eicu_tables({1: 100, 2: 100, 3: 100, 4: 100})
    patient = tables["patient"]
    patient.loc[patient["hospitalid"] == 1, "hospitaldischargestatus"] = "Alive"
    write_eicu(tmp_path, tables)
    assert set(eicu.load(tmp_path, min_stays=50).table["client"]) == {
        "Midwest <250 beds", "Midwest 250-499 beds", "Midwest >=500 or unknown beds"
    }  # fmt: skip


def test_a_part_of_each_client_is_for_tests(data: eicu.Eicu) -> None:
    tests = []
    for part in range(5):
        train, test = data.split(seed=1, part=part)
        assert sorted([*train.index, *test.index]) == sorted(data.table.index)
        tests.append(test)
        for _, rows in data.table.groupby("client"):
            own = test[test.index.isin(rows.index)]
            assert len(own) == pytest.approx(len(rows) / 5, abs=1)
            assert own["died"].sum() == pytest.approx(rows["died"].sum() / 5, abs=1)
    assert sorted(stay for test in tests for stay in test.index) == sorted(data.table.index), "a stay is tested twice"
    assert data.split(seed=1)[1].index.equals(tests[0].index)
    assert not data.split(seed=2)[1].index.equals(tests[0].index)
    with pytest.raises(InputError, match="cannot test on part 5 of 5"):
        data.split(seed=1, part=5)


def test_tables_that_are_missing_are_reported(
    tables: dict[str, pd.DataFrame], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = "eicu-crd-demo/2.0.1/ .the demo.*eicu-crd/2.0/ .the full database, for those who apply"
    with pytest.raises(
        InputError,
        match=f"^{tmp_path}: the files of eICU are not in this directory .patient.csv.gz, .*; get them .*{where}",
    ):
        eicu.load(tmp_path)
    write_eicu(tmp_path, tables, without=["hospital"])
    with pytest.raises(InputError, match=f"^{tmp_path}: the table 'hospital' of eICU is missing, .*{where}"):
        eicu.load(tmp_path)
    monkeypatch.delenv("COMITY_DATA", raising=False)
    with pytest.raises(InputError, match=r"^the files of eICU are needed"):
        eicu.load()


@pytest.mark.parametrize("name", ["patient", "nurseCharting"])
def test_a_file_that_was_cut_is_reported(tables: dict[str, pd.DataFrame], tmp_path: Path, name: str) -> None:
    write_eicu(tmp_path, tables)
    path = tmp_path / f"{name}.csv.gz"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FormatError, match=f"{name}.csv.gz: this is not a whole gzip file; fetch or write it again"):
        eicu.load(tmp_path, by="hospital", sizes=SIZES)
    whole = gzip.compress(b"")
    path.write_bytes(whole)
    with pytest.raises(FormatError, match=f"{name}.csv.gz: there is nothing in it"):
        eicu.load(tmp_path, by="hospital", sizes=SIZES)
    path.unlink()
    plain = tables[name].to_csv(index=False).encode()
    (tmp_path / f"{name}.csv").write_bytes(plain[:-3])
    with pytest.raises(
        FormatError, match=f"{name}.csv: the last line is incomplete, so the file was truncated; get it again"
    ):
        eicu.load(tmp_path, by="hospital", sizes=SIZES)


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("patient", "hospitaldischargestatus"),
        ("hospital", "region"),
        ("lab", "labname"),
        ("admissionDx", "admitdxpath"),
    ],
)
def test_a_column_that_is_missing_is_reported(
    tables: dict[str, pd.DataFrame], tmp_path: Path, name: str, column: str
) -> None:
    write_eicu(tmp_path, tables | {name: tables[name].rename(columns={column: f"{column}_2"})})
    with pytest.raises(
        FormatError, match=f"{name}.csv.gz: the column '{column}' of eICU's table {name} is missing; get"
    ):
        eicu.load(tmp_path, min_stays=30)


def test_nobody_in_the_cohort_is_reported(tables: dict[str, pd.DataFrame], tmp_path: Path) -> None:
    write_eicu(tmp_path, tables | {"patient": tables["patient"].assign(age="> 89")})
    with pytest.raises(InputError, match=r"patient.csv.gz: none of 385 stays is in the cohort .patients from 18 to 89"):
        eicu.load(tmp_path)
    stays = tables["patient"]["patientunitstayid"]
    for wrong in (stays // 2, stays.astype(str) + "x"):
        write_eicu(tmp_path, tables | {"patient": tables["patient"].assign(patientunitstayid=wrong)})
        with pytest.raises(
            FormatError, match=r"patientunitstayid should be a different whole number in every row; get"
        ):
            eicu.load(tmp_path)


def sums(folder: Path) -> str:
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()} {path.name}\n" for path in folder.glob("*.gz"))


def test_a_file_that_does_not_fit_the_checksums_beside_it_is_reported(
    tables: dict[str, pd.DataFrame], data: eicu.Eicu, tmp_path: Path
) -> None:
    write_eicu(tmp_path, tables)
    (tmp_path / "SHA256SUMS.txt").write_text(f"a line that is none\n{sums(tmp_path)}")
    pd.testing.assert_frame_equal(eicu.load(tmp_path, by="hospital", sizes=SIZES).table, data.table)
    write_eicu(tmp_path, {"lab": tables["lab"].head(1000)})
    with pytest.raises(
        FormatError, match=r"lab.csv.gz: this is not the published file of eICU \(its SHA-256 differs\); get it"
    ):
        eicu.load(tmp_path, by="hospital", sizes=SIZES)


def test_the_demo_is_known_by_its_checksums(
    tables: dict[str, pd.DataFrame], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_eicu(tmp_path, tables)
    made = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in tmp_path.iterdir()}
    monkeypatch.setattr(database, "DEMO", tuple(replace(file, checksum=made[file.name]) for file in eicu.DEMO))
    eicu.load(tmp_path, by="hospital", sizes=SIZES)
    for name in ("lab", "patient"):
        write_eicu(tmp_path, {name: tables[name].head(100)})
        with pytest.raises(
            FormatError, match=rf"{name}.csv.gz: this is not the published file of eICU \(its SHA-256 differs\)"
        ):
            eicu.load(tmp_path, by="hospital", sizes=SIZES)


def test_settings_that_make_no_sense_are_reported(folder: Path) -> None:
    with pytest.raises(InputError, match=r"clients cannot be formed by 'ward'; choose 'region and size' or 'hospital'"):
        eicu.load(folder, by="ward")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"hours is 0 and min_hours is 0; hours must be positive"):
        eicu.load(folder, hours=0)


def demo() -> Path | None:
    """Where the real demo is; the full database would take minutes."""
    try:
        found = database.Database.open(None)
    except InputError:
        return None
    return found.folder if found.checksums == {file.name: file.checksum for file in eicu.DEMO} else None


needs_demo = pytest.mark.skipif(demo() is None, reason="COMITY_DATA does not say where eICU's demo is")


@needs_demo
def test_the_real_demo() -> None:
    table = eicu.load().table
    assert (len(table), table["died"].sum()) == (1332, 110)
    assert table["client"].value_counts().to_dict() == {
        "Midwest <250 beds": 274,
        "West": 243,
        "Northeast or unknown region": 240,
        "South <250 beds": 195,
        "South >=250 or unknown beds": 195,
        "Midwest >=250 or unknown beds": 185,
    }
    assert table.groupby("client")["died"].sum().min() >= 12
    assert table["organ_system"].value_counts()["Cardiovascular"] == 554
    assert table["mean_pressure_mean"].notna().sum() == 1269
    with pytest.raises(InputError, match="group hospitals by region and size"):
        eicu.load(by="hospital")


@needs_demo
def test_a_table_of_the_demo_that_was_changed_is_reported(tmp_path: Path) -> None:
    folder = demo()
    assert folder is not None
    for name in ("patient.csv.gz", "hospital.csv.gz"):
        shutil.copy(folder / name, tmp_path / name)
    changed = gzip.decompress((folder / "apacheApsVar.csv.gz").read_bytes()).replace(b"36.2", b"63.2", 1)
    (tmp_path / "apacheApsVar.csv.gz").write_bytes(gzip.compress(changed))
    with pytest.raises(FormatError, match=r"apacheApsVar.csv.gz: this is not the published file of eICU"):
        eicu.load(tmp_path)
