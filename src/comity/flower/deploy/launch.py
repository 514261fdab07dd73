"""Starts a run on the SuperLink and follows it to its end (``python -m comity.flower.deploy.launch``).

``flwr run --stream`` exits with 0 even if the app failed, so the status of the run is requested at the end. The stream
may end before the last lines of the log have arrived, so the whole log is requested, too.
"""

import argparse
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from comity.flower.deploy.commands import CONNECTION, FlowerError, run_flwr

_DAY = 24 * 3600.0
_FINISHED = "finished:"
_STATUS_TIMEOUT = 60.0  # seconds in which a run whose log has ended must be reported as finished
_STATUS_INTERVAL = 1.0
# Parts of what Flower prints:
_CONNECTION_NOTE = "Using SuperLink:"
_RAISED = "ServerApp raised an exception"
_FAILURE_NOTES = ("Exit Code: 201", "unhandled exception occurred in the ServerApp", "ref-exit-codes")
_DETAILS_PREFIX = "ServerApp failed with exception: "


@dataclass(frozen=True, slots=True)
class RunStatus:
    """The status of a run in Flower's words, and its details, such as an error."""

    run: str
    status: str
    details: str

    @property
    def completed(self) -> bool:
        """Whether the run ended without an error."""
        return self.status == f"{_FINISHED}completed"

    def __str__(self) -> str:
        reason = f": {self.details.removeprefix(_DETAILS_PREFIX)}" if self.details and self.details != "N/A" else ""
        return f"run {self.run} {self.status.removeprefix(_FINISHED)}{reason}"


def follow(run: str, timeout: float = _DAY) -> RunStatus:
    """Print the log of a run until it has ended, and return its status; after `timeout` seconds it is stopped."""
    deadline = time.monotonic() + timeout
    try:
        printed = _stream(run, timeout)
    except (FlowerError, KeyboardInterrupt):
        run_flwr("stop", run, CONNECTION)
        raise
    final = _wait_for_end(run, deadline)
    for line in without_own_tracebacks(_unprinted(printed, _whole_log(run))):
        print(line, flush=True)
    return final


def without_own_tracebacks(lines: Iterable[str]) -> Iterator[str]:
    r"""Yield the log of a run without the tracebacks of comity's own errors.

    Their messages say what is wrong and are printed when the run has ended. Any other traceback is a bug and stays.

    >>> lines = ["comity: asking", "ERROR: ServerApp raised an exception", "Traceback (most recent call last):",
    ...          "  File …", "comity.errors.InputError: there is no column 'x'", "comity: more"]
    >>> list(without_own_tracebacks(lines))
    ['comity: asking', 'comity: more']
    """
    traceback: list[str] = []
    failed = False
    for line in lines:
        if traceback and line and not line.startswith((" ", "Traceback")):  # the last line of a traceback
            if line.startswith("comity.errors."):
                failed = True
            else:
                yield from [*traceback, line]
            traceback = []
        elif traceback or _RAISED in line or line.startswith("Traceback"):
            traceback.append(line)
        elif not failed or not any(note in line for note in _FAILURE_NOTES):
            yield line
    yield from traceback


def _stream(run: str, timeout: float) -> list[str]:
    """Print the log of a run as it grows, and return its lines when it ends."""
    lines: list[str] = []
    command = ["flwr", "log", run, CONNECTION, "--stream"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as process:  # noqa: S603
        timer = threading.Timer(timeout, process.kill)
        timer.start()

        def read() -> Iterator[str]:
            for line in process.stdout or ():
                if not line.startswith(_CONNECTION_NOTE):
                    lines.append(line.rstrip())
                    yield lines[-1]

        try:
            for line in without_own_tracebacks(read()):
                print(line, flush=True)
            process.wait()
        finally:
            late = not timer.is_alive()
            timer.cancel()
            process.kill()
    if late:
        raise FlowerError(f"run {run} was stopped: it took longer than {timeout:.0f} seconds")
    return lines


def _whole_log(run: str) -> list[str]:
    """Return the log of a run that has ended, or no lines if the SuperLink does not reply."""
    command = ["flwr", "log", run, CONNECTION, "--show"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        return []
    return [line.rstrip() for line in done.stdout.rstrip().splitlines() if not line.startswith(_CONNECTION_NOTE)]


def _unprinted(printed: list[str], whole: list[str]) -> list[str]:
    """Return the lines of the whole log that follow those printed.

    >>> _unprinted(["a", "b", ""], ["a", "b", "", "c"]), _unprinted(["a", "b"], [])
    (['c'], [])
    """
    while printed and not printed[-1]:
        printed = printed[:-1]
    return [line for line in whole[len(printed) :] if line] if whole[: len(printed)] == printed else []


def _wait_for_end(run: str, deadline: float) -> RunStatus:
    """Wait until the SuperLink reports that a run has ended, and return its status."""
    # The log ends with the run, or when the SuperLink is lost; one that is restarted knows how the run ended.
    deadline = min(deadline, time.monotonic() + _STATUS_TIMEOUT)
    while True:
        try:
            (answer,) = run_flwr("list", CONNECTION, "--run-id", run)["runs"]
            current = RunStatus(run, str(answer["status"]), str(answer.get("status-details", "")))
            if current.status.startswith(_FINISHED) or time.monotonic() > deadline:
                return current
        except FlowerError:
            if time.monotonic() > deadline:
                raise
        time.sleep(_STATUS_INTERVAL)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run an app, print its log, and return the exit status: 0 if it completed."""
    parser = argparse.ArgumentParser(prog="python -m comity.flower.deploy.launch")
    parser.add_argument("app", type=Path, help="the app's directory")
    parser.add_argument("--config", type=Path, help="a TOML file with settings of the app")
    parser.add_argument("--timeout", type=float, default=_DAY, help="seconds after which the run is stopped")
    options = parser.parse_args(arguments)
    config = [] if options.config is None else ["--run-config", str(options.config)]
    try:
        started = run_flwr("run", str(options.app), CONNECTION, *config)
        final = follow(str(started["run-id"]), options.timeout)
    except FlowerError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted; the run was stopped. Run it again to continue where it stopped.", file=sys.stderr)
        return 130
    print(final, file=sys.stdout if final.completed else sys.stderr, flush=True)
    return 0 if final.completed else 1


if __name__ == "__main__":
    sys.exit(main())
