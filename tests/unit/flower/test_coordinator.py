"""A job over a grid in memory gives the result of one process, in few rounds, whatever happens to a site."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from flwr.app import Message

import comity
from comity.errors import InputError, RefusedError
from comity.flower.coordinator import Job, coordinate
from comity.flower.transport.messages import from_content, texts_in, to_content
from comity.result.client_result import ClientResult
from comity.result.verification import verify
from support.flower_sites import config_of, grid_of, write_sites, write_study
from support.grids import after, failing, garbled, silent

STUDIES = {
    "ridge": ({}, False, 3),
    "logistic": ({}, True, 12),
    "boosted trees": ({"model": "boosting"}, False, 5),
    "boosted trees of classes": ({"model": "boosting"}, True, 12),
    "networks": ({"model": "mlp", "width": 6, "steps": 40, "local_steps": 10}, False, 30),
}


def in_process(sites, settings):
    return comity.solve({name: str(path.parent / "rows.csv") for name, path in sites.items()}, **settings)


@pytest.mark.parametrize("kind", STUDIES)
def test_a_job_gives_what_it_gives_in_process(kind, tmp_path):
    settings, classes, most = STUDIES[kind]
    sites = write_sites(tmp_path / "sites", classes=classes, rows=130 if kind == "networks" else 60)
    text = "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())
    found = coordinate(grid_of(sites), Job.read(config_of(tmp_path, write_study(tmp_path, text), sites)))
    here = in_process(sites, {"target": "outcome", **settings})
    assert set(found.coalitions) == set(here.coalitions)
    for model in found.models:
        np.testing.assert_allclose(found.weights[model], here.weights[model], atol=1e-6)
        np.testing.assert_allclose(found.models[model], here.models[model], atol=1e-6)
    assert found.traffic == here.traffic
    assert found.traffic["rounds"] <= most
    assert verify(tmp_path / "out").coalitions == found.coalitions
    for name, path in sites.items():
        (received,) = [each for each in (path.parent / "received").iterdir() if each.is_dir()]
        own = ClientResult.load(received)
        assert own.client == name
        assert set(own.coalition) == found.equilibrium.coalition_of(name)
        fitted_there = kind in ("ridge", "logistic")
        assert own.fitted_at_site == fitted_there
        for model in found.models:
            mine = found.models[model][found.clients.index(name)]
            np.testing.assert_allclose(own.models[model][0], mine, rtol=1e-9 if fitted_there else 0)


def test_a_job_with_secure_sums_is_the_same_but_for_rounding(tmp_path):
    settings = STUDIES["networks"][0]
    sites = write_sites(tmp_path / "sites", rows=130)
    text = "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())
    config = config_of(tmp_path, write_study(tmp_path, text), sites)
    plain, secure = grid_of(sites), grid_of(sites)
    first = coordinate(plain, Job.read(config), print)
    found = coordinate(secure, Job.read(config | {"out": str(tmp_path / "secure"), "secure": True}), print)
    assert set(found.coalitions) == set(first.coalitions)
    for kind in found.models:
        np.testing.assert_allclose(found.models[kind], first.models[kind], atol=1e-4)

    def local_steps(grid) -> int:
        contents = [dict(message.content.config_records.get("texts", {})) for message in grid.received]
        return sum(texts.get("kind") == "LocalStepsAnswer" for texts in contents)

    assert local_steps(plain) == 4 * 4
    assert local_steps(secure) == 0  # each is under a mask
    assert sum(message.metadata.message_type == "train" for message in secure.received) == 4 * 4 * 4


@pytest.fixture
def sites(tmp_path):
    return write_sites(tmp_path / "sites")


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """What the same rows give in one process: those of all, and of all but d."""
    sites = write_sites(tmp_path_factory.mktemp("expected") / "sites")
    three = {name: path for name, path in sites.items() if name != "d"}
    return {len(each): in_process(each, {"target": "outcome"}) for each in (sites, three)}


@pytest.fixture
def job(tmp_path, sites):
    return Job.read(config_of(tmp_path, write_study(tmp_path), sites, timeout=0.3))


def answering(change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Message], Message]:
    """Return what changes all arrays of an answer."""

    def garble(message: Message) -> Message:
        texts = texts_in(message.content)
        if "question" in texts:
            answer = from_content(message.content)
            changed = replace(answer, arrays={name: change(each) for name, each in answer.arrays.items()})
            message.content = to_content(changed, client=texts["client"], question=texts["question"])
        return message

    return garble


def cut_short(message: Message) -> Message:
    texts = message.content.config_records["texts"]
    if texts.get("values"):
        texts["values"] = texts["values"][:-1]
    return message


def forged(message: Message) -> Message:
    texts = message.content.config_records["texts"]
    if "question" in texts:
        texts["client"] = "b"
    return message


def another(message: Message) -> Message:
    texts = message.content.config_records["texts"]
    if "question" in texts:
        texts["question"] = "0" * 64
    return message


def empty(message: Message) -> Message:
    message.content.clear()
    return message


FAULTS = {
    "silent": (silent(after(2)), "no answer"),
    "failing": (failing(when=after(2)), "it broke"),
    "nan": (garbled(answering(lambda each: np.full_like(each, np.nan))), "not a number"),
    "shapes": (garbled(answering(lambda each: each[:1].copy())), "of the shape"),
    "bytes": (garbled(cut_short), "the arrays of the message cannot be read"),
    "forged": (garbled(forged), "in the name of 'b'"),
    "another": (garbled(another), "another question"),
    "empty": (garbled(empty, after(1)), "not one of comity's"),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_client_that_keeps_failing_is_left_out_with_a_warning(kind, sites, job, expected):
    fault, reason = FAULTS[kind]
    grid, messages = grid_of(sites), []
    grid.faults[14] = fault
    found = coordinate(grid, job, messages.append)
    assert found.clients == ("a", "b", "c")
    assert any("'d'" in line and reason in line for line in messages)
    assert any("'d' left" in note and reason in note for note in found.warnings)
    assert set(found.coalitions) == set(expected[3].coalitions)
    np.testing.assert_array_equal(found.models["best"], expected[3].models["best"])
    assert not (sites["d"].parent / "received").exists()


@pytest.mark.parametrize("kind", ["silent", "failing"])
def test_a_client_that_comes_back_in_time_loses_nothing(kind, sites, job, expected):
    seen = []

    def once(message):
        seen.append(message)
        return len(seen) == 3

    grid, messages = grid_of(sites), []
    grid.faults[14] = silent(once) if kind == "silent" else failing(when=once)
    found = coordinate(grid, job, messages.append)
    assert found.clients == ("a", "b", "c", "d")
    assert not any("left" in note for note in found.warnings)
    np.testing.assert_array_equal(found.models["best"], expected[4].models["best"])


def test_a_client_that_is_not_connected_is_reported(sites, tmp_path):
    config = config_of(tmp_path, write_study(tmp_path), sites | {"e": tmp_path}, timeout=0.3)
    messages = []
    found = coordinate(grid_of(sites), Job.read(config), messages.append)
    assert found.clients == ("a", "b", "c", "d")
    assert any("'e' has not connected" in line for line in messages)
    assert any("'e' was not connected" in note for note in found.warnings)


def test_a_job_needs_two_clients(sites, job):
    grid = grid_of(sites)
    for node in (12, 13, 14):
        grid.faults[node] = silent()
    with pytest.raises(InputError, match="at least two are needed"):
        coordinate(grid, job, lambda message: None)


def test_a_refusal_ends_the_job_with_the_client_and_the_reason(sites, job):
    sites["c"].write_text('name = "c"\nrows = "rows.csv"\n[policy]\nlargest_answer = 10\n')
    with pytest.raises(RefusedError, match="client 'c' does not answer the question 'describe': the answer has"):
        coordinate(grid_of(sites), job, lambda message: None)


def questions(grid) -> int:
    return sum(message.metadata.message_type == "query.ask" for message in grid.sent)


class CutError(Exception):
    """The coordinator was killed."""


def cut_off(sites, config):
    """Begin a job, and end it after some rounds."""
    cut = grid_of(sites)
    pushed = cut.push_messages

    def push(messages):
        if len(cut.sent) >= 4 * 8:
            raise CutError
        return pushed(messages)

    cut.push_messages = push
    with pytest.raises(CutError):
        coordinate(cut, Job.read(config), lambda message: None)


def test_an_interrupted_job_continues_after_its_last_round(tmp_path):
    sites = write_sites(tmp_path / "sites", classes=True)
    config = config_of(tmp_path, write_study(tmp_path), sites)
    first = grid_of(sites)
    coordinate(first, Job.read(config | {"out": str(tmp_path / "whole")}), lambda message: None)
    cut_off(sites, config)
    again = grid_of(sites)
    coordinate(again, Job.read(config), lambda message: None)
    assert questions(again) == questions(first) - 4 * 7  # one of the eight messages each was the first, for its name
    assert (tmp_path / "out" / "result.json").read_bytes() == (tmp_path / "whole" / "result.json").read_bytes()
    assert not list(tmp_path.glob(".out.job"))


def test_an_interrupted_job_starts_over_if_rows_have_changed(tmp_path):
    sites = write_sites(tmp_path / "sites", classes=True)
    config = config_of(tmp_path, write_study(tmp_path), sites)
    cut_off(sites, config)
    rows = sites["a"].with_name("rows.csv")
    rows.write_text("\n".join(rows.read_text().splitlines()[:-20]) + "\n")
    messages = []
    coordinate(grid_of(sites), Job.read(config), messages.append)
    assert any("rows of 'a' have changed since the job was interrupted" in line for line in messages)
    coordinate(grid_of(sites), Job.read(config | {"out": str(tmp_path / "whole")}), messages.append)
    assert (tmp_path / "out" / "result.json").read_bytes() == (tmp_path / "whole" / "result.json").read_bytes()


def test_a_name_is_accepted_only_with_its_key(sites, tmp_path):
    nodes = tmp_path / "nodes.json"
    nodes.write_text(json.dumps({"11": "a", "12": "b", "13": "c", "99": "d"}))
    config = config_of(tmp_path, write_study(tmp_path), sites, nodes=str(nodes))
    messages = []
    found = coordinate(grid_of(sites), Job.read(config), messages.append)
    assert found.clients == ("a", "b", "c")
    assert any("does not have the key of 'd'" in line for line in messages)
    nodes.write_text(json.dumps({"11": "a", "12": "b", "13": "c"}))
    with pytest.raises(InputError, match="client 'd' is not registered"):
        Job.read(config)


def test_a_second_node_with_the_same_name_is_not_accepted(sites, job):
    sites["d"].write_text(sites["a"].read_text())
    messages = []
    found = coordinate(grid_of(sites), job, messages.append)
    assert found.clients == ("a", "b", "c")
    assert any("which another connected node already has" in line for line in messages)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"studdy": "x"}, "a run has no setting 'studdy'"),
        ({"study": ""}, "configuration has no 'study'"),
        ({"mode": "guess"}, "it must be solve or check"),
        ({"timeout": -1.0}, "must be a positive number"),
        ({"nodes": "missing.json"}, "is not registered"),
    ],
)
def test_bad_configurations_are_refused(wrong, message, sites, tmp_path):
    with pytest.raises(InputError, match=message):
        Job.read(config_of(tmp_path, write_study(tmp_path), sites) | wrong)


def test_a_result_is_not_written_over_another(sites, job, tmp_path):
    Path(job.out).mkdir()
    (Path(job.out) / "mine.txt").write_text("mine")
    with pytest.raises(OSError, match="it holds other files"):
        coordinate(grid_of(sites), job, lambda message: None)
