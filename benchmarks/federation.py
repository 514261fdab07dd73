"""What a round of a federation costs, and how many bytes a job sends: in one process, over Flower, and deployed."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any

from benchmarks.measure import show
from comity.federation import InProcess
from comity.flower.client_app import app, files_of
from comity.flower.coordinator import Job, coordinate
from comity.solving import Opened, run
from comity.study import Study
from comity.tables import read_clients

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
APP = Path(__file__).parents[1] / "examples" / "federation" / "app"
STUDIES: dict[str, dict[str, Any]] = {
    "ridge": {"target": "dose_needed", "exclude": ["died"]},
    "logistic": {"target": "died", "exclude": ["dose_needed"]},
}
TOLD = re.compile(r"(\d+) rounds, ([\d.]+) s each; ([\d,]+) bytes sent, ([\d,]+) received")


def main() -> None:
    from deployment import MARK, Deployment, free_ports, marked  # type: ignore[import-not-found]
    from federation.test_deployment import CLIENTS, write_rows, write_study  # type: ignore[import-not-found]
    from grids import InMemoryGrid  # type: ignore[import-not-found]

    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory() as name:
        where = Path(name)
        tables = write_rows(where / "rows")
        for client, path in tables.items():
            site = where / "sites" / client
            site.mkdir(parents=True)
            (site / "rows.csv").write_bytes(path.read_bytes())
            (site / "site.toml").write_text(f'name = "{client}"\nrows = "rows.csv"\n')

        for kind, settings in STUDIES.items():
            study = Study.from_mapping({**settings, "exclude": tuple(settings["exclude"])})
            members = tuple(map(_Timed, read_clients({client: str(path) for client, path in tables.items()})))
            federation = InProcess(members)
            run(Opened(federation), study)
            traffic = federation.traffic
            seconds = sum(member.seconds for member in members) / traffic.rounds
            row = [str(traffic.rounds), f"{seconds:.2f}", f"{traffic.sent:,}", f"{traffic.received:,}"]
            rows.append([kind, "in one process", *row])

        for kind, settings in STUDIES.items():
            config = {"study": str(_write(where, kind, settings)), "clients": ",".join(CLIENTS), "poll": 0.01}
            configs = {
                10 + at: {"site": str(where / "sites" / client / "site.toml")} for at, client in enumerate(CLIENTS)
            }
            told = StringIO()
            with redirect_stdout(told):
                coordinate(
                    InMemoryGrid(app, list(configs), configs=configs),
                    Job.read(config | {"out": str(where / f"g-{kind}")}),
                )
            rows.append(_told(kind, "a grid in memory", told.getvalue()))

        mark, (control, api) = uuid.uuid4().hex, free_ports(2)
        home = where / "flower"
        home.mkdir()
        (home / "config.toml").write_text('[superlink]\ndefault = "local"\n[superlink.local]\naddress = ":local:"\n')
        environment = os.environ | {
            "FLWR_HOME": str(home), "FLWR_LOCAL_CONTROL_API_PORT": str(control),
            "FLWR_LOCAL_SUPERLINK_HTTP_API_PORT": str(api), "FLWR_TELEMETRY_ENABLED": "0",
            "FLWR_DISABLE_UPDATE_CHECK": "1", "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1", MARK: mark,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }  # fmt: skip
        try:
            for kind, settings in STUDIES.items():
                config = {
                    "study": _write(where, kind, settings),
                    "clients": ",".join(CLIENTS),
                    "out": where / f"s-{kind}",
                }
                config |= {"sites": files_of(where / "sites")}
                (where / "run.toml").write_text("\n".join(f'{key} = "{value}"' for key, value in config.items()))
                command = ["flwr", "run", str(APP), "local", "--stream", "--run-config", str(where / "run.toml")]
                command += ["--federation-config", f"num-supernodes={len(CLIENTS)}"]
                done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, check=True)
                rows.append(_told(kind, "simulation", done.stdout))
        finally:
            for pid in marked(mark):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

        with Deployment(where / "deployed", CLIENTS) as trial:
            for client, path in tables.items():
                trial.put_rows(client, path)
            trial.start()
            for kind, settings in STUDIES.items():
                write_study(trial, settings)
                done = trial.run(timeout=1800, COMITY_OUT=str(where / f"d-{kind}"))
                rows.append(_told(kind, "deployment, TLS and keys", done.stdout))
    print("\nFour clients with 130 rows each; a round is one question to all and their answers")
    show(["job", "where", "rounds", "seconds a round", "bytes sent", "bytes received"], rows)


class _Timed:
    """A client, and the time that its answers take."""

    def __init__(self, member: Any) -> None:
        self.name, self.member, self.seconds = member.name, member, 0.0

    def answer(self, question: object) -> Any:
        began = time.perf_counter()
        answer = self.member.answer(question)
        self.seconds += time.perf_counter() - began
        return answer


def _write(where: Path, kind: str, settings: dict[str, Any]) -> Path:
    path = where / f"{kind}.toml"
    path.write_text("\n".join(f"{key} = {value!r}".replace("'", '"') for key, value in settings.items()))
    return path


def _told(kind: str, place: str, text: str) -> list[str]:
    found = TOLD.search(text)
    assert found, text
    return [kind, place, found[1], found[2], found[3], found[4]]
