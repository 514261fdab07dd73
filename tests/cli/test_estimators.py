"""Boosted trees and forests as a user types them, and what is wrong with them."""

import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from support.stacks import crossed

Run = Callable[..., subprocess.CompletedProcess[str]]
pytest.importorskip("sklearn")


@pytest.fixture
def table(tmp_path: Path) -> str:
    crossed(rows=40).to_csv(tmp_path / "table.csv", index=False)
    return "table.csv"


def test_solve_verify_show_and_predict_with_boosted_trees(comity: Run, table: str, tmp_path: Path) -> None:
    solved = comity("solve", table, "--client", "client", "--target", "y", "--model", "boosting", "--out", "run")
    assert solved.returncode == 0, solved.stderr
    assert "but the clients' models, which may hold values of rows" in " ".join(solved.stdout.split())
    assert comity("verify", "run").stdout.startswith("Accepted")
    assert comity("show", "run").returncode == 0
    assert comity("predict", "run", table, "--out", "new.csv").returncode == 0
    assert len(pd.read_csv(tmp_path / "new.csv")) == 240
    report = comity("report", "run", "--out", "page.html")
    assert report.returncode == 0, report.stderr
    assert "gradient-boosted trees" in (tmp_path / "page.html").read_text()


def test_a_forest_of_classes(comity: Run, tmp_path: Path) -> None:
    crossed(rows=40, classes=3).to_csv(tmp_path / "table.csv", index=False)
    found = comity("solve", "table.csv", "--client", "client", "--target", "y", "--model", "forest")
    assert found.returncode == 0, found.stderr
    assert "AUC" in found.stdout


def test_a_run_whose_models_were_changed_is_refused(comity: Run, table: str, tmp_path: Path) -> None:
    comity("solve", table, "--client", "client", "--target", "y", "--model", "boosting", "--out", "run")
    with zipfile.ZipFile(tmp_path / "run" / "models.npz") as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    contents["files.npy"] = contents["files.npy"][:-1] + bytes([contents["files.npy"][-1] ^ 1])
    with zipfile.ZipFile(tmp_path / "run" / "models.npz", "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    refused = comity("verify", "run")
    assert refused.returncode == 1
    assert "these are not the models that the result was written with" in refused.stdout + refused.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model", "bosting"], "must be one of linear, mlp, boosting, forest"),
        (["--model", "estimator"], "which only comity.solve can be given"),
        (["--model", "boosting", "--search", "spo"], "--search is 'spo', which the model 'boosting' does not have"),
        (["--model", "boosting", "--penalty", "1"], "--penalty has no effect on the model 'boosting'"),
        (["--model", "forest", "--width", "3"], "--width has no effect on the model 'forest'"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(comity: Run, table: str, options: list[str], message: str) -> None:
    found = comity("solve", table, "--client", "client", "--target", "y", *options)
    assert found.returncode == 2
    assert message in " ".join(found.stderr.split())
    assert "Traceback" not in found.stderr


def test_without_scikit_learn_it_says_how_to_install_it(table: str, tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['sklearn'] = None; sys.argv = ['comity', 'solve', 'table.csv', '--client', 'client', "
        "'--target', 'y', '--model', 'boosting']; from comity.__main__ import main; sys.exit(main())"
    )
    found = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.returncode == 2
    assert "install comity's extra 'sklearn'" in found.stderr
