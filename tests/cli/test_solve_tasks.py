"""Counts and survival on the installed command: results, and one message for every kind of bad input."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from support.small_tables import counts, numbers, survival

Run = Callable[..., subprocess.CompletedProcess[str]]
Frame = pd.DataFrame
ON_COUNTS = ("--client", "site", "--target", "falls", "--task", "counts", "--exposure", "days")
ON_SURVIVAL = ("--client", "site", "--task", "survival", "--time", "days", "--event", "died")


def check_refusal(done: subprocess.CompletedProcess[str], *messages: str) -> None:
    assert done.returncode == 2, done
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if line and not line.startswith(("Usage:", "Try "))]
    assert len(lines) == 1, "one message"
    assert lines[0].startswith("Error: ")
    for message in messages:
        assert message in lines[0]


def put(name: str, value: object, at: int = 30) -> Callable[[Frame], Frame]:
    def change(frame: Frame) -> Frame:
        changed = frame.astype({name: object})
        changed.loc[at, name] = value
        return changed

    return change


def same(frame: Frame) -> Frame:
    return frame


# what is wrong with the table, options, what the message says
COUNTS: dict[str, tuple[Callable[[Frame], Frame], tuple[str, ...], tuple[str, ...]]] = {
    "not whole": (put("falls", 2.5), (), ("target 'falls'", "at client 'South'", "whole numbers, 0 or more")),
    "negative": (put("falls", -1), (), ("target 'falls'", "at client 'South'", "whole numbers, 0 or more")),
    "text": (lambda f: f.assign(falls="many"), (), ("target 'falls' is text at client 'North'", "whole numbers")),
    "missing": (put("falls", None), (), ("target 'falls' is missing in 1 row of client 'South'",)),
    "never": (lambda f: f.assign(falls=0), (), ("target 'falls' is 0 in every row; there is nothing to predict",)),
    "no exposure": (put("days", 0), (), ("exposure 'days'", "at client 'South'", "numbers of more than 0")),
    "negative exposure": (put("days", -3), (), ("exposure 'days'", "numbers of more than 0")),
    "missing exposure": (put("days", None), (), ("exposure 'days' is missing in 1 row of client 'South'",)),
    "infinite exposure": (put("days", np.inf), (), ("exposure 'days' has an infinite value at client 'South'",)),
    "text for exposure": (same, ("--exposure", "sex"), ("exposure 'sex' is text", "numbers of more than 0")),
    "no such exposure": (same, ("--exposure", "day"), ("no column 'day'", "did you mean 'days'?")),
    "exposure is target": (same, ("--exposure", "falls"), ("column 'falls' has another use; change --exposure",)),
    "exposure excluded": (same, ("--exclude", "days"), ("column 'days' is needed; take it out of --exclude",)),
    "other metric": (same, ("--metric", "rmse"), ("'rmse' is not for the task 'counts', which has deviance",)),
    "other search": (same, ("--search", "spo"), ("search 'spo' does not know the task 'counts'", "--search borrow")),
    "every set": (same, ("--search", "exhaustive"), ("search 'exhaustive' does not know the task 'counts'",)),
    "other model": (same, ("--model", "mlp"), ("model 'mlp' does not know the task 'counts'", "--model linear")),
    "a time": (same, ("--time", "days"), ("--time is for the task 'survival'; leave it out",)),
}
SURVIVAL: dict[str, tuple[Callable[[Frame], Frame], tuple[str, ...], tuple[str, ...]]] = {
    "another event": (put("died", 2), (), ("event 'died'", "at client 'South'", "0 or 1 in every row")),
    "text for event": (put("died", "gone"), (), ("event 'died' is 'gone' at client 'South'", "0 or 1 in every row")),
    "missing event": (put("died", None), (), ("event 'died' is missing in 1 row of client 'South'",)),
    "no events": (lambda f: f.assign(died=0), (), ("event 'died' happens in no row of any client",)),
    "negative time": (put("days", -1), (), ("time 'days'", "at client 'South'", "numbers of more than 0")),
    "time zero": (put("days", 0), (), ("time 'days'", "at client 'South'", "numbers of more than 0")),
    "missing time": (put("days", None), (), ("time 'days' is missing in 1 row of client 'South'",)),
    "dates": (lambda f: f.assign(days="2024-03-01"), (), ("time 'days' holds dates", "days since an event")),
    "text for time": (same, ("--time", "sex"), ("time 'sex' is text", "numbers of more than 0")),
    "no such event": (same, ("--event", "dead"), ("no column 'dead'",)),
    "no such time": (same, ("--time", "day"), ("no column 'day'", "did you mean 'days'?")),
    "one column for both": (same, ("--time", "died"), ("column 'died' has another use; change --time",)),
    "other target": (same, ("--target", "age"), ("target of the task 'survival' is the event, 'died'", "--target")),
    "an exposure": (same, ("--exposure", "age"), ("--exposure is for the task 'counts'; leave it out",)),
    "other metric": (same, ("--metric", "auc"), ("'auc' is not for the task 'survival', which has concordance",)),
    "other search": (same, ("--search", "spo"), ("search 'spo' does not know the task 'survival'",)),
}


@pytest.mark.parametrize("case", COUNTS)
def test_bad_counts(comity: Run, tmp_path: Path, case: str) -> None:
    spoil, options, messages = COUNTS[case]
    spoil(counts()).to_csv(tmp_path / "table.csv", index=False)
    check_refusal(comity("solve", "table.csv", *ON_COUNTS, *options, "--out", "run"), *messages)
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"], "nothing written"


@pytest.mark.parametrize("case", SURVIVAL)
def test_bad_survival(comity: Run, tmp_path: Path, case: str) -> None:
    spoil, options, messages = SURVIVAL[case]
    spoil(survival()).to_csv(tmp_path / "table.csv", index=False)
    check_refusal(comity("solve", "table.csv", *ON_SURVIVAL, *options, "--out", "run"), *messages)
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"], "nothing written"


def test_what_belongs_to_another_task_is_refused(comity: Run, tmp_path: Path) -> None:
    survival().to_csv(tmp_path / "table.csv", index=False)
    solve = ("solve", "table.csv", "--client", "site")
    check_refusal(comity(*solve, "--event", "died", "--time", "days"), "--time is for the task 'survival'")
    check_refusal(comity(*solve, "--event", "died"), "--event is for the task 'survival'", "--task survival")
    check_refusal(comity(*solve, "--target", "died", "--task", "survival"), "needs times and events", "--time …")
    check_refusal(comity(*solve, "--task", "survival", "--event", "died"), "say which columns they are: --time …")
    check_refusal(comity(*solve, "--target", "died", "--exposure", "days"), "--exposure is for the task 'counts'")
    numbers().to_csv(tmp_path / "numbers.csv", index=False)
    solve = ("solve", "numbers.csv", "--client", "site", "--target", "effect")
    check_refusal(comity(*solve, "--metric", "sensitivity@2"), "--metric is 'sensitivity@2'; it must be one of")
    check_refusal(
        comity("compare", "table.csv", "--client", "site", "--target", "died", "--task", "counts", "--out", "run"),
        "methods are compared for a number or classes only",
    )


def test_clients_without_events_take_part_and_are_told_once(comity: Run, tmp_path: Path) -> None:
    frame = survival(rows=60)
    frame.loc[frame["site"] == "West", "died"] = 0
    frame.to_csv(tmp_path / "table.csv", index=False)
    done = comity("solve", "table.csv", *ON_SURVIVAL)
    assert done.returncode in (0, 1), done
    warned = [line for line in done.stderr.splitlines() if "'West'" in line]
    assert "no sums came from client 'West': no events" in warned[0]
    assert not any("no events" in line for line in warned[1:])


@pytest.mark.parametrize("words", [("no", "yes"), ("False", "True")])
def test_events_may_be_words(comity: Run, tmp_path: Path, words: tuple[str, str]) -> None:
    frame = survival(rows=40)
    frame.to_csv(tmp_path / "numbers.csv", index=False)
    frame.assign(died=np.where(frame["died"] == 1, words[1], words[0])).to_csv(tmp_path / "words.csv", index=False)
    first, second = (comity("solve", f"{name}.csv", *ON_SURVIVAL) for name in ("numbers", "words"))
    assert first.returncode in (0, 1), first
    assert first.stdout == second.stdout


def test_counts_and_survival_are_predicted(comity: Run, tmp_path: Path) -> None:
    frame = survival(rows=40)
    frame.to_csv(tmp_path / "table.csv", index=False)
    assert comity("solve", "table.csv", *ON_SURVIVAL, "--out", "run").returncode in (0, 1)
    predict = ("predict", "run", "table.csv", "--out", "p.csv")
    done = comity(*predict, "--at", "20,50", "--baseline", "table.csv")
    assert done.returncode == 0, done
    found = pd.read_csv(tmp_path / "p.csv")
    assert list(found) == ["client", "prediction", "survival_20", "survival_50"]
    assert found["survival_50"].between(0, 1).all()
    check_refusal(comity(*predict, "--force", "--at", "20"), "--at needs --baseline")
    check_refusal(comity(*predict, "--force", "--at", "soon", "--baseline", "table.csv"), "--at is 'soon'")
    frame.drop(columns="died").to_csv(tmp_path / "alive.csv", index=False)
    check_refusal(comity(*predict, "--force", "--at", "20", "--baseline", "alive.csv"), "there is no column 'died'")
    counts(rows=40).to_csv(tmp_path / "counts.csv", index=False)
    assert comity("solve", "counts.csv", *ON_COUNTS, "--out", "counted").returncode in (0, 1)
    counts(rows=40).drop(columns=["days", "falls"]).to_csv(tmp_path / "bare.csv", index=False)
    check_refusal(
        comity("predict", "counted", "bare.csv", "--out", "q.csv"),
        "there is no column 'days', which the models were trained with",
    )
    assert comity("predict", "counted", "counts.csv", "--out", "q.csv").returncode == 0
    assert (pd.read_csv(tmp_path / "q.csv")["prediction"] > 0).all()
