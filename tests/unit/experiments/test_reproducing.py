"""A table of the paper's beside ours: what is compared with what, and over which seeds."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from comity.experiments import reproducing
from comity.experiments.cells import Cell
from comity.experiments.experiment import Experiment
from comity.experiments.reproducing import Reproduced, reproduce
from comity.experiments.running import Outcome
from comity.experiments.summary import summarise

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
    compared={"fedavg": "local"},
)


def reproduced(values: dict[str, list[float]], experiment: Experiment = EXPERIMENT) -> Reproduced:
    cells = tuple(
        Cell(method, seed, {"a": value, "b": value}, {}, 1.0, "")
        for method, each in values.items()
        for seed, value in enumerate(each)
    )
    return Reproduced(experiment, cells, summarise(cells, "accuracy"))


def test_methods_with_fewer_seeds_are_beside_the_others_with_the_same_seeds() -> None:
    """Seed 0 may be a hard one: means over other seeds would turn the order round."""
    found = reproduced({"local": [0.80, 0.96], "fedavg": [0.85]})
    assert found.heads == ["method", "mean", "paper: mean", "difference", "with seed 0", "seeds", "time"]
    assert [(row[1], row[4]) for row in found.rows()] == [("88.0 ± 11.3", "80.0"), ("85.0", "85.0")]
    same = reproduced({"local": [0.80, 0.96], "fedavg": [0.85, 0.9]})
    assert same.heads == ["method", "mean", "paper: mean", "difference", "seeds", "time"]
    assert [len(row) for row in same.rows()] == [6, 6]


def test_no_difference_from_other_clients() -> None:
    found = reproduced({"local": [0.80, 0.96]}, replace(EXPERIMENT, others=True))
    assert found.heads == ["method", "mean", "paper: mean", "seeds", "time"]
    assert found.rows()[0][1:3] == ["88.0 ± 11.3", "86.0 ± 4.0"]


def test_gains_are_over_what_a_method_is_compared_with() -> None:
    values = {"local": [0.5], "fedavg": [0.9, 0.91, 0.92, 0.9, 0.9], "alone": [0.9], "ce": [0.91, 0.89, 0.9, 0.9, 0.9]}
    values = {method: each * (5 // len(each)) for method, each in values.items()}
    compared = replace(EXPERIMENT, compared={"fedavg": "local", "ce": "alone"})
    told = [remark for remark in reproduced(values, compared).remarks() if "over" in remark]
    together = (
        " (an interval of 95 % for all 2 of these together, by Bonferroni; that seeds share rows is allowed for as by "
    )
    together += "Nadeau and Bengio)."
    assert len(told) == 2
    assert told[0].startswith("fedavg over local, on average over clients: +")
    assert told[0].endswith(f"beyond chance{together}")
    assert told[1].startswith("ce over alone")
    assert told[1].endswith(f"so it may be chance{together}")


def test_a_gain_over_few_seeds_is_left_open() -> None:
    """Of two seeds an interval may be hundreds of points wide."""
    told = reproduced({"local": [0.5] * 4, "fedavg": [0.9] * 4}).remarks()
    assert told == ["fedavg over local: with fewer than 5 seeds, nothing can be said of chance."]


def test_seeds_that_did_not_train_do_not_count_in_a_gain() -> None:
    """If they did, it would be told that it is not a number, and may be chance."""
    nan = float("nan")
    ours = [0.9, 0.91, nan, 0.92, 0.93, 0.9]
    told = reproduced({"local": [0.5] * 6, "fedavg": ours}).remarks()
    whole = reproduced({"local": [0.5] * 5, "fedavg": [each for each in ours if each == each]}).remarks()
    assert told == [whole[0].replace("clients:", "clients and 5 of 6 seeds:")]
    failed = reproduced({"local": [0.5] * 6, "fedavg": [nan] * 6})
    assert "nan" not in failed.to_markdown()
    assert failed.remarks() == ["fedavg over local: with fewer than 5 seeds, nothing can be said of chance."]


def test_notes_of_the_whole_experiment_are_said_to_be_of_it() -> None:
    """A quick look, or one of some methods, has other numbers than they tell."""
    whole = Experiment.load("cifar10")
    values = {method: [0.5] * whole.seeds for method in whole.methods}
    noted = replace(EXPERIMENT, notes=("Whatever.",), compared={})
    said = "What follows was written of the whole experiment, with 3 seeds and all methods."
    assert reproduced(values, noted).remarks() == ["Whatever."]
    few = {method: each for method, each in values.items() if method != "fedavg"}
    short = {method: each[:2] for method, each in values.items()}
    for part in (reproduced(few, noted), reproduced(short, noted), reproduced(values, replace(noted, quick=True))):
        assert part.remarks() == [said, "Whatever."]
    with_gains = reproduced(short, replace(noted, compared={"fedavg": "local"})).remarks()
    assert with_gains[1:] == [said, "Whatever."], "what was found now is not said to be of the whole experiment"
    assert with_gains[0].startswith("fedavg over local")


class Given:
    """A task of which every method has the same."""

    rows = "the same"

    def run(self, method, tell) -> Outcome:
        return Outcome({"a": 0.5})


def test_what_is_written_says_of_itself_what_it_has(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Also where some of it came of an earlier call, with other methods and more seeds."""
    monkeypatch.setitem(reproducing.TASKS, "cifar10", lambda experiment, directory, seed: Given())
    whole = Experiment.load("cifar10")
    reproduce(whole.with_choices(("local", "fedavg"), 2), None, tmp_path / "out")
    reproduce(whole.with_choices(("ce",), 1), None, tmp_path / "out")
    told = json.loads((tmp_path / "out" / "table.json").read_text())
    assert told["experiment"]["methods"] == ["local", "fedavg", "ce"]
    assert told["experiment"]["seeds"] == 2
    assert told["torch"]
    again = Reproduced.from_json((tmp_path / "out" / "table.json").read_text())
    assert again.to_markdown() == (tmp_path / "out" / "table.md").read_text()
