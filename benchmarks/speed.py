"""Time and memory of a whole job, from tables to evaluated models."""

import os
import sys
import time

from benchmarks.measure import in_fresh_process, peak_memory, show
from comity.client.tables import read_clients
from comity.families.family import Request
from comity.federation import InProcess
from comity.research.datasets import adult
from comity.research.datasets.synthetic import many_groups
from comity.solving.findings import learn
from comity.study import Study

RIDGE = (10, 100, 1000)


def ridge(clients: int) -> None:
    report(InProcess(many_groups(0, clients, rows=100, dim=20).clients()), Study("y"))


def logistic(clients: int = 30) -> None:
    drawn = many_groups(0, clients, groups=5, rows=500, dim=10, spread=0.2, task="classes")
    report(InProcess(drawn.clients()), Study("y"))


def uci_adult() -> None:
    report(InProcess(read_clients(adult.load().train, "client")), Study(adult.TARGET))


def report(federation: InProcess, study: Study) -> None:
    """Print the seconds, CPU seconds, peak memory, rounds and coalitions of a job."""
    start, cpu = time.perf_counter(), time.process_time()
    learned = learn(Request(federation, study))
    took, worked = time.perf_counter() - start, time.process_time() - cpu
    coalitions = len(learned.decision.equilibrium.coalitions)
    print(took, worked, peak_memory(), federation.traffic.rounds, coalitions)


def main() -> None:
    print(
        "\nThe whole job: schema, collaborators, coalitions, nested evaluation, models, and the utilities for the proof"
    )
    rows = [_row(f"ridge, {n:,} clients × 100 rows × 20 columns", f"ridge({n})") for n in RIDGE]
    rows.append(_row("logistic, 30 clients × 500 rows × 10 columns", "logistic()"))
    if os.environ.get("COMITY_DATA"):
        rows.append(_row("UCI Adult, 2 clients, 32,561 rows", "uci_adult()"))
    else:
        print("UCI Adult is left out: set COMITY_DATA to the directory of its files", file=sys.stderr)
    show(["federation", "time", "CPU", "peak memory", "rounds", "coalitions"], rows)


def _row(name: str, call: str) -> list[str]:
    took, worked, memory, rounds, coalitions = in_fresh_process(f"from benchmarks.speed import *; {call}")
    return [name, f"{float(took):.1f} s", f"{float(worked):.1f} s", f"{float(memory):.2f} GiB", rounds, coalitions]
