"""Time, memory and traffic of a whole job, from tables to evaluated models, beside an earlier version."""

import os
import subprocess
import sys

from benchmarks.measure import show

RIDGE = (100, 1_000, 10_000)
# Run in a process of its own, by this version and, with COMITY_OLD, by that of another directory.
SCRIPT = """
import sys, time
from pathlib import Path
import numpy as np, pandas as pd
from comity.client import Client
from comity.federation import InProcess
from comity.study import Study
try:
    from comity.families.family import Request
    from comity.solving.findings import learn
    solve = lambda federation, study: learn(Request(federation, study))
except ImportError:
    from comity.learn import learn
    solve = learn

def ridge(clients, rows=100, columns=20, groups=10):
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(groups, columns)) / np.sqrt(columns)
    for client in range(clients):
        x = rng.normal(size=(rows, columns))
        model = centres[client % groups] + 0.05 * rng.normal(size=columns) / np.sqrt(columns)
        frame = pd.DataFrame(x, columns=[f"x{number}" for number in range(columns)])
        yield Client(str(client), frame.assign(y=x @ model + rng.normal(size=rows)))

def classes(clients=5, rows=322, columns=12, kinds=4):
    rng = np.random.default_rng(0)
    centre = rng.normal(size=(columns, kinds))
    for client in range(clients):
        x = rng.normal(size=(rows, columns))
        scores = x @ (centre + 0.3 * rng.normal(size=centre.shape)) + rng.gumbel(size=(rows, kinds))
        frame = pd.DataFrame(x, columns=[f"x{number}" for number in range(columns)])
        yield Client(f"clinic {client}", frame.assign(y=np.array(list("abcd"))[scores.argmax(axis=1)]))

federation = InProcess(tuple(CLIENTS))
start, cpu = time.perf_counter(), time.process_time()
solve(federation, Study("y"))
took, worked = time.perf_counter() - start, time.process_time() - cpu
lines = Path("/proc/self/status").read_text().splitlines()
memory = next(line for line in lines if line.startswith("VmHWM")).split()[1]
traffic = federation.traffic
print(took, worked, int(memory) / 2**20, traffic.rounds, (traffic.sent + traffic.received) / 1e6)
"""


def run(call: str, source: str | None = None) -> list[float]:
    """Return seconds, CPU seconds, peak memory in GiB, rounds and MB of a job, by this or another version."""
    environment = os.environ | ({"PYTHONPATH": source} if source else {})
    script = SCRIPT.replace("CLIENTS", call)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    return [float(word) for word in done.stdout.split()]


def main() -> None:
    old = os.environ.get("COMITY_OLD")
    if not old:
        print("no earlier version is compared: set COMITY_OLD to the src directory of one", file=sys.stderr)
    print("\nThe whole job: schema, collaborators, coalitions, proof, evaluation and models")
    jobs = [(f"{clients:,} clients × 100 rows × 20 columns, a number", f"ridge({clients})") for clients in RIDGE]
    jobs.append(("5 clinics, 1,610 rows, 12 columns, 4 classes", "classes()"))
    rows = []
    before: list[float] | None = None
    for name, call in jobs:
        found = run(call)
        cells = [
            f"{found[0]:.1f} s",
            f"{found[1]:.1f} s",
            f"{found[2]:.2f} GiB",
            f"{found[3]:.0f}",
            f"{found[4]:.1f} MB",
        ]
        growth = f"{found[1] / before[1]:.1f}" if before and "ridge" in call else ""
        compared = ""
        if old and call in ("ridge(1000)", "classes()"):
            earlier = run(call, old)
            compared = f"{earlier[1] / found[1]:.1f} × ({earlier[1]:.0f} s, {earlier[4]:.0f} MB)"
        rows.append([name, *cells, growth, compared])
        print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
        before = found if "ridge" in call else None
    columns = [
        "time",
        "CPU",
        "peak memory",
        "rounds",
        "traffic",
        "CPU × for 10 × clients",
        "faster than before, by CPU",
    ]
    show(["federation", *columns], rows)
