"""Perceptrons on the command line: the whole way, killed and resumed, and what is refused."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from support.small_tables import classes, numbers

Run = Callable[..., subprocess.CompletedProcess[str]]
SOLVE = ("solve", "table.csv", "--client", "site", "--model", "mlp", "--width", "8", "--steps", "60")


@pytest.mark.parametrize(("target", "make"), [("effect", numbers), ("cured", classes)])
def test_the_whole_way(comity: Run, tmp_path: Path, target: str, make: Callable[..., pd.DataFrame]) -> None:
    make(rows=60).to_csv(tmp_path / "table.csv", index=False)
    for out in ("run", "again"):
        done = comity(*SOLVE, "--target", target, "--out", out)
        assert done.returncode == 0, done.stderr
        assert f"Written to {out}: result.json, models.safetensors, report.html" in done.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"table.csv", "run", "again"}, "no training is left behind"
    for file in ("result.json", "models.safetensors"):
        assert (tmp_path / "run" / file).read_bytes() == (tmp_path / "again" / file).read_bytes()
    assert comity("verify", "run").returncode == 0
    assert comity("show", "run").stdout == done.stdout.rpartition("\n\nWritten")[0] + "\n"
    assert comity("predict", "run", "table.csv", "--out", "predictions.csv").returncode == 0
    predicted = pd.read_csv(tmp_path / "predictions.csv")
    assert len(predicted) == 180
    if target == "cured":
        assert (predicted["p_no"] + predicted["p_yes"]).round(6).eq(1).all()


def test_a_killed_training_goes_on_as_if_nothing_had_happened(comity: Run, tmp_path: Path) -> None:
    numbers(rows=60).to_csv(tmp_path / "table.csv", index=False)
    solve = (*SOLVE, "--target", "effect")
    assert comity(*solve, "--out", "whole").returncode == 0
    command = comity("--version").args[0]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": os.environ}
    process = subprocess.Popen([command, *solve, "--out", "run"], cwd=tmp_path, **quiet)
    kept = tmp_path / "run.unfinished" / "training.safetensors"
    for _ in range(6000):
        if kept.exists():
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=60)
    assert kept.exists()
    assert not (tmp_path / "run").exists()
    refused = comity(*solve, "--out", "run")
    assert refused.returncode == 2
    assert "a training that did not end is kept here; continue it (--resume), or remove it" in refused.stderr
    other = comity(*solve, "--out", "run", "--resume", "--width", "9")
    assert other.returncode == 2
    assert "this training is of another model" in other.stderr
    done = comity(*solve, "--out", "run", "--resume")
    assert done.returncode == 0, done.stderr
    assert not kept.parent.exists()
    for file in ("result.json", "models.safetensors"):
        mine, whole = ((tmp_path / place / file).read_bytes() for place in ("run", "whole"))
        if file == "result.json":  # asking took fewer rounds after the interruption; all else is the same
            found, expected = json.loads(mine), json.loads(whole)
            for each in (found, expected):
                each.pop("traffic")
                each.pop("seal")
            assert found == expected
        else:
            assert mine == whole


def test_a_checkpoint_that_is_none(comity: Run, tmp_path: Path) -> None:
    numbers(rows=60).to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "run.unfinished").mkdir()
    (tmp_path / "run.unfinished" / "training.safetensors").write_bytes(b"nothing")
    done = comity(*SOLVE, "--target", "effect", "--out", "run", "--resume")
    assert done.returncode == 2
    assert "this is no training that was kept" in done.stderr


def test_a_rule_that_cannot_choose_is_refused_before_anything_is_trained(comity: Run, tmp_path: Path) -> None:
    table = pd.concat([numbers(rows=24).assign(site=f"s{place}") for place in range(19)])
    table.to_csv(tmp_path / "table.csv", index=False)
    done = comity(*SOLVE, "--target", "effect", "--rule", "clip", "--steps", "100000000", "--out", "run")
    assert done.returncode == 2
    assert "with 19 clients" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--resume",), "--resume needs --model mlp and --out"),
        (("--width", "0"), "width is 0; it must be a whole number, 1 or more"),
        (("--steps", "0"), "steps is 0; it must be a whole number, 1 or more"),
        (("--judges", "5"), "--judges has no effect on the model 'mlp'"),
        (("--penalty", "1"), "--penalty has no effect on the model 'mlp'"),
        (("--resamples", "5"), "--resamples has no effect on the model 'mlp'"),
        (("--model", "linear"), "--width has no effect on the model 'linear'"),
        (("--folds", "0"), "folds is 0; it must be a whole number, 1 or more"),
    ],
)
def test_options_that_make_no_sense(comity: Run, tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    numbers().to_csv(tmp_path / "table.csv", index=False)
    done = comity(*SOLVE, "--target", "effect", *options)
    assert done.returncode == 2
    assert message in done.stderr


def test_few_rows_are_warned_of_and_too_few_refused(comity: Run, tmp_path: Path) -> None:
    numbers(rows=24).to_csv(tmp_path / "table.csv", index=False)
    done = comity(*SOLVE, "--target", "effect")
    assert "client 'North' and 2 more have fewer than 20 rows to choose collaborators by" in done.stderr
    refused = comity(*SOLVE, "--target", "effect", "--folds", "30")
    assert refused.returncode == 2
    assert "client 'North' has 24 rows, too few to hold some out" in refused.stderr
