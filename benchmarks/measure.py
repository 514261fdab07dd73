"""Time and memory of a call, and tables of results."""

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path


def best_of(function: Callable[[], object], times: int = 3) -> float:
    """Return the seconds of the fastest of several calls, the one that other work disturbed least."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        function()
        found.append(time.perf_counter() - start)
    return min(found)


def peak_memory() -> float:
    """Return the peak memory of this process in GiB.

    On Linux `getrusage` also counts the process that started this one, so /proc is read instead.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def in_fresh_process(code: str) -> list[str]:
    """Run code in a new process, so that its peak memory is not shared, and return the words that it prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def show(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a Markdown table."""
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    for row in (columns, ["-" * width for width in widths], *rows):
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |")
