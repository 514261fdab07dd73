"""Checks before a job starts: at the coordinator and at a site."""

from __future__ import annotations

import json
import socket
import threading

import pytest
from click.testing import CliRunner

from comity.cli.federation import federation
from comity.client.audit import read_log
from comity.errors import InputError
from comity.flower.coordinator import Job
from comity.flower.deploy.addresses import Address
from comity.flower.deploy.deployment import Deployment, write_deployment
from comity.flower.deploy.site_check import check_connection
from comity.flower.preflight import check
from comity.questions import QUESTIONS
from support.flower_sites import config_of, grid_of, write_sites, write_study


def checked(tmp_path, sites, study="") -> list[str]:
    job = Job.read(config_of(tmp_path, write_study(tmp_path, study), sites, mode="check", timeout=0.3))
    messages: list[str] = []
    check(
        grid_of({name: path for name, path in sites.items() if path.exists()}),
        job.roster,
        job.study,
        job.patience,
        messages.append,
    )
    return messages


def test_a_study_that_can_run_passes_and_only_columns_and_disclosure_are_asked_for(tmp_path):
    sites = write_sites(tmp_path / "sites")
    sites["b"].write_text('name = "b"\nrows = "rows.csv"\n')
    messages = checked(tmp_path, sites)
    assert messages[-1] == "all checks passed"
    assert "client 'a' is connected, with 60 rows" in messages
    assert [each for each in messages if "disclosed" in each] == [
        "client 'b' has disclosed 3% of the numbers in its rows; its limit is 50%"
    ]
    for name, path in sites.items():
        asked = [line.question for line in read_log(path.parent / "audit.jsonl")]
        assert asked == ["describe", *["privacy"] * (name == "b")]


def test_missing_clients_and_forbidden_questions_are_reported_together(tmp_path):
    sites = write_sites(tmp_path / "sites", classes=True)
    allowed = [kind for kind in QUESTIONS if kind not in ("slopes", "fit-own")]
    sites["c"].write_text(f'name = "c"\nrows = "rows.csv"\n[policy]\nquestions = {json.dumps(allowed)}\n')
    with pytest.raises(
        InputError, match=r"client 'e' is not connected; the policy of client 'c' forbids .*: slopes, fit-own"
    ):
        checked(tmp_path, sites | {"e": tmp_path / "nowhere.toml"})


def test_columns_that_differ_are_reported(tmp_path):
    sites = write_sites(tmp_path / "sites")
    rows = sites["b"].parent / "rows.csv"
    rows.write_text(rows.read_text().replace("outcome", "result", 1))
    with pytest.raises(InputError, match="the study cannot run: column 'result' is missing at client 'a'"):
        checked(tmp_path, sites)


def test_networks_ask_other_questions(tmp_path):
    sites = write_sites(tmp_path / "sites")
    allowed = [kind for kind in QUESTIONS if kind != "local-steps"]
    sites["a"].write_text(f'name = "a"\nrows = "rows.csv"\n[policy]\nquestions = {json.dumps(allowed)}\n')
    assert checked(tmp_path, sites)[-1] == "all checks passed"
    with pytest.raises(InputError, match="the policy of client 'a' forbids what the study asks: local-steps"):
        checked(tmp_path, sites, 'model = "mlp"\nlocal_steps = 10\n')


def test_a_coordinator_that_is_not_running_is_reported():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(InputError, match="is its SuperLink running"):
        check_connection(Address("127.0.0.1", port), None)


def test_a_server_that_is_not_the_coordinator_is_reported(tmp_path):
    write_deployment(tmp_path / "f", Deployment(("a", "b")))
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def answer_plainly():
            connection, _ = server.accept()
            with connection:
                connection.recv(10)
                connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n")

        thread = threading.Thread(target=answer_plainly)
        thread.start()
        with pytest.raises(InputError, match=r"is not the coordinator: .*ca\.crt does not verify it"):
            check_connection(Address("127.0.0.1", port), tmp_path / "f" / "sites" / "a" / "ca.crt")
        thread.join()


def test_a_directory_that_is_neither_site_nor_coordinator_is_reported(tmp_path):
    done = CliRunner().invoke(federation, ["check", str(tmp_path)], standalone_mode=False)
    assert "neither a site.toml nor a check.sh" in str(done.exception)


def test_a_site_reports_what_is_wrong_with_it(tmp_path):
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
