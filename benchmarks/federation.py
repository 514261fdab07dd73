"""Time of a round and bytes of a job: in one process, over Flower, and in a deployment."""

import re
import sys
import tempfile
import time
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from benchmarks.measure import show
from comity.client.tables import read_clients
from comity.federation import InProcess
from comity.flower.client_app import app
from comity.flower.coordinator import Job, coordinate
from comity.questions import Packed
from comity.solving.solve import Opened, run
from comity.study import Study

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
STUDIES: dict[str, dict[str, Any]] = {
    "ridge": {"target": "dose_needed", "exclude": ["died"]},
    "logistic": {"target": "died", "exclude": ["dose_needed"]},
}
TRAFFIC_LINE = re.compile(r"(\d+) rounds, ([\d.]+) s each; ([\d,]+) bytes sent, ([\d,]+) received")


def main() -> None:
    from federation.test_deployment import CLIENTS, study_text, write_rows, write_study  # type: ignore[import-not-found]
    from support.deployment import Deployment  # type: ignore[import-not-found]
    from support.grids import InMemoryGrid  # type: ignore[import-not-found]
    from support.simulation import simulate, simulation_environment, write_sites  # type: ignore[import-not-found]

    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory() as name:
        where = Path(name)
        tables = write_rows(where / "rows")
        write_sites(where / "sites", tables)
        files = {kind: where / f"{kind}-study.toml" for kind in STUDIES}
        for kind, settings in STUDIES.items():
            files[kind].write_text(study_text(settings))
        for kind, settings in STUDIES.items():
            study = Study.from_mapping(settings)
            members = tuple(map(_Timed, read_clients({client: str(path) for client, path in tables.items()})))
            federation = InProcess(members)
            run(Opened(federation), study)
            traffic = federation.traffic
            seconds = sum(member.seconds for member in members) / traffic.rounds
            row = [str(traffic.rounds), f"{seconds:.2f}", f"{traffic.sent:,}", f"{traffic.received:,}"]
            rows.append([kind, "in one process", *row])

        for kind in STUDIES:
            config = {"study": str(files[kind]), "clients": ",".join(CLIENTS), "poll": 0.01}
            configs = {
                10 + place: {"site": str(where / "sites" / client / "site.toml")}
                for place, client in enumerate(CLIENTS)
            }
            output = StringIO()
            with redirect_stdout(output):
                coordinate(
                    InMemoryGrid(app, list(configs), configs=configs),
                    Job.read(config | {"out": str(where / f"g-{kind}")}),
                )
            rows.append(_row(kind, "a grid in memory", output.getvalue()))

        with simulation_environment(where / "flower") as environment:
            for kind in STUDIES:
                output_text = simulate(environment, where / "sites", files[kind], where / f"s-{kind}")
                rows.append(_row(kind, "simulation", output_text))

        with Deployment(where / "deployed", CLIENTS) as trial:
            for client, path in tables.items():
                trial.put_rows(client, path)
            trial.start()
            for kind, settings in STUDIES.items():
                write_study(trial, settings)
                done = trial.run(timeout=1800, COMITY_OUT=str(where / f"d-{kind}"))
                rows.append(_row(kind, "deployment, TLS and keys", done.stdout))
    print("\nFour clients with 130 rows each; a round is one question to all clients, and their answers")
    show(["job", "where", "rounds", "seconds a round", "bytes sent", "bytes received"], rows)


class _Timed:
    """A client that measures the time of its answers."""

    def __init__(self, member: Any) -> None:
        self.name, self.member, self.seconds = member.name, member, 0.0

    def reply(self, packed: Packed) -> Packed:
        began = time.perf_counter()
        answer: Packed = self.member.reply(packed)
        self.seconds += time.perf_counter() - began
        return answer


def _row(kind: str, place: str, text: str) -> list[str]:
    found = TRAFFIC_LINE.search(text)
    assert found, text
    return [kind, place, found[1], found[2], found[3], found[4]]
