"""The coordinator's job: meet the clients, learn, publish; and begin again among those who remain when one is gone."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from flwr.serverapp import Grid

from comity.core import check_names
from comity.errors import DepartedError, InputError, OutputError
from comity.files import check_free, read_text, write_text
from comity.flower.checking import check_policies
from comity.flower.federation import OverFlower
from comity.flower.messages import TAKE, to_content, told_in
from comity.flower.registration import read_nodes
from comity.flower.roster import Patience, Roster, Say
from comity.flower.secure import Terms
from comity.journal import Journal
from comity.own import Own
from comity.questions import Packed
from comity.result import Result
from comity.sealed import FILES, MARKER
from comity.solving import Opened, run
from comity.study import PATHS, Study, read_study

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

    if (job.out / MARKER).exists():
        raise OutputError(f"{job.out}: there is a result already; move it away, or say another place (COMITY_OUT)")
    check_free(job.out, FILES, force=False)
    working = job.out.with_name(f".{job.out.name}.job")  # with what it takes to go on, until all is done
    journal = Journal(working / "journal")
    federation = OverFlower.join(grid, job.roster, job.patience, journal, say, terms=job.terms)
    check_policies(federation, job.study)
    marks = {client: federation.rules[client].rows for client in federation.clients}
    federation = replace(federation, job=_resumed(working, marks, say))
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
            stages.clear()
    result.save(job.out)
    rounds, sent, received = (result.traffic[name] for name in ("rounds", "sent", "received"))
    mean = sum(federation.seconds) / max(len(federation.seconds), 1)
    say(f"{rounds} rounds, {mean:.2f} s each; {sent:,} bytes sent, {received:,} received")
    formed = "; ".join("{" + ", ".join(result.equilibrium.members(n)) + "}" for n in range(len(result.coalitions)))
    say(f"coalitions: {formed}, {result.certificate.verdict}")
    say(f"written to {job.out}; comity show {job.out} tells all")
    _publish(federation, result)
    shutil.rmtree(working, ignore_errors=True)
    return result


def _publish(federation: OverFlower, result: Result) -> None:
    """Send every client its own models and page, and say who has not got them."""
    contents = {}
    shown = {name for name, rules in federation.rules.items() if rules.shares}
    for client in federation.clients:
        own = Own.of(result, client, shown)
        told = Packed(
            "Own", json.dumps(own.to_dict(), ensure_ascii=False), {k: np.asarray(v) for k, v in own.models.items()}
        )
        contents[client] = to_content(told, client=client, job=federation.job)
    try:
        replies = federation.send(TAKE, contents)
    except DepartedError as gone:
        federation.say(f"not everybody has got its own models and page: {gone}")
        return
    unable = {client: said["refused"] for client, reply in replies.items() if "refused" in (said := told_in(reply))}
    for client, why in unable.items():
        federation.say(f"client {client!r} could not keep its own models and page: {why}")
    if not unable:
        federation.say("every client has its own models and page")


def _resumed(working: Path, rows: Mapping[str, str], say: Say) -> str:
    """Return the name of the job that works in a directory, a new one if there is none, or none to go on with.

    By it, sites tell jobs apart: one that was cut off and begins again in the same place has the same. If rows have
    changed since, by the marks of those who are there, no answer is worth anything, and all begins anew.
    """
    file = working / "job.json"
    if file.exists():
        told = json.loads(read_text(file))
        changed = [name for name, mark in rows.items() if told["rows"].get(name, mark) != mark]
        if not changed:
            say(f"going on with a job that was cut off; what was answered is in {working}")
            write_text(file, json.dumps({**told, "rows": {**told["rows"], **rows}}))
            return str(told["name"])
        say(f"rows of {', '.join(map(repr, changed))} have changed since a job was cut off: it begins anew")
        shutil.rmtree(working)
    working.mkdir(parents=True, exist_ok=True)
    name = str(uuid.uuid4())
    write_text(file, json.dumps({"name": name, "rows": dict(rows)}))
    return name


def _roster(clients: str, nodes: str) -> Roster:
    """Return the clients, named in a list of JSON or with commas between, and which node is whose (a file of JSON)."""
    try:
        names = json.loads(clients) if clients.startswith("[") else [name.strip() for name in clients.split(",")]
    except ValueError:
        raise InputError(
            f"the clients are {clients!r}; they must be a JSON list, or names with commas between"
        ) from None
    check_names(names)
    if not nodes:
        return Roster(tuple(names))
    registered = {client: node for node, client in read_nodes(Path(nodes)).items()}
    if absent := [name for name in names if name not in registered]:
        raise InputError(f"{nodes}: client {absent[0]!r} is not registered; register its key first")
    return Roster(tuple(names), registered)
