"""What leaves a site: only answers that its policy allows, all of them logged, none with a row in it."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from comity.client.audit import read_log
from comity.errors import RefusedError
from comity.flower.coordinator import Job, coordinate
from comity.flower.transport.messages import from_content
from comity.questions import QUESTIONS
from comity.result.client_result import ClientResult
from support.flower_sites import config_of, grid_of, write_sites, write_study


def quiet(message: str) -> None:
    pass


@pytest.mark.parametrize("classes", [False, True])
def test_a_policy_that_forbids_moments_ends_the_job_before_anything_is_asked(classes, tmp_path):
    sites = write_sites(tmp_path / "sites", classes=classes)
    allowed = [each for each in QUESTIONS if each != "moments"]
    sites["c"].write_text(f'name = "c"\nrows = "rows.csv"\n[policy]\nquestions = {json.dumps(allowed)}\n')
    with pytest.raises(RefusedError, match="the policy of client 'c' forbids what the study asks: moments"):
        coordinate(grid_of(sites), Job.read(config_of(tmp_path, write_study(tmp_path), sites)), quiet)
    assert not any((path.parent / "audit.jsonl").exists() for path in sites.values())
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("classes", "kind"), [(True, "slopes"), (True, "fit-own")])
def test_a_policy_that_forbids_curvature_ends_the_job(classes, kind, tmp_path):
    sites = write_sites(tmp_path / "sites", classes=classes)
    allowed = [each for each in QUESTIONS if each != kind]
    sites["c"].write_text(f'name = "c"\nrows = "rows.csv"\n[policy]\nquestions = {json.dumps(allowed)}\n')
    with pytest.raises(RefusedError, match=f"client 'c' does not answer the question '{kind}': its policy forbids it"):
        coordinate(grid_of(sites), Job.read(config_of(tmp_path, write_study(tmp_path), sites)), quiet)
    assert read_log(sites["c"].parent / "audit.jsonl")[-1].refused
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("classes", [False, True])
def test_nothing_but_what_is_logged_leaves_and_no_row_is_in_it(classes, tmp_path):
    sites = write_sites(tmp_path / "sites", classes=classes)
    grid = grid_of(sites)
    coordinate(grid, Job.read(config_of(tmp_path, write_study(tmp_path), sites)), quiet)
    for number, (name, path) in enumerate(sites.items(), start=11):
        lines = read_log(path.parent / "audit.jsonl")
        assert {line.question for line in lines} <= set(QUESTIONS)
        left = [message for message in grid.received if message.metadata.src_node_id == number]
        answers = [each for each in left if each.metadata.message_type == "query.ask"]
        assert [from_content(each.content).digest for each in answers] == [line.given for line in lines]
        texts = [dict(each.content.config_records["texts"]) for each in left if each not in answers]
        assert all(set(each) <= {"client", "questions", "shares", "rows"} and each["client"] == name for each in texts)
        rows = pd.read_csv(path.parent / "rows.csv").select_dtypes("number").to_numpy()
        for each in answers:
            packed = from_content(each.content)
            for array in packed.arrays.values():
                assert not holds_a_row(array, rows)
            for value in rows.ravel():
                assert repr(float(value)) not in packed.plain


def holds_a_row(array: np.ndarray, rows: np.ndarray) -> bool:
    """Tell whether all values of one of the rows are in an array beside each other, as they are or standardised."""
    flat = np.sort(array.ravel())
    scaled = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    for each in (rows, scaled):
        near = np.abs(flat[np.clip(np.searchsorted(flat, each), 0, flat.size - 1)] - each) < 1e-9
        if near.all(axis=1).any():
            return True
    return False


def test_the_check_for_rows_can_fail():
    rows = np.arange(12.0).reshape(4, 3)
    assert holds_a_row(np.array([[5.5, 3.0, 4.0, 5.0]]), rows)
    assert not holds_a_row(np.array([[5.5, 3.0, 4.0, 5.1]]), rows)


def test_utilities_are_shown_to_others_only_if_their_owner_allows_it(tmp_path):
    sites = write_sites(tmp_path / "sites")
    sites["b"].write_text('name = "b"\nrows = "rows.csv"\n[policy]\nshare_utilities = true\n')
    found = coordinate(grid_of(sites), Job.read(config_of(tmp_path, write_study(tmp_path), sites)), quiet)
    for name, path in sites.items():
        (received,) = [each for each in (path.parent / "received").iterdir() if each.is_dir()]
        own = ClientResult.load(received)
        assert set(own.others) == {"b"} - {name}
        text = (received / "result.json").read_text() + received.with_suffix(".html").read_text()
        for other in found.clients:
            for figure in ("alone", "coalition", "best"):
                shown = repr(getattr(found.utilities[other], figure).value) in text
                assert shown == (other in (name, "b"))
