"""What was decided in an experiment, as pages."""

import re
from pathlib import Path

import pytest

from comity.research.experiments.experiment import Experiment
from comity.research.experiments.reports import write_reports
from comity.research.experiments.reproduction import Reproduction

RESULTS = Path(__file__).parents[4] / "docs" / "results"


@pytest.mark.parametrize("name", ["synthetic", "adult", "eicu"])
def test_every_decision_has_a_page(name: str, tmp_path: Path) -> None:
    found = Reproduction.from_json((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    pages = write_reports(found.cells, tmp_path, found.experiment)
    deciding = [cell for cell in found.cells if any(key.endswith("equilibrium") for key in cell.details)]
    assert bool(pages) == bool(deciding)
    for path in pages:
        text = path.read_text(encoding="utf-8")
        assert found.experiment.title.split(":")[0] in text
        assert "in the coalition" in text
        assert f"comity reproduce {name}" in text


def test_what_a_client_has_alone_is_its_own_model_and_not_a_baseline(tmp_path: Path) -> None:
    found = Reproduction.from_json((RESULTS / "adult.json").read_text(encoding="utf-8"))
    cell = next(each for each in found.cells if each.method == "ce" and each.seed == 0)
    assert cell.alone["PhD"] == cell.values["PhD"], "it stays alone"
    write_reports([cell, *(each for each in found.cells if each.method == "local")], tmp_path, found.experiment)
    text = (tmp_path / "reports" / "ce-0.html").read_text(encoding="utf-8")
    shown = re.findall(r"(alone|in the coalition|at best)</th><td>([\d.]+)", text.partition('id="client-1"')[2])
    assert shown == [(label, f"{cell.values['PhD']:.4g}") for label in ("alone", "in the coalition")]


def test_who_is_worse_off_in_a_coalition_is_not_told_to_join(tmp_path: Path) -> None:
    """The paper's procedure binds clients whose models are far better alone."""
    found = Reproduction.from_json((RESULTS / "synthetic.json").read_text(encoding="utf-8"))
    cell = next(each for each in found.cells if each.method == "paper" and each.seed == 1)
    write_reports([cell], tmp_path, found.experiment)
    text = (tmp_path / "reports" / "left-paper-1.html").read_text(encoding="utf-8")
    alone, together = (values["left 0"] for values in (cell.alone, cell.values))
    assert "Doubtful: by this method it should train with 1 and 2" in text
    assert f"from {alone:.4g} alone to {together:.4g} in the coalition: worse." in text
    assert f"+{together - alone:.4g}" in text
    assert "Yes: train" not in text


def test_values_are_called_what_they_are(tmp_path: Path) -> None:
    experiment = Experiment.load("synthetic")
    found = Reproduction.from_json((RESULTS / "synthetic.json").read_text(encoding="utf-8"))
    pages = write_reports(found.cells, tmp_path, experiment)
    assert all(
        "mean squared error on test rows" in path.read_text(encoding="utf-8").replace("Mean", "mean") for path in pages
    )
