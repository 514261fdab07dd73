"""A site fits its personal models itself, also one from which no sum may leave; a bad part is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from flwr.app import Message, RecordDict

import comity.flower.client_app as at_client
import comity.flower.coordinator as at_coordinator
from comity.client.audit import read_log
from comity.client.sites import Site
from comity.core.arrays import Floats
from comity.core.kinds import ModelKind
from comity.flower.coordinator import Job, coordinate
from comity.flower.transport.messages import ASK, TAKE, from_content, texts_in, to_content
from comity.questions import Packed
from comity.result.client_result import ClientResult
from support.flower_sites import config_of, grid_of, write_sites, write_study
from support.grids import InMemoryGrid, silent

LIMITED = 'name = "{name}"\nrows = "rows.csv"\n[policy]\ndisclosure = 0.5\n'
MANY = ("a", "b", "c", "d")


def quiet(message: str) -> None:
    pass


def rows_of(seed: int, count: int, dose: float, *, classes: bool) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(count, 3)), columns=["age", "dose", "weight"])
    outcome = frame @ np.array([1.0, dose, 0.5]) + rng.normal(size=count)
    return frame.assign(outcome=np.where(outcome > 0, "yes", "no") if classes else outcome)


APART, ALIKE = (2.2, 1.0, 1.6, 0.2, -1.0), (1.0, 1.1, 0.9, 1.0, 1.2)  # what a dose does at each site


def write_limited(where: Path, doses: Sequence[float] = APART, *, classes: bool = False) -> dict[str, Path]:
    """Write four sites with many rows, and one, e, with so few that no sum may leave it."""
    files = {}
    for seed, (name, dose) in enumerate(zip((*MANY, "e"), doses, strict=True)):
        files[name] = where / name / "site.toml"
        files[name].parent.mkdir(parents=True)
        rows = rows_of(seed, 8 if name == "e" else 150, dose, classes=classes)
        rows.to_csv(files[name].with_name("rows.csv"), index=False)
        files[name].write_text(LIMITED.format(name=name))
    return files


def received(site: Path) -> ClientResult:
    (found,) = [each for each in (site.parent / "received").iterdir() if each.is_dir()]
    return ClientResult.load(found)


def parts_sent(grid: InMemoryGrid) -> dict[str, Message]:
    """Return the messages with which the sites got their parts."""
    sent = [message for message in grid.sent if message.metadata.message_type == TAKE]
    return {texts_in(message.content)["client"]: message for message in sent}


def loss_of(result: ClientResult, kind: ModelKind, rows: pd.DataFrame) -> float:
    """Return the mean squared error, or the log loss."""
    found = result.predict(rows, kind)
    if "p_yes" not in found:
        return float(((found["prediction"] - rows["outcome"]) ** 2).mean())
    sure = np.where(rows["outcome"] == "yes", found["p_yes"], found["p_no"])
    return float(-np.log(sure).mean())


@pytest.mark.parametrize("classes", [False, True])
def test_a_site_from_which_no_sum_may_leave_has_models_of_its_own(classes, tmp_path):
    sites = write_limited(tmp_path / "sites", classes=classes)
    grid = grid_of(sites)
    found = coordinate(grid, Job.read(config_of(tmp_path, write_study(tmp_path), sites)), quiet)
    assert any("no sums came from client 'e'" in note for note in found.warnings)
    own, place = received(sites["e"]), found.clients.index("e")
    assert own.fitted_at_site
    typical = replace(own, models={kind: models[[place]] for kind, models in found.models.items()})
    fresh = rows_of(99, 400, -1.0, classes=classes)
    for rows in (pd.read_csv(sites["e"].with_name("rows.csv")), fresh):
        assert loss_of(own, ModelKind.COALITION, rows) < 0.9 * loss_of(typical, ModelKind.COALITION, rows)
    for model in (ModelKind.ALONE, ModelKind.BEST):
        assert not np.allclose(own.models[model], typical.models[model], rtol=0.1)

    asked = [texts_in(message.content)["client"] for message in grid.sent if message.metadata.message_type == ASK]
    lines = read_log(sites["e"].with_name("audit.jsonl"))
    assert len(lines) == asked.count("e"), "a part that arrives is no question"
    disclosed = Site.read(sites["e"]).member().disclosed
    assert disclosed == sum(line.disclosed for line in lines)
    assert disclosed == pytest.approx(found.disclosure["e"]["disclosed"]), "nothing was disclosed since"
    replies = [texts_in(each.content) for each in grid.received if each.metadata.message_type == TAKE]
    assert [set(each) for each in replies] == [{"client"}] * len(sites)


def test_models_of_rows_that_were_not_altered_are_those_of_the_coordinator(tmp_path):
    """The rows of sites with many are numbers, so that none of them is rare."""
    sites = write_limited(tmp_path / "sites", ALIKE)
    found = coordinate(grid_of(sites), Job.read(config_of(tmp_path, write_study(tmp_path), sites)), quiet)
    assert frozenset(MANY) in found.coalitions
    for name in MANY:
        for kind, models in received(sites[name]).models.items():
            expected = found.models[kind][[found.clients.index(name)]]
            np.testing.assert_allclose(models, expected, rtol=1e-6, err_msg=f"{name} {kind}")


def test_no_personal_model_is_sent_where_a_prior_is(tmp_path):
    sites = write_limited(tmp_path / "sites")
    grid = grid_of(sites)
    found = coordinate(grid, Job.read(config_of(tmp_path, write_study(tmp_path), sites)), quiet)
    for client, message in parts_sent(grid).items():
        arrays = from_content(message.content).arrays
        assert set(arrays) == {"together", "precision", "noise", "pulls", "means", "weights"}
        place = found.clients.index(client)
        np.testing.assert_array_equal(arrays["together"], found.models[ModelKind.TOGETHER][[place]])
        np.testing.assert_array_equal(received(sites[client]).models[ModelKind.TOGETHER], arrays["together"])


def test_the_page_says_where_the_models_were_fitted(tmp_path):
    sites = write_sites(tmp_path / "sites")
    coordinate(grid_of(sites), Job.read(config_of(tmp_path, write_study(tmp_path), sites)), quiet)
    (page,) = (sites["a"].parent / "received").glob("*.html")
    assert "fitted at your site, on your own rows; they have not left it" in page.read_text()
    study = write_study(tmp_path, 'search = "spo"\n')
    coordinate(grid_of(sites), Job.read(config_of(tmp_path, study, sites, out=str(tmp_path / "spo"))), quiet)
    (other,) = set((sites["a"].parent / "received").glob("*.html")) - {page}
    assert "fitted at your site" not in other.read_text()


@pytest.mark.parametrize("classes", [False, True])
def test_a_job_that_was_interrupted_before_the_delivery_delivers_the_same_models(classes, tmp_path, monkeypatch):
    sites = write_limited(tmp_path / "sites", classes=classes)
    job = Job.read(config_of(tmp_path, write_study(tmp_path), sites, timeout=0.5, grace=1.0))
    grid = grid_of(sites)
    grid.faults[15] = silent(lambda message: message.metadata.message_type == TAKE)  # after the others had theirs
    coordinate(grid, job, quiet)
    assert not (sites["e"].parent / "received").exists()
    whole = {name: received(sites[name]).models for name in MANY}
    for name in MANY:
        for file in (sites[name].parent / "received").glob("*/*"):
            file.unlink()
    messages: list[str] = []
    again = grid_of(sites)
    coordinate(again, job, messages.append)
    assert messages[-1] == "every client has received its models and page"
    assert not any(message.metadata.message_type == ASK for message in again.sent)
    for name in MANY:
        for kind, models in received(sites[name]).models.items():
            np.testing.assert_array_equal(models, whole[name][kind])
    assert received(sites["e"]).fitted_at_site
    assert not list(tmp_path.glob(".*.job"))


@pytest.mark.parametrize("damage", ["removed", "cut short"])
def test_priors_that_are_lost_are_reported_by_client(damage, tmp_path, monkeypatch):
    sites = write_sites(tmp_path / "sites")
    job = Job.read(config_of(tmp_path, write_study(tmp_path), sites))

    def cut(*arguments: object) -> bool:
        raise KeyboardInterrupt

    publish = at_coordinator._publish
    monkeypatch.setattr(at_coordinator, "_publish", cut)
    with pytest.raises(KeyboardInterrupt):
        coordinate(grid_of(sites), job, quiet)
    monkeypatch.setattr(at_coordinator, "_publish", publish)
    for file in (tmp_path / ".out.job" / "priors").iterdir():
        file.unlink() if damage == "removed" else file.write_bytes(file.read_bytes()[:-100])
    messages: list[str] = []
    coordinate(grid_of(sites), job, messages.append)
    assert not any((path.parent / "received").exists() for path in sites.values())
    for name in sites:
        (line,) = [each for each in messages if each.startswith(f"client {name!r} has not received its models")]
        assert "what its models are fitted from is missing in" in line
        assert "move the result away, and run again" in line


Change = Callable[[dict[str, Floats]], object]
WRONG: dict[str, tuple[Change, str]] = {
    "no model for all": (lambda arrays: arrays.pop("together"), "together"),
    "a model for others": (lambda arrays: arrays.update(together=arrays["together"][:, 1:]), "the model for all has"),
    "a shape": (lambda arrays: arrays.update(means=arrays["means"][:, 1:]), "the means of priors have"),
    "not a number": (lambda arrays: arrays.update(means=np.nan * arrays["means"]), "not a finite number"),
    "indefinite": (lambda arrays: arrays.update(precision=-arrays["precision"]), "symmetric and positive definite"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_part_that_cannot_be_used_is_refused_and_not_saved(wrong, tmp_path, capsys):
    change, reason = WRONG[wrong]
    sites = write_limited(tmp_path / "sites")
    first = grid_of(sites)
    coordinate(first, Job.read(config_of(tmp_path, write_study(tmp_path), sites)), quiet)
    before = {path: path.read_bytes() for path in sites["e"].parent.rglob("*") if path.is_file()}
    good = from_content(parts_sent(first)["e"].content)
    arrays = dict(good.arrays)
    change(arrays)
    texts = sent_to_e(sites, to_content(replace(good, arrays=arrays), client="e", job="another"))
    assert "client 'e' cannot answer" in texts["failed"]
    assert reason in capsys.readouterr().err
    assert {path: path.read_bytes() for path in sites["e"].parent.rglob("*") if path.is_file()} == before


def test_a_part_for_which_the_rows_lack_a_column_is_refused_by_its_name(tmp_path):
    sites = write_limited(tmp_path / "sites")
    first = grid_of(sites)
    coordinate(first, Job.read(config_of(tmp_path, write_study(tmp_path), sites)), quiet)
    rows = sites["e"].with_name("rows.csv")
    rows.write_text(rows.read_text().replace("dose", "does", 1))
    part: Packed = from_content(parts_sent(first)["e"].content)
    texts = sent_to_e(sites, to_content(part, client="e", job="another"))
    assert texts["refused"] == "client 'e': there is no column 'dose', which the models need"
    assert not list((sites["e"].parent / "received").glob("another*"))


def sent_to_e(sites: dict[str, Path], content: RecordDict) -> dict[str, str]:
    """Send a part to the site e, and return what it replies."""
    at_client._members.clear()
    grid = grid_of(sites)
    (number,) = grid.push_messages([Message(content, 15, TAKE, ttl=60.0, group_id="x")])
    (reply,) = grid.pull_messages([number])
    return json.loads(json.dumps(texts_in(reply.content)))
