"""Faults between a coordinator and its sites reveal nothing, and lead to no stale or understated result."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from flwr.app import Message
from flwr.common.secure_aggregation.secaggplus_constants import RECORD_KEY_CONFIGS, Key, Stage

import comity.flower.client_app as at_client
import comity.flower.coordinator as at_coordinator
from comity.client.audit import read_log
from comity.client.sites import Site
from comity.errors import InputError, OutputError
from comity.families.network.hypernetworks import Hypernetwork
from comity.flower.client_app import Remembering
from comity.flower.coordinator import Job, coordinate
from comity.flower.preflight import check
from comity.flower.transport.messages import ASK, TAKE, from_content, texts_in, to_content
from comity.questions import AskPrivacy, LocalSteps, LocalStepsAnswer, Moments, Recipe, Split, pack, unpack
from comity.questions.schema import NumberColumn, Schema, Target
from support.flower_sites import config_of, grid_of, write_sites, write_study
from support.grids import failing, garbled, silent


def quiet(message: str) -> None:
    pass


@pytest.fixture
def sites(tmp_path):
    return write_sites(tmp_path / "sites")


def stage_of(message: Message) -> str:
    record = message.content.config_records.get(RECORD_KEY_CONFIGS)
    return "" if record is None else str(record.get(Key.STAGE))


def test_a_sum_without_all_clients_is_not_unmasked(tmp_path):
    """Else the sum of all, asked for again, minus that of the others is the term of the one that was missing."""
    sites = write_sites(tmp_path / "sites", rows=130)
    study = write_study(tmp_path, 'model = "mlp"\nwidth = 6\nsteps = 20\nlocal_steps = 20\n')
    grid = grid_of(sites)
    lost = []

    def once(message: Message) -> bool:
        if stage_of(message) == Stage.COLLECT_MASKED_VECTORS and not lost:
            lost.append(message)
            return True
        return False

    grid.faults[14] = failing("node unavailable", when=once)
    coordinate(grid, Job.read(config_of(tmp_path, study, sites, secure=True, grace=5.0, timeout=3.0)), quiet)
    stages = [stage for stage in map(stage_of, grid.sent) if stage]
    assert lost
    first = stages.index(Stage.UNMASK)
    assert stages[:first].count(Stage.SETUP) == 2 * len(sites), "the first sum ended without, and was begun again"


def test_an_error_reveals_no_value_of_a_row(sites):
    rows = sites["a"].with_name("rows.csv")
    lines = rows.read_text().splitlines()
    rows.write_text("\n".join([f"{lines[0]},name", *(f"{line},Smith {place}" for place, line in enumerate(lines[1:]))]))
    schema = Schema((NumberColumn("name", 0.0, 1.0, False),), Target("outcome", "regression", mean=0.0, scale=1.0))
    question = pack(Moments(schema, Split(), np.empty((0, 2))))
    grid = grid_of(sites)
    grid.push_messages([Message(to_content(question, client="a", job="job"), 11, ASK, ttl=60.0, group_id="x")])
    (reply,) = grid.pull_messages(["1"])
    texts = texts_in(reply.content)
    assert "its rows or its settings do not fit (InputError)" in texts["refused"]
    assert "Smith" not in str(dict(texts))
    assert "Smith 0" in read_log(sites["a"].with_name("audit.jsonl"))[-1].refused


def test_an_unexpected_error_reveals_nothing(sites, monkeypatch):
    def broken(self):
        raise KeyError("Smith")

    monkeypatch.setattr(Site, "member", broken)
    grid = grid_of(sites)
    question = pack(AskPrivacy())
    grid.push_messages([Message(to_content(question, client="a", job="job"), 11, ASK, ttl=60.0, group_id="x")])
    (reply,) = grid.pull_messages(["1"])
    assert not reply.has_error()
    assert texts_in(reply.content)["failed"].startswith("client 'a' cannot answer")
    assert "Smith" not in str(dict(texts_in(reply.content)))


def test_no_fold_is_of_a_single_row(sites):
    member = Site.read(sites["a"]).member()
    schema = Schema((NumberColumn("age", 0.0, 1.0, False),), Target("outcome", "regression", mean=0.0, scale=1.0))
    alone = Moments(schema, Split(folds=60, repeats=1, judges=2), np.empty((0, 2)))
    with pytest.raises(Exception, match="answers only about folds of 2 or more rows"):
        member.answer(alone)


def test_the_privacy_stated_is_that_spent_by_now(tmp_path):
    sites = write_sites(tmp_path / "sites", rows=200)
    for path in sites.values():
        path.write_text(path.read_text() + "[privacy]\nclip = 8.0\nnoise = 1.0\n")
    study = write_study(tmp_path)
    grid = grid_of(sites)
    grid.faults[14] = silent(lambda message: texts_in(message.content).get("kind") == "AskPrivacy")
    found = coordinate(grid, Job.read(config_of(tmp_path, study, sites, timeout=0.5)), quiet)
    assert "d" not in found.clients
    for name in found.clients:
        now = Site.read(sites[name]).member().answer(AskPrivacy()).statement
        assert found.privacy[name]["epsilon"] == now.epsilon


def test_a_check_is_never_answered_from_the_journal(sites, tmp_path):
    job = Job.read(config_of(tmp_path, write_study(tmp_path), sites, mode="check"))

    def checked() -> str:
        messages: list[str] = []
        try:
            check(grid_of(sites), job.roster, job.study, job.patience, messages.append)
        except InputError as error:
            return str(error)
        return messages[-1]

    rows = sites["b"].with_name("rows.csv")
    good = rows.read_text()
    rows.write_text(good.replace("dose", "does", 1))
    assert "are missing: 'dose' at client 'b', 'does' at client 'a'" in checked()
    rows.write_text(good)
    assert checked() == "all checks passed"
    sites["a"].write_text('name = "a"\nrows = "rows.csv"\n[policy]\nleast_rows = 1000\n')
    assert checked() == "all checks passed"  # it takes part, and brings nothing
    assert len(read_log(sites["a"].with_name("audit.jsonl"))) == 4


@pytest.mark.parametrize("nonsense", ["not json", "[]", "7", '{"columns": "nonsense"}', '{"columns": "[7]"}'])
def test_an_answer_that_makes_no_sense_is_asked_again(nonsense, sites, tmp_path):
    times: list[int] = []

    def garble(message: Message) -> Message:
        texts = message.content.config_records["texts"]
        if texts.get("kind") == "Description" and not times:
            times.append(1)
            plain = json.loads(texts["plain"])
            try:
                changes = json.loads(nonsense)
                texts["plain"] = json.dumps(plain | changes) if isinstance(changes, dict) else nonsense
            except ValueError:
                texts["plain"] = nonsense
        return message

    grid = grid_of(sites)
    grid.faults[14] = garbled(garble)
    messages: list[str] = []
    found = coordinate(grid, Job.read(config_of(tmp_path, write_study(tmp_path), sites)), messages.append)
    assert times
    assert found.clients == tuple(sites)
    assert any(line.startswith("client 'd':") for line in messages)


def test_a_job_that_was_interrupted_before_the_delivery_delivers(sites, tmp_path, monkeypatch):
    job = Job.read(config_of(tmp_path, write_study(tmp_path), sites))
    publish = at_coordinator._publish

    def cut(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(at_coordinator, "_publish", cut)
    with pytest.raises(KeyboardInterrupt):
        coordinate(grid_of(sites), job, quiet)
    monkeypatch.setattr(at_coordinator, "_publish", publish)
    (job.out / "report.html").unlink()  # as if it had been cut off before it was written
    grid = grid_of(sites)
    coordinate(grid, job, quiet)
    assert (job.out / "report.html").exists()
    assert not any(message.metadata.message_type == ASK for message in grid.sent)
    assert all(list((path.parent / "received").iterdir()) for path in sites.values())
    with pytest.raises(OutputError, match="there is already a result"):
        coordinate(grid_of(sites), job, quiet)


def test_a_part_that_a_site_could_not_save_is_sent_again(sites, tmp_path):
    job = Job.read(config_of(tmp_path, write_study(tmp_path), sites))
    received = sites["b"].with_name("received")
    received.write_text("a file where a directory should be")
    messages: list[str] = []
    coordinate(grid_of(sites), job, messages.append)
    assert any(line.startswith("client 'b' has not received its models and page: ") for line in messages)
    assert messages[-1] == "run it again to send what is missing; no client is asked anything again"
    received.unlink()
    grid = grid_of(sites)
    coordinate(grid, job, messages.append)
    assert messages[-1] == "every client has received its models and page"
    assert not any(message.metadata.message_type == ASK for message in grid.sent)
    assert list(received.iterdir())
    assert not list(tmp_path.glob(".*.job"))


def test_a_part_of_a_silent_client_is_sent_again(sites, tmp_path):
    job = Job.read(config_of(tmp_path, write_study(tmp_path), sites, timeout=0.5, grace=1.0))
    grid = grid_of(sites)
    grid.faults[14] = silent(lambda message: message.metadata.message_type == TAKE)
    messages: list[str] = []
    found = coordinate(grid, job, messages.append)
    assert found.clients == tuple(sites)
    assert any(line.startswith("client 'd' has not received its models and page: ") for line in messages)
    coordinate(grid_of(sites), job, messages.append)
    assert messages[-1] == "every client has received its models and page"


def test_two_runs_do_not_work_on_one_job(sites, tmp_path):
    job = Job.read(config_of(tmp_path, write_study(tmp_path), sites))
    with at_coordinator._locked(tmp_path / ".out.job"), pytest.raises(OutputError, match="another run is working on"):
        coordinate(grid_of(sites), job, quiet)


def test_a_site_refuses_the_part_of_another(sites, tmp_path):
    first, grid = grid_of(sites), grid_of(sites)
    coordinate(first, Job.read(config_of(tmp_path, write_study(tmp_path), sites)), quiet)
    meant_for_a = next(message for message in first.sent if message.metadata.message_type.endswith("take"))
    grid.push_messages([Message(meant_for_a.content, 12, meant_for_a.metadata.message_type, ttl=60.0, group_id="x")])
    (reply,) = grid.pull_messages(["1"])
    assert texts_in(reply.content)["refused"] == "the result of client 'a' was sent to 'b'"


def personal_steps(step: int) -> LocalSteps:
    """Return steps of a network whose last layer stays with its client."""
    schema = Schema(
        tuple(NumberColumn(name, 0.0, 1.0, False) for name in ("age", "dose", "weight")),
        Target("outcome", "regression", mean=0.0, scale=1.0),
    )
    recipe = Recipe(schema=schema, width=2, depth=1, loss="squared", personal="^2")
    shared = 3 * 2 + 2  # the parameters of the layer that is not personal
    network = Hypernetwork(2, shared, width=2, depth=1)
    begin = np.full((1, network.parameters), 0.1, np.float32)
    rays = np.full((2, 1, 2), 0.5)
    return LocalSteps(recipe, network, begin, rays, own=0, step=step, rate=0.1)


def answered(site: Site, step: int) -> LocalStepsAnswer:
    """Return what a site answers to such steps."""
    return unpack(Remembering(site).reply(pack(personal_steps(step))))


def test_personal_parameters_move_once_for_a_repeated_question(sites):
    """The answer to a sum may be lost on its way, and the sum is asked for again."""
    site = Site.read(sites["a"])

    def memory() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in site.state.glob("*.safetensors")}

    first = answered(site, 0)
    once = memory()
    again = answered(site, 0)
    assert memory() == once
    np.testing.assert_array_equal(again.change, first.change)
    answered(site, 2)
    assert memory() != once, "another question moves it further"


def test_a_question_that_comes_twice_in_a_job_is_answered_once(tmp_path):
    """Its noise would be spent again, and two draws of it reveal more than one."""
    sites = write_sites(tmp_path / "sites", rows=200)
    path = sites["a"]
    path.write_text(path.read_text() + "[privacy]\nclip = 8.0\nnoise = 1.0\n")
    schema = Schema((NumberColumn("age", 0.0, 1.0, False),), Target("outcome", "regression", mean=0.0, scale=1.0))
    question = pack(Moments(schema, Split(folds=2, repeats=1, judges=2), np.empty((0, 2))))
    grid = grid_of(sites)

    def asked(job: str) -> bytes:
        (number,) = grid.push_messages([Message(to_content(question, client="a", job=job), 11, ASK, ttl=60.0)])
        (reply,) = grid.pull_messages([number])
        return from_content(reply.content).arrays["gram"].tobytes()

    def logged() -> int:
        return len(read_log(path.with_name("audit.jsonl")))

    first = asked("one")
    assert (asked("one"), logged()) == (first, 1)
    second = asked("two")
    assert (second != first, logged()) == (True, 2)
    rows = path.with_name("rows.csv")
    rows.write_text("\n".join(rows.read_text().splitlines()[:-1]) + "\n")
    assert (asked("two") != second, logged()) == (True, 3)


def test_finished_secure_sums_are_not_asked_for_again(tmp_path):
    sites = write_sites(tmp_path / "sites", rows=130)
    study = write_study(tmp_path, 'model = "mlp"\nwidth = 6\nsteps = 60\nlocal_steps = 20\n')
    job = Job.read(config_of(tmp_path, study, sites, secure=True))
    whole = grid_of(sites)
    expected = coordinate(whole, replace(job, out=tmp_path / "whole"), quiet)
    sums = sum(stage_of(message) == Stage.UNMASK for message in whole.sent)

    class CutOff(BaseException):
        pass

    seen: list[Message] = []

    def cut(message: Message) -> bool:
        if stage_of(message) == Stage.UNMASK:
            seen.append(message)
        if len(seen) == 2:
            raise CutOff
        return False

    grid = grid_of(sites)
    grid.faults[11] = silent(cut)
    with pytest.raises(CutOff):
        coordinate(grid, job, quiet)
    again = grid_of(sites)
    found = coordinate(again, job, quiet)
    assert sum(stage_of(message) == Stage.UNMASK for message in again.sent) == sums - len(sites), "one sum was had"
    for kind, models in expected.models.items():
        np.testing.assert_allclose(found.models[kind], models, atol=1e-6)


def test_personal_parameters_are_recalled_in_a_new_process(sites, monkeypatch):
    site = Site.read(sites["a"])
    first = answered(site, 0)
    second = answered(site, 2)
    for path in site.state.iterdir():
        if path.is_file():
            path.unlink()
    monkeypatch.setattr(at_client, "_members", {})
    np.testing.assert_array_equal(answered(site, 0).change, first.change)
    monkeypatch.setattr(at_client, "_members", {})
    np.testing.assert_array_equal(answered(site, 2).change, second.change)
