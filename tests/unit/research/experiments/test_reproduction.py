"""A table of the paper next to ours: what is compared with what, and over which seeds."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from comity.research.experiments import reproduction as reproducing
from comity.research.experiments.cells import Cell, Outcome
from comity.research.experiments.experiment import Experiment
from comity.research.experiments.reproduction import Reproduction, reproduce

EXPERIMENT = Experiment(
    name="cifar10",
    title="A table",
    metric="accuracy",
    methods=("local", "fedavg"),
    seeds=2,
    settings={"parts": 5},
    paper={"local": {"mean": (86.0, 4.0)}},
    columns=("mean",),
    scale=100.0,
    compared_with={"fedavg": "local"},
)


def reproduced(values: dict[str, list[float]], experiment: Experiment = EXPERIMENT) -> Reproduction:
    cells = tuple(
        Cell(method, seed, {"a": value, "b": value}, {}, 1.0, "")
        for method, each in values.items()
        for seed, value in enumerate(each)
    )
    return Reproduction(experiment, cells)


def test_methods_with_fewer_seeds_are_beside_the_others_with_the_same_seeds() -> None:
    """Seed 0 may be a hard one: means over other seeds would turn the order round."""
    found = reproduced({"local": [0.80, 0.96], "fedavg": [0.85]})
    assert found.columns == ["method", "mean", "paper: mean", "difference", "with seed 0", "seeds", "time"]
    assert [(row[1], row[4]) for row in found.rows()] == [("88.0 ± 11.3", "80.0"), ("85.0", "85.0")]
    same = reproduced({"local": [0.80, 0.96], "fedavg": [0.85, 0.9]})
    assert same.columns == ["method", "mean", "paper: mean", "difference", "seeds", "time"]
    assert [len(row) for row in same.rows()] == [6, 6]


def test_no_difference_from_other_clients() -> None:
    found = reproduced({"local": [0.80, 0.96]}, replace(EXPERIMENT, other_clients=True))
    assert found.columns == ["method", "mean", "paper: mean", "seeds", "time"]
    assert found.rows()[0][1:3] == ["88.0 ± 11.3", "86.0 ± 4.0"]


def test_gains_are_over_what_a_method_is_compared_with() -> None:
    values = {"local": [0.5], "fedavg": [0.9, 0.91, 0.92, 0.9, 0.9], "alone": [0.9], "ce": [0.91, 0.89, 0.9, 0.9, 0.9]}
    values = {method: each * (5 // len(each)) for method, each in values.items()}
    compared = replace(EXPERIMENT, compared_with={"fedavg": "local", "ce": "alone"})
    remarks = [remark for remark in reproduced(values, compared).remarks() if "over" in remark]
    interval = " (95 % interval for all 2 comparisons together by Bonferroni, corrected by Nadeau and Bengio for rows "
    interval += "that seeds share)."
    assert len(remarks) == 2
    assert remarks[0].startswith("fedavg over local, on average over clients: +")
    assert remarks[0].endswith(f"beyond chance{interval}")
    assert remarks[1].startswith("ce over alone")
    assert remarks[1].endswith(f"which may be chance{interval}")


def test_a_gain_over_few_seeds_is_left_open() -> None:
    """Of two seeds an interval may be hundreds of points wide."""
    remarks = reproduced({"local": [0.5] * 4, "fedavg": [0.9] * 4}).remarks()
    assert remarks == ["fedavg over local: fewer than 5 seeds, too few for an interval."]


def test_seeds_that_did_not_train_do_not_count_in_a_gain() -> None:
    """If they did, the gain would be NaN, and reported as possible chance."""
    nan = float("nan")
    ours = [0.9, 0.91, nan, 0.92, 0.93, 0.9]
    remarks = reproduced({"local": [0.5] * 6, "fedavg": ours}).remarks()
    whole = reproduced({"local": [0.5] * 5, "fedavg": [each for each in ours if each == each]}).remarks()
    assert remarks == [whole[0].replace("clients:", "clients and 5 of 6 seeds:")]
    failed = reproduced({"local": [0.5] * 6, "fedavg": [nan] * 6})
    assert "nan" not in failed.to_markdown()
    assert failed.remarks() == ["fedavg over local: fewer than 5 seeds, too few for an interval."]


def test_notes_on_the_whole_experiment_are_marked_as_such() -> None:
    """A quick run, or one of some methods, has other numbers than the notes."""
    whole = Experiment.load("cifar10")
    values = {method: [0.5] * whole.seeds for method in whole.methods}
    noted = replace(EXPERIMENT, notes=("Whatever.",), compared_with={})
    scope = "The following notes are about the whole experiment, with 3 seeds and all methods."
    assert reproduced(values, noted).remarks() == ["Whatever."]
    few = {method: each for method, each in values.items() if method != "fedavg"}
    short = {method: each[:2] for method, each in values.items()}
    for part in (reproduced(few, noted), reproduced(short, noted), reproduced(values, replace(noted, quick=True))):
        assert part.remarks() == [scope, "Whatever."]
    with_gains = reproduced(short, replace(noted, compared_with={"fedavg": "local"})).remarks()
    assert with_gains[1:] == [scope, "Whatever."], "the results of this run are not about the whole experiment"
    assert with_gains[0].startswith("fedavg over local")


class ConstantTask:
    """A task in which every method has the same value."""

    rows = "the same"

    def run(self, method, progress) -> Outcome:
        return Outcome({"a": 0.5})


def test_the_written_experiment_lists_the_methods_and_seeds_in_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Also where some of it came of an earlier call, with other methods and more seeds."""
    monkeypatch.setitem(reproducing.TASKS, "cifar10", lambda experiment, directory, seed: ConstantTask())
    whole = Experiment.load("cifar10")
    reproduce(whole.with_choices(("local", "fedavg"), 2), None, tmp_path / "out")
    reproduce(whole.with_choices(("ce",), 1), None, tmp_path / "out")
    remarks = json.loads((tmp_path / "out" / "table.json").read_text())
    assert remarks["experiment"]["methods"] == ["local", "fedavg", "ce"]
    assert remarks["experiment"]["seeds"] == 2
    assert remarks["torch"]
    again = Reproduction.from_json((tmp_path / "out" / "table.json").read_text())
    assert again.to_markdown() == (tmp_path / "out" / "table.md").read_text()
