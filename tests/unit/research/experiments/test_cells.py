"""Cells of a table: saved, loaded, and never mixed with those of another job."""

from math import nan
from pathlib import Path

import pytest

from comity.errors import ComityError
from comity.research.baselines import METHODS, QFFL
from comity.research.experiments.cells import Cell, Cells, Outcome
from comity.research.experiments.methods import default_settings
from comity.research.experiments.summary import gain_interval, summarise
from comity.research.experiments.task import fill_cells


class Counting:
    """A task that records which methods run, and is interrupted at one of them."""

    def __init__(self, seed: int, ran: list[tuple[str, int]], stop: tuple[str, int] | None = None) -> None:
        self.seed, self.ran, self.stop = seed, ran, stop
        self.rows = f"rows of {seed}"

    def run(self, method, progress) -> Outcome:
        progress(f"training {method}", 1, 2)
        if (method, self.seed) == self.stop:
            raise KeyboardInterrupt
        self.ran.append((method, self.seed))
        value = 0.5 + len(method) / 100 + self.seed / 1000
        return Outcome({"a": value, "b": value / 2})


def fill(cells: Cells, ran: list[tuple[str, int]], stop: tuple[str, int] | None = None, progress=None) -> None:
    fill_cells(cells, ("local", "fedavg"), (3, 4), lambda seed: Counting(seed, ran, stop), progress)


def test_an_interrupted_job_continues_and_ends_with_the_same_cells(tmp_path: Path) -> None:
    whole, parts = Cells.open(tmp_path / "whole", {}), Cells.open(tmp_path / "parts", {})
    fill(whole, [])
    ran: list[tuple[str, int]] = []
    with pytest.raises(KeyboardInterrupt):
        fill(parts, ran, stop=("fedavg", 3))
    assert ran == [("local", 3)]
    fill(Cells.open(tmp_path / "parts", {}), ran)
    assert ran == [("local", 3), ("fedavg", 3), ("local", 4), ("fedavg", 4)], "nothing is run twice"
    methods = ("local", "fedavg")
    assert [cell.values for cell in parts.load_all(methods)] == [cell.values for cell in whole.load_all(methods)]
    fill(parts, ran)
    assert len(ran) == 4, "finished cells are not run again"


def test_stages_are_reported_with_their_seed(tmp_path: Path) -> None:
    """If they were not, a log would not show how far a job with many seeds is."""
    stages: list[tuple[str, int, int]] = []
    fill(Cells.open(tmp_path / "job", {}), [], progress=lambda *stage: stages.append(stage))
    assert stages[:4] == [
        ("seed 3, local", 0, 2), ("seed 3, training local", 1, 2), ("seed 3, fedavg", 0, 2),
        ("seed 3, training fedavg", 1, 2),
    ]  # fmt: skip
    assert stages[4:] == [(stage.replace("3", "4"), done or 1, of) for stage, done, of in stages[:4]]


def test_the_values_alone_are_those_of_local(tmp_path: Path) -> None:
    cells = Cells.open(tmp_path / "job", {})
    fill(cells, [])
    _, fedavg = summarise(cells.load_all(("local", "fedavg")), "auc")
    assert fedavg.no_worse == 1.0
    (unknown,) = summarise(cells.load_all(("fedavg",)), "auc")
    assert unknown.no_worse != unknown.no_worse, "without local, the values alone are unknown"
    assert cells.load("fedavg", 4).rows == "rows of 4"


def test_another_job_is_refused_by_the_setting_that_differs(tmp_path: Path) -> None:
    Cells.open(tmp_path / "job", {"rounds": 3, "steps": 1})
    Cells.open(tmp_path / "job", {"rounds": 5, "steps": 1})  # nothing was done yet
    Cells.open(tmp_path / "job", {"steps": 1, "rounds": 3}).save(Cell("local", 0, {}, {}, 0.0, ""))
    with pytest.raises(ComityError, match="rounds differs"):
        Cells.open(tmp_path / "job", {"rounds": 4, "steps": 1})
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("dear")
    with pytest.raises(ComityError, match="has other files in it"):
        Cells.open(tmp_path / "other", {})
    (tmp_path / "job" / "job.json").write_text("{")
    with pytest.raises(ComityError, match="not a description of a job"):
        Cells.open(tmp_path / "job", {"rounds": 3})


@pytest.mark.parametrize("text", ["{", "[]", '{"method": 1}', "nothing"])
def test_a_spoilt_cell_is_named(tmp_path: Path, text: str) -> None:
    cells = Cells.open(tmp_path / "job", {})
    cells.save(Cell("local", 0, {"a": 1.0}, {}, 0.0, ""))
    (tmp_path / "job" / "cells" / "local-0.json").write_text(text)
    with pytest.raises(ComityError, match=r"local-0\.json: this is not the result of a method"):
        cells.load("local", 0)


def test_cells_of_other_rows_are_refused(tmp_path: Path) -> None:
    cells = Cells.open(tmp_path / "job", {})
    fill(cells, [])
    (tmp_path / "job" / "cells" / "fedavg-4.json").unlink()

    def draw(seed: int) -> Counting:
        made = Counting(seed, [])
        made.rows = "of another table"
        return made

    with pytest.raises(ComityError, match="'local' with seed 4 is of other rows"):
        fill_cells(cells, ("local", "fedavg"), (3, 4), draw)


def test_nan_is_null_in_json_and_is_read_as_nan(tmp_path: Path) -> None:
    cells = Cells.open(tmp_path / "job", {})
    cells.save(Cell("local", 0, {"a": float("nan"), "b": 0.5}, {}, 1.0, "", details={"errors": {"a": float("inf")}}))
    text = (tmp_path / "job" / "cells" / "local-0.json").read_text()
    assert "NaN" not in text
    assert "Infinity" not in text
    values = cells.load("local", 0).values
    assert values["a"] != values["a"]
    assert values["b"] == 0.5


def test_a_summary_has_means_worst_and_shares() -> None:
    nan = float("nan")
    cells = [
        Cell("ours", 0, {"a": 0.8, "b": 0.6, "c": nan}, {"a": 0.7, "b": 0.7, "c": 0.1}, 2.0, ""),
        Cell("ours", 1, {"a": 0.9, "b": 0.7, "c": 0.2}, {"a": 0.7, "b": 0.7, "c": 0.1}, 4.0, ""),
    ]
    (line,) = summarise(cells, "auc")
    assert line.mean == pytest.approx((0.7 + 0.6) / 2)
    assert line.worst == pytest.approx((0.6 + 0.2) / 2)
    assert line.no_worse == pytest.approx(4 / 5)
    assert line.seconds == 3.0
    assert line.clients == {"a": pytest.approx(0.85), "b": pytest.approx(0.65), "c": pytest.approx(0.2)}
    (less,) = summarise(cells, "rmse")
    assert less.worst == pytest.approx((0.8 + 0.9) / 2), "the largest error is the worst"
    assert less.no_worse == pytest.approx(2 / 5)


def test_the_interval_of_one_seed_is_unbounded() -> None:
    cell = Cell("a", 0, {"x": 0.6}, {}, 0.0, "")
    assert gain_interval([cell], [cell], 5) == (float("-inf"), float("inf"))


def test_seeds_that_did_not_train_are_reported() -> None:
    cells = [Cell("wild", seed, {"a": value, "b": value}, {}, 1.0, "") for seed, value in enumerate([nan, 0.9, nan])]
    (line,) = summarise(cells, "accuracy")
    assert line.mean == 0.9
    assert line.texts()[2] == "–", "one seed has no spread"
    assert line.texts()[5] == "1 of 3"


def test_other_settings_of_methods_are_another_job(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Cells that were made before a default changed are not reused."""
    Cells.open(tmp_path / "job", {"defaults": default_settings()}).save(Cell("q-ffl", 0, {"a": 1.0}, {}, 1.0, ""))
    Cells.open(tmp_path / "job", {"defaults": default_settings()})
    monkeypatch.setitem(METHODS, "q-ffl", QFFL(q=7.0))
    with pytest.raises(ComityError, match=r"the results of another job \(q differs\)"):
        Cells.open(tmp_path / "job", {"defaults": default_settings()})
