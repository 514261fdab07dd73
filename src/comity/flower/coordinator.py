"""The coordinator's job: meet the clients, learn, publish; and begin again among those who remain when one is gone."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from flwr.serverapp import Grid

from comity.core import check_names
from comity.errors import DepartedError, InputError, OutputError
from comity.files import check_free, held, read_text, write_text
from comity.fitting import Tell
from comity.flower.checking import check_policies
from comity.flower.federation import OverFlower
from comity.flower.messages import TAKE, reason_in, to_content, told_in
from comity.flower.registration import read_nodes
from comity.flower.roster import Patience, Roster, Say
from comity.flower.secure import Terms
from comity.journal import Journal
from comity.own import Own
from comity.questions import Packed
from comity.report import write_report
from comity.result import Result
from comity.sealed import FILES, MARKER, REPORT
from comity.solving import Opened, run
from comity.study import PATHS, Study, read_study

_JOB = "job.json"
_CONFIG = ("mode", "study", "clients", "nodes", "out", "timeout", "grace", "poll", "sites", "secure")


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be done: the study, the clients expected, where the result goes, and how long anybody is waited for.

    With `terms`, sums are secure.
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
        for key in config:
            if key not in _CONFIG:
                raise InputError(f"there is no setting {key!r} of a run; there are {', '.join(_CONFIG)}")
        for key in ("study", "clients", "out"):
            if not config.get(key):
                raise InputError(f"the run's configuration does not say its {key!r}")
        mode = str(config.get("mode", "solve"))
        if mode not in ("solve", "check"):
            raise InputError(f"the mode is {mode!r}; it must be solve or check")
        settings = {key: value for key, value in read_study(str(config["study"])).items() if key not in PATHS}
        times = {"answer": config.get("timeout"), "grace": config.get("grace"), "poll": config.get("poll")}
        return cls(
            study=Study.from_mapping(settings),
            roster=_roster(str(config["clients"]), str(config.get("nodes", ""))),
            out=Path(str(config["out"])),
            patience=Patience(**{key: float(value) for key, value in times.items() if value is not None}),
            mode=mode,
            terms=Terms() if config.get("secure") else None,
        )


def coordinate(grid: Grid, job: Job, say: Say = print) -> Result:
    """Do the job, and return the result, which is then written and published."""
    stages: list[str] = []

    def tell(stage: str, done: int, of: int) -> None:
        title = stage.split(" (")[0]
        if not stages or stages[-1] != title:
            stages.append(title)
            say(title)

    working = job.out.with_name(f".{job.out.name}.job")  # with what it takes to go on, until all is done
    done = (job.out / MARKER).exists()
    if done and not (working / _JOB).exists():
        raise OutputError(f"{job.out}: there is a result already; move it away, or say another place (COMITY_OUT)")
    if not done:
        check_free(job.out, FILES, force=False)
    with _alone_in(working):
        federation = OverFlower.join(grid, job.roster, job.patience, Journal(working / "journal"), say, terms=job.terms)
        if done:  # it was cut off before everybody had its part
            federation = replace(federation, job=str(json.loads(read_text(working / _JOB))["name"]))
            result = Result.load(job.out)
            if not (job.out / REPORT).exists():
                write_report(result, job.out / REPORT)
        else:
            check_policies(federation, job.study)
            marks = {client: federation.rules[client].rows for client in federation.clients}
            federation = replace(federation, job=_resumed(working, marks, say))
            federation, result = _learned(federation, job, tell, say)
        if _publish(federation, result):
            shutil.rmtree(working, ignore_errors=True)
        else:
            say("run it again, and it sends them; nothing is asked any more")
    return result


def _learned(federation: OverFlower, job: Job, tell: Tell, say: Say) -> tuple[OverFlower, Result]:
    """Learn, write the result, and return it with the federation of those who remain."""
    missing = [name for name in job.roster.clients if name not in federation.clients]
    notes = [f"client {name!r} was not there, and has no part in this" for name in missing]
    while True:
        say(f"clients: {', '.join(federation.clients)}")
        try:
            result = run(Opened(federation, tuple(notes)), job.study, tell)
            break
        except DepartedError as gone:
            for name, why in gone.reasons.items():
                notes.append(f"client {name!r} left ({why}); coalitions are those of the others")
                say(notes[-1])
            federation = federation.without(gone.reasons)
    result.save(job.out)
    write_report(result, job.out / REPORT)
    rounds, sent, received = (result.traffic[name] for name in ("rounds", "sent", "received"))
    mean = sum(federation.seconds) / max(len(federation.seconds), 1)
    say(f"{rounds} rounds, {mean:.2f} s each; {sent:,} bytes sent, {received:,} received")
    formed = "; ".join("{" + ", ".join(result.equilibrium.members(n)) + "}" for n in range(len(result.coalitions)))
    say(f"coalitions: {formed}, {result.certificate.verdict}")
    say(f"written to {job.out}; {REPORT} in it tells all")
    return federation, result


@contextmanager
def _alone_in(working: Path) -> Iterator[None]:
    """Be the only one that works in a directory."""
    working.mkdir(parents=True, exist_ok=True)
    with (working / "lock").open("w") as lock:
        if not held(lock.fileno()):
            raise OutputError(f"{working}: another run works on this job; wait for it, or stop it (flwr stop)")
        try:
            yield
        finally:
            if not (working / _JOB).exists():  # nothing was begun
                shutil.rmtree(working, ignore_errors=True)


def _publish(federation: OverFlower, result: Result) -> bool:
    """Send every client its own models and page, say who has not got them, and tell whether everybody has."""
    contents = {}
    shown = {name for name, rules in federation.rules.items() if rules.shares}
    for client in [name for name in result.clients if name in federation.clients]:
        own = Own.of(result, client, shown)
        told = Packed(
            "Own", json.dumps(own.to_dict(), ensure_ascii=False), {k: np.asarray(v) for k, v in own.models.items()}
        )
        contents[client] = to_content(told, client=client, job=federation.job)
    lacking = {client: "it is not there" for client in result.clients if client not in contents}
    try:
        replies = {client: told_in(reply) for client, reply in federation.send(TAKE, contents).items()}
    except DepartedError as gone:
        lacking |= gone.reasons
    else:
        lacking |= {client: str(why) for client, told in replies.items() if (why := reason_in(told))}
    for client, why in lacking.items():
        federation.say(f"client {client!r} has not got its own models and page: {why}")
    if not lacking:
        federation.say("every client has its own models and page")
    return not lacking


def _resumed(working: Path, rows: Mapping[str, str], say: Say) -> str:
    """Return the name of the job that works in a directory, a new one if there is none, or none to go on with.

    By it, sites tell jobs apart: one that was cut off and begins again in the same place has the same. If rows have
    changed since, by the marks of those who are there, no answer is worth anything, and all begins anew.
    """
    file = working / _JOB
    if file.exists():
        told = json.loads(read_text(file))
        changed = [name for name, mark in rows.items() if told["rows"].get(name, mark) != mark]
        if not changed:
            say(f"going on with a job that was cut off; what was answered is in {working}")
            write_text(file, json.dumps({**told, "rows": {**told["rows"], **rows}}))
            return str(told["name"])
        say(f"rows of {', '.join(map(repr, changed))} have changed since a job was cut off: it begins anew")
        Journal(working / "journal").clear()
    name = str(uuid.uuid4())
    write_text(file, json.dumps({"name": name, "rows": dict(rows)}))
    return name


def _roster(clients: str, nodes: str) -> Roster:
    """Return the clients, named in a list of JSON or with commas between, and which node is whose (a file of JSON)."""
    names = [name.strip() for name in clients.split(",")]
    with suppress(ValueError):  # a first name may begin with a bracket, too
        names = json.loads(clients) if clients.startswith("[") else names
    check_names(names)
    if not nodes:
        return Roster(tuple(names))
    registered = {client: node for node, client in read_nodes(Path(nodes)).items()}
    if absent := [name for name in names if name not in registered]:
        raise InputError(f"{nodes}: client {absent[0]!r} is not registered; register its key first")
    return Roster(tuple(names), registered)
