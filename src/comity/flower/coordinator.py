"""The coordinator's job: find the clients, solve, and send each its result; start over if a client departs."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flwr.serverapp import Grid

from comity.core.files import check_output_directory, lock_file, read_text, write_text
from comity.core.names import check_names
from comity.core.progress import Notify, Progress
from comity.errors import DepartedError, FormatError, InputError, OutputError
from comity.flower.delivery import KeptPriors, pack_part
from comity.flower.deploy.registration import read_nodes
from comity.flower.preflight import check_policies
from comity.flower.secure import Terms
from comity.flower.transport.federation import OverFlower
from comity.flower.transport.introduction import Patience, Roster
from comity.flower.transport.journal import Journal
from comity.flower.transport.messages import TAKE, reason_in, texts_in, to_content
from comity.report import write_report
from comity.result.client_result import ClientResult
from comity.result.directory import FILES, MARKER, REPORT
from comity.result.result import Result
from comity.solving.solve import Opened, investigate
from comity.study import Study, StudyFile

_JOB_FILE = "job.json"
_SETTINGS = ("mode", "study", "clients", "nodes", "out", "timeout", "grace", "poll", "sites", "secure")


@dataclass(frozen=True, slots=True)
class Job:
    """The study, the expected clients, the directory of the result, and how long to wait for clients.

    `mode` is ``solve`` or ``check``. With `terms`, sums over clients are secure.
    """

    study: Study
    roster: Roster
    out: Path
    patience: Patience
    mode: str = "solve"
    terms: Terms | None = None

    @classmethod
    def read(cls, config: Mapping[str, Any]) -> Job:
        """Return the job that a run's configuration describes."""
        if unknown := [key for key in config if key not in _SETTINGS]:
            raise InputError(f"a run has no setting {unknown[0]!r}; its settings are {', '.join(_SETTINGS)}")
        for key in ("study", "clients", "out"):
            if not config.get(key):
                raise InputError(f"the run's configuration has no {key!r}; set it")
        mode = str(config.get("mode", "solve"))
        if mode not in ("solve", "check"):
            raise InputError(f"the mode is {mode!r}; it must be solve or check")
        times = (("answer", "timeout"), ("grace", "grace"), ("poll", "poll"))
        return cls(
            study=Study.from_mapping(StudyFile.read(str(config["study"])).settings),
            roster=_roster(str(config["clients"]), str(config.get("nodes", ""))),
            out=Path(str(config["out"])),
            patience=Patience(**{name: float(config[key]) for name, key in times if config.get(key) is not None}),
            mode=mode,
            terms=Terms() if config.get("secure") else None,
        )


def coordinate(grid: Grid, job: Job, notify: Notify = print) -> Result:
    """Run a job: solve the study, write the result, and send every client its part; return the result.

    A job that was interrupted continues after its last completed round.
    """
    working = job.out.with_name(f".{job.out.name}.job")  # what an interrupted job needs to continue
    done = (job.out / MARKER).exists()
    if done and not (working / _JOB_FILE).exists():
        raise OutputError(f"{job.out}: there is already a result; move it away, or set another directory (COMITY_OUT)")
    if not done:
        check_output_directory(job.out, FILES, force=False)
    with _locked(working):
        kept = KeptPriors(working / "priors")
        journal = Journal(working / "journal")
        federation = OverFlower.join(grid, job.roster, job.patience, journal, notify, terms=job.terms)
        if done:  # interrupted before every client had received its part
            federation = replace(federation, job=str(json.loads(read_text(working / _JOB_FILE))["name"]))
            result = Result.load(job.out)
            if not (job.out / REPORT).exists():
                write_report(result, job.out / REPORT)
        else:
            check_policies(federation, job.study)
            federation = replace(federation, job=_job_name(federation, working / _JOB_FILE))
            federation, result = _solve(federation, job, kept, notify)
        if _publish(federation, result, kept):
            shutil.rmtree(working, ignore_errors=True)
        else:
            notify("run it again to send what is missing; no client is asked anything again")
    return result


def _solve(federation: OverFlower, job: Job, kept: KeptPriors, notify: Notify) -> tuple[OverFlower, Result]:
    """Solve the study, write the result, and return it with the federation of the clients that stayed."""
    missing = [name for name in job.roster.clients if name not in federation.clients]
    warnings = [f"client {name!r} was not connected; the result is without it" for name in missing]
    while True:
        notify(f"clients: {', '.join(federation.clients)}")
        try:
            opened = Opened(federation, tuple(warnings))
            result, findings = investigate(opened, job.study, _stage_titles(notify))
            break
        except DepartedError as departed:
            for name, reason in departed.reasons.items():
                warnings.append(f"client {name!r} left ({reason}); the result is without it")
                notify(warnings[-1])
            federation = federation.without(departed.reasons)
    kept.keep(findings.priors())  # before the result, which an interrupted job does not compute again
    result.save(job.out)
    write_report(result, job.out / REPORT)
    rounds, sent, received = (result.traffic[name] for name in ("rounds", "sent", "received"))
    mean = sum(federation.seconds) / max(len(federation.seconds), 1)
    notify(f"{rounds} rounds, {mean:.2f} s each; {sent:,} bytes sent, {received:,} received")
    formed = "; ".join("{" + ", ".join(result.equilibrium.members(n)) + "}" for n in range(len(result.coalitions)))
    notify(f"coalitions: {formed}, {result.certificate.verdict}")
    notify(f"written to {job.out}; open {job.out / REPORT}")
    return federation, result


def _stage_titles(notify: Notify) -> Progress:
    """Return a progress callback that announces each stage when it begins, without its counts."""
    announced = ""

    def progress(stage: str, done: int, total: int) -> None:
        nonlocal announced
        title = stage.split(" (")[0]
        if title != announced:
            announced = title
            notify(title)

    return progress


@contextmanager
def _locked(working: Path) -> Iterator[None]:
    """Hold the lock of a job's working directory, which is removed if the job did not begin."""
    working.mkdir(parents=True, exist_ok=True)
    with (working / "lock").open("w") as lock:
        if not lock_file(lock.fileno()):
            raise OutputError(f"{working}: another run is working on this job; wait for it, or stop it (flwr stop)")
        try:
            yield
        finally:
            if not (working / _JOB_FILE).exists():
                shutil.rmtree(working, ignore_errors=True)


def _publish(federation: OverFlower, result: Result, kept: KeptPriors) -> bool:
    """Send every client its own part of the result, and return whether all clients received theirs."""
    contents = {}
    undelivered = {client: "it is not connected" for client in result.clients if client not in federation.clients}
    sharing = {name for name, rules in federation.rules.items() if rules.shares}
    for client in [name for name in result.clients if name not in undelivered]:
        try:
            part = pack_part(ClientResult.of(result, client, sharing), kept)
        except FormatError as error:
            undelivered[client] = str(error)
        else:
            contents[client] = to_content(part, client=client, job=federation.job)
    try:
        for client, reply in federation.send(TAKE, contents).items():
            if reason := reason_in(texts_in(reply)):
                undelivered[client] = reason
    except DepartedError as departed:
        undelivered |= departed.reasons
    for client, reason in undelivered.items():
        federation.notify(f"client {client!r} has not received its models and page: {reason}")
    if not undelivered:
        federation.notify("every client has received its models and page")
    return not undelivered


def _job_name(federation: OverFlower, file: Path) -> str:
    """Return the name of the interrupted job that a file describes, or of a new one.

    Sites distinguish jobs by this name, so a job that continues keeps it. If the rows of a connected client have
    changed since, the answers kept so far are invalid, and a new job begins.
    """
    marks = {client: federation.rules[client].rows_mark for client in federation.clients}
    if file.exists():
        job = json.loads(read_text(file))
        changed = [name for name, mark in marks.items() if job["rows"].get(name, mark) != mark]
        if not changed:
            federation.notify(f"continuing an interrupted job with the answers in {file.parent}")
            write_text(file, json.dumps({**job, "rows": {**job["rows"], **marks}}))
            return str(job["name"])
        names = ", ".join(map(repr, changed))
        federation.notify(f"rows of {names} have changed since the job was interrupted: it starts over")
        federation.journal.clear()
    name = str(uuid.uuid4())
    write_text(file, json.dumps({"name": name, "rows": marks}))
    return name


def _roster(clients: str, nodes: str) -> Roster:
    """Return the expected clients from a JSON list or comma-separated names, and their node ids from a JSON file."""
    names = [name.strip() for name in clients.split(",")]
    with suppress(ValueError):  # a client's name may begin with a bracket
        names = json.loads(clients) if clients.startswith("[") else names
    check_names(names)
    if not nodes:
        return Roster(tuple(names))
    registered = {client: node for node, client in read_nodes(Path(nodes)).items()}
    if unregistered := [name for name in names if name not in registered]:
        raise InputError(f"{nodes}: client {unregistered[0]!r} is not registered; register its key first")
    return Roster(tuple(names), registered)
