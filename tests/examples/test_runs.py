"""Every example runs, and says what it should."""

import os
import re
import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

import comity
from support.simulation import simulation_environment

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(example: str, out: Path, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        [sys.executable, EXAMPLES / example, out],
        cwd=out.parent,
        env=environment or os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("example", "together"),
    [("table.py", {"St. Brigid's", "Eastfield", "Larkhill", "Oakbridge"}), ("images.py", {"A", "B"})],
)
def test_examples_that_solve(example: str, together: set[str], tmp_path: Path) -> None:
    printed = run(example, tmp_path / "out")
    assert "all together" in printed
    assert (tmp_path / "out" / "report.html").exists()
    found = comity.verify(tmp_path / "out")
    assert found.certificate.proved
    assert any(together <= coalition for coalition in found.coalitions)


def test_the_graph(tmp_path: Path) -> None:
    printed = run("graph.py", tmp_path / "out")
    assert "peel 1: Alpha, Beta, Gamma" in printed
    assert "Delta wanted Gamma" in printed
    assert "proved: nobody gains by leaving" in printed
    assert "refuted: {Alpha, Beta} would all gain" in printed
    assert (tmp_path / "out" / "equilibrium.svg").exists()


def test_the_federation(tmp_path: Path) -> None:
    with simulation_environment(tmp_path / "flower") as environment:
        printed = run("federation/simulate.py", tmp_path / "out", environment)
    assert '"question": "moments"' in printed
    found = comity.Result.load(tmp_path / "out" / "result")
    assert set(found.coalitions) == {frozenset({"north", "south"}), frozenset({"coast"})}
    sites = {name: str(tmp_path / "out" / "sites" / name / "rows.csv") for name in found.clients}
    here = comity.solve(sites, target="stay")
    assert found.coalitions == here.coalitions
    for kind in found.models:
        np.testing.assert_allclose(found.weights[kind], here.weights[kind], atol=1e-6)
        np.testing.assert_allclose(found.models[kind], here.models[kind], atol=1e-6)
    assert found.traffic["rounds"] == 4  # the last asks what clients have disclosed
    assert (tmp_path / "out" / "result" / "report.html").exists()


def test_the_tour_was_executed_and_runs(tmp_path: Path) -> None:
    """What it shows is what comes out now, but for digits, which another machine may round otherwise."""
    shown = nbformat.read(EXAMPLES / "tour.ipynb", as_version=4)
    now = deepcopy(shown)
    NotebookClient(now, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert texts_in(shown) == texts_in(now)
    assert any("City" in text for text in texts_in(shown))
    assert any("was changed" in text for text in texts_in(shown))


def texts_in(notebook: nbformat.NotebookNode) -> list[str]:
    """Return what the cells of a notebook printed and showed as text, without digits."""
    outputs = [each for cell in notebook.cells if cell.cell_type == "code" for each in cell.outputs]
    printed = [each.get("text") or each.get("data", {}).get("text/plain", "") for each in outputs]
    return [re.sub(r"[\d.]+", "#", each) for each in printed if "object" not in each]
