"""Checks before anything is learned: at the coordinator and at a site."""

from __future__ import annotations

import json
import socket
import threading

import pytest
from click.testing import CliRunner

from comity.cli.federation import federation
from comity.client.audit import read_log
from comity.errors import InputError
from comity.flower.addresses import Address
from comity.flower.checking import check
from comity.flower.coordinator import Job
from comity.flower.reaching import reach
from comity.questions import QUESTIONS
from unit.flower.sites import config_of, grid_of, write_sites, write_study


def checked(tmp_path, sites, study="") -> list[str]:
    job = Job.read(config_of(tmp_path, write_study(tmp_path, study), sites, mode="check", timeout=0.3))
    said: list[str] = []
    check(
        grid_of({name: path for name, path in sites.items() if path.exists()}),
        job.roster,
        job.study,
        job.patience,
        said.append,
    )
    return said


def test_what_fits_is_told_and_nothing_else_was_asked(tmp_path):
    sites = write_sites(tmp_path / "sites")
    said = checked(tmp_path, sites)
    assert said[-1] == "everything fits"
    assert "client 'a' is there, with 60 rows" in said
    for path in sites.values():
        assert [line.question for line in read_log(path.parent / "audit.jsonl")] == ["describe"]


def test_who_is_missing_and_what_is_forbidden_are_told_together(tmp_path):
    sites = write_sites(tmp_path / "sites", classes=True)
    allowed = [kind for kind in QUESTIONS if kind not in ("slopes", "expand")]
    sites["c"].write_text(f'name = "c"\nrows = "rows.csv"\n[policy]\nquestions = {json.dumps(allowed)}\n')
    with pytest.raises(
        InputError, match=r"client 'e' is not there; the policy of client 'c' forbids .*: slopes, expand"
    ):
        checked(tmp_path, sites | {"e": tmp_path / "nowhere.toml"})


def test_columns_that_do_not_fit_are_told(tmp_path):
    sites = write_sites(tmp_path / "sites")
    rows = sites["b"].parent / "rows.csv"
    rows.write_text(rows.read_text().replace("outcome", "result", 1))
    with pytest.raises(InputError, match="not everything fits: column 'result' is missing at client 'a'"):
        checked(tmp_path, sites)


def test_networks_ask_for_other_things(tmp_path):
    sites = write_sites(tmp_path / "sites")
    allowed = [kind for kind in QUESTIONS if kind != "local-steps"]
    sites["a"].write_text(f'name = "a"\nrows = "rows.csv"\n[policy]\nquestions = {json.dumps(allowed)}\n')
    assert checked(tmp_path, sites)[-1] == "everything fits"
    with pytest.raises(InputError, match="the policy of client 'a' forbids what the study asks: local-steps"):
        checked(tmp_path, sites, 'model = "mlp"\nlocal_steps = 10\n')


def test_a_coordinator_that_is_not_there_is_told():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(InputError, match="is its SuperLink running"):
        reach(Address("127.0.0.1", port), None)


def test_somebody_else_in_the_coordinators_place_is_told(tmp_path):
    from comity.flower.addresses import Address as Place
    from comity.flower.deployment import Deployment, write_deployment

    write_deployment(tmp_path / "f", Deployment(("a", "b"), None, (Place("localhost", 9092),), 9093, 9094, False))
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def answer_plainly():
            connection, _ = server.accept()
            with connection:
                connection.recv(10)
                connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n")

        thread = threading.Thread(target=answer_plainly)
        thread.start()
        with pytest.raises(InputError, match="is not the coordinator that"):
            reach(Address("127.0.0.1", port), tmp_path / "f" / "sites" / "a" / "ca.crt")
        thread.join()


def test_a_directory_that_is_neither_is_told(tmp_path):
    done = CliRunner().invoke(federation, ["check", str(tmp_path)], standalone_mode=False)
    assert "neither a site.toml nor a check.sh" in str(done.exception)


def test_a_site_tells_what_is_wrong_with_it(tmp_path):
    sites = write_sites(tmp_path / "sites")
    settings = ': "${COMITY_ADDRESS:=localhost:1}"\n'
    (sites["a"].parent / "settings.sh").write_text(f"{settings}COMITY_INSECURE=yes\n")
    done = CliRunner().invoke(federation, ["check", str(sites["a"].parent)], standalone_mode=False)
    assert done.return_value == 1
    assert "a: 60 rows, 4 columns" in done.output
    assert "cannot be reached at localhost:1" in done.output
    (sites["a"].parent / "settings.sh").write_text(f"{settings}COMITY_INSECURE=no\n")
    done = CliRunner().invoke(federation, ["check", str(sites["a"].parent)], standalone_mode=False)
    assert "ca.crt is missing" in done.output
