"""Jobs on a real deployment on this machine: SuperLink and SuperNodes as processes, with TLS and keys."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import comity
from comity.client.audit import read_log
from support.deployment import Deployment

CLIENTS = ("a", "b", "c", "d")
INPUTS = ["age", "pressure", "weight", *(f"value {place}" for place in range(1, 10))]
STUDIES = {
    "ridge": ({"target": "dose_needed", "exclude": ["died"]}, 3),
    "paper": ({"target": "dose_needed", "exclude": ["died"], "search": "spo"}, 8),
    "networks": (
        {"target": "dose_needed", "exclude": ["died"], "model": "mlp", "width": 6, "steps": 20, "local_steps": 10},
        30,
    ),
}


def write_rows(where: Path, rows: int = 130) -> dict[str, Path]:
    """Write a table for each client, of two groups, with a number and a class to predict."""
    rng = np.random.default_rng(3)
    where.mkdir()
    files = {}
    for place, name in enumerate(CLIENTS):
        inputs = rng.normal(size=(rows, len(INPUTS)))
        effects = np.array([1.0, 2.0 if place < 2 else -2.0, 0.5, *np.ones(len(INPUTS) - 3)])
        needed = inputs @ effects + 2 * rng.normal(size=rows)
        frame = pd.DataFrame(inputs, columns=INPUTS).assign(dose_needed=needed)
        frame["died"] = np.where(needed + 0.5 * rng.normal(size=rows) > 0, "yes", "no")
        files[name] = where / f"{name}.csv"
        frame.to_csv(files[name], index=False)
    return files


def study_text(settings: dict[str, object]) -> str:
    """Return settings as TOML."""
    return "".join(f"{name} = {value!r}\n".replace("'", '"') for name, value in settings.items())


def write_study(trial: Deployment, settings: dict[str, object]) -> None:
    (trial.coordinator / "study.toml").write_text(study_text(settings))


def shorten_waits(trial: Deployment, timeout: int = 60, grace: int = 40) -> None:
    """Let the coordinator wait no longer than this, in seconds."""
    app = trial.coordinator / "app" / "pyproject.toml"
    text = re.sub(r"timeout = \d+", f"timeout = {timeout}", app.read_text())
    app.write_text(re.sub(r"grace = \d+", f"grace = {grace}", text))


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    return write_rows(tmp_path_factory.mktemp("federation") / "rows")


def same_as_here(found: comity.Result, rows: dict[str, Path], settings: dict[str, object]) -> None:
    here = comity.solve({name: str(path) for name, path in rows.items()}, **settings)
    assert set(found.coalitions) == set(here.coalitions) == {frozenset("ab"), frozenset("cd")}
    for kind in found.models:
        np.testing.assert_allclose(found.weights[kind], here.weights[kind], atol=1e-6)
        np.testing.assert_allclose(found.models[kind], here.models[kind], atol=1e-6)
    assert found.traffic["rounds"] == here.traffic["rounds"]


def test_jobs_give_the_result_of_one_process_whatever_happens(rows, tmp_path):
    """One deployment serves all jobs: starting one takes as long as some runs."""
    with Deployment(tmp_path / "trial", CLIENTS) as trial:
        for client, path in rows.items():
            trial.put_rows(client, path)
        trial.start()
        jobs_give_the_result_of_one_process(trial, rows, tmp_path)
        shorten_waits(trial)
        a_job_survives_what_happens_to_sites_and_to_the_coordinator(trial, rows, tmp_path)


def jobs_give_the_result_of_one_process(trial: Deployment, rows: dict[str, Path], tmp_path: Path) -> None:
    # Networks, which keep state between messages; linear models follow below, with faults.
    settings, max_rounds = STUDIES["networks"]
    write_study(trial, settings)
    run = trial.start_run(COMITY_OUT=str(tmp_path / "networks"))
    trial.wait_for("training the front")  # a site is killed while it trains, and comes back: nothing is lost
    trial.kill("d")
    trial.start_site("d")
    assert run.wait(900) == 0, trial.all_logs()
    found = comity.Result.load(tmp_path / "networks")
    same_as_here(found, rows, settings)
    assert found.traffic["rounds"] <= max_rounds

    # A check that fails exits with 1, where Flower's own command exits with 0, and prints a sentence, not a traceback.
    write_study(trial, {"target": "does_needed"})
    done = trial.run("check", timeout=300)
    assert done.returncode == 1
    assert "there is no column 'does_needed'" in done.stdout
    assert "Traceback" not in done.stdout


LIARS = {
    "c": "    return replace(answer, gram=answer.gram * np.nan)",
    "d": "    return replace(answer, gram=answer.gram[:, :1])",
}
LIAR = """
from dataclasses import replace
import numpy as np
import pandas as pd
import comity.client as honest
from comity.questions import Moments, pack, unpack


def spoiled(answer):
{spoil}


class Client(honest.Client):
    def reply_to(self, question, digest):
        reply = super().reply_to(question, digest)
        return pack(spoiled(unpack(reply))) if isinstance(question, Moments) else reply


def client(site):
    return Client(site.name, pd.read_csv(site.file.parent / "rows.csv"), site.policy, log_file=site.log)
"""


def a_job_survives_what_happens_to_sites_and_to_the_coordinator(
    trial: Deployment, rows: dict[str, Path], tmp_path: Path
) -> None:
    """One fault after the other: each run ends correctly and in time."""
    settings, max_rounds = STUDIES["paper"]  # whose search takes a while
    write_study(trial, settings)
    honest = {name: (trial.site(name) / "site.toml").read_text() for name in CLIENTS}

    # The coordinator is killed after a round, and continues with the next one.
    before = {name: len(read_log(trial.site(name) / "audit.jsonl")) for name in CLIENTS}
    trial.start_run(COMITY_OUT=str(tmp_path / "resumed"))
    trial.wait_for("deciding without held-out rows")
    trial.kill("run")
    trial.kill("superlink")
    trial.start_superlink()
    for name in CLIENTS:  # they reconnect
        assert trial.is_running(name), trial.all_logs()
    assert trial.run(timeout=400, COMITY_OUT=str(tmp_path / "resumed")).returncode == 0, trial.all_logs()
    found = comity.Result.load(tmp_path / "resumed")
    same_as_here(found, rows, settings)
    assert found.traffic["rounds"] <= max_rounds
    for name in CLIENTS:
        asked = [line.question for line in read_log(trial.site(name) / "audit.jsonl")[before[name] :]]
        assert asked == ["describe", "moments", "evaluate"]

    # Two sites send invalid answers: that is reported, and the others continue.
    settings = STUDIES["ridge"][0]
    write_study(trial, settings)
    shorten_waits(trial, grace=20)  # half of which passes between attempts
    for name, spoil in LIARS.items():
        (trial.site(name) / "liar.py").write_text(LIAR.format(spoil=spoil))
        lying = honest[name].replace('rows = "rows.csv"', 'factory = "liar:client"')
        (trial.site(name) / "site.toml").write_text(lying)
    done = trial.run(timeout=400, COMITY_OUT=str(tmp_path / "liars"))
    assert done.returncode == 0, trial.all_logs()
    found = comity.Result.load(tmp_path / "liars")
    assert found.clients == ("a", "b")
    for name in LIARS:
        assert any(f"client '{name}' left (its answer to 'moments' has" in note for note in found.warnings)
        (trial.site(name) / "site.toml").write_text(honest[name])

    # A site gives the name of another, and one is killed for good: the result is without them.
    shorten_waits(trial, timeout=25, grace=20)  # all of which passes here
    (trial.site("d") / "site.toml").write_text(honest["d"].replace('name = "d"', 'name = "a"'))
    run = trial.start_run(COMITY_OUT=str(tmp_path / "gone"))
    trial.wait_for("asking for moments")
    trial.kill("c")
    assert run.wait(400) == 0, trial.all_logs()
    assert "it gives the name 'a', but does not have the key of 'a'" in trial.log("run")
    found = comity.Result.load(tmp_path / "gone")
    assert found.clients == ("a", "b")
    assert any("client 'c' left" in note for note in found.warnings)
    assert any("client 'd' was not connected" in note for note in found.warnings)
    here = comity.solve({name: str(rows[name]) for name in ("a", "b")}, **settings)
    np.testing.assert_allclose(found.models["best"], here.models["best"], atol=1e-6)
