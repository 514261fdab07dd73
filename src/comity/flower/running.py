"""A run started on the SuperLink, followed to its end (``python -m comity.flower.running``).

``flwr run --stream`` exits with 0 even if the app failed, so the status of the run is asked for in the end. And the
stream ends with the run, even if last lines are still under way, so the whole log is asked for, too.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from comity.flower.commands import CONNECTION, FlowerError, ask_flower

DAY = 24 * 3600.0
_FINISHED = "finished:"
_COMPLETED = "finished:completed"
_SETTLING = 60.0  # seconds in which a run whose log has ended must be known to have finished
_PAUSE = 1.0
_NOTE = "Using SuperLink:"
_RAISED = "ServerApp raised an exception"
_OF_FAILURE = ("Exit Code: 201", "unhandled exception occurred in the ServerApp", "ref-exit-codes")
_BLAME = "ServerApp failed with exception: "


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended: its status, as Flower has it, and why."""

    run: str
    status: str
    details: str

    @property
    def completed(self) -> bool:
        """Whether all went well."""
        return self.status == _COMPLETED

    def __str__(self) -> str:
        why = f": {self.details.removeprefix(_BLAME)}" if self.details and self.details != "N/A" else ""
        return f"run {self.run} {self.status.removeprefix(_FINISHED)}{why}"


def start(app: Path, config: Path | None = None) -> str:
    """Start the app in a directory, with settings from a TOML file; return the number of the run."""
    settings = () if config is None else ("--run-config", str(config))
    return str(ask_flower("run", str(app), CONNECTION, *settings)["run-id"])


def follow(run: str, timeout: float = DAY) -> Ending:
    """Print what the app prints until the run has ended; one that takes longer than `timeout` seconds is stopped."""
    until = time.monotonic() + timeout
    try:
        seen = _stream(run, timeout)
    except subprocess.TimeoutExpired:
        stop(run)
        raise FlowerError(f"run {run} was stopped: it took longer than {timeout:.0f} seconds") from None
    except KeyboardInterrupt:
        stop(run)
        raise
    ending = _settle(run, until)
    plain = Plain()
    for line in _rest(seen, _whole_log(run)):
        _print(plain.tell(line))
    _print(plain.rest())
    return ending


class Plain:
    r"""The log of a run without the tracebacks of comity's own errors, which say what is wrong in a sentence.

    That sentence is told when the run has ended. Any other traceback is told whole: it shows a bug.

    >>> plain = Plain()
    >>> lines = ["comity: asking", "ERROR: ServerApp raised an exception", "Traceback (most recent call last):",
    ...          "  File …", "comity.errors.InputError: there is no column 'x'", "comity: more"]
    >>> [each for line in lines for each in plain.tell(line)]
    ['comity: asking', 'comity: more']
    """

    def __init__(self) -> None:
        self._held: list[str] = []
        self._failed = False

    def tell(self, line: str) -> list[str]:
        """Hear a line, and return those that can be told now."""
        if self._held and not (line.startswith((" ", "Traceback")) or not line):
            held, self._held = [*self._held, line], []
            if line.startswith("comity.errors."):
                self._failed = True
                return []
            return held
        if self._held or _RAISED in line or line.startswith("Traceback"):
            self._held.append(line)
            return []
        if self._failed and any(sign in line for sign in _OF_FAILURE):
            return []
        return [line]

    def rest(self) -> list[str]:
        """Return what was held back when there is no more."""
        held, self._held = self._held, []
        return held


def _print(lines: Sequence[str]) -> None:
    for line in lines:
        print(line, flush=True)


def _stream(run: str, timeout: float) -> list[str]:
    """Print the log of a run as it grows, and return its lines when it ends."""
    seen: list[str] = []
    command = ["flwr", "log", run, CONNECTION, "--stream"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as process:  # noqa: S603
        assert process.stdout is not None
        timer = threading.Timer(timeout, process.kill)
        timer.start()
        try:
            plain = Plain()
            for line in process.stdout:
                if not line.startswith(_NOTE):
                    seen.append(line.rstrip())
                    _print(plain.tell(line.rstrip()))
            _print(plain.rest())
            process.wait()
        finally:
            late = not timer.is_alive()
            timer.cancel()
            process.kill()
    if late:
        raise subprocess.TimeoutExpired(command, timeout)
    return seen


def _whole_log(run: str) -> list[str]:
    """Return all lines of a run that has ended, as far as the SuperLink has them; none if it does not answer."""
    command = ["flwr", "log", run, CONNECTION, "--show"]
    try:
        done = subprocess.run(  # noqa: S603
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            errors="replace",
            timeout=60,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return []
    return [line.rstrip() for line in done.stdout.rstrip().splitlines() if not line.startswith(_NOTE)]


def _rest(seen: list[str], whole: list[str]) -> list[str]:
    """Return the lines that were not seen.

    >>> _rest(["a", "b", ""], ["a", "b", "", "c"]), _rest(["a", "b"], [])
    (['c'], [])
    """
    while seen and not seen[-1]:
        seen = seen[:-1]
    rest = whole[len(seen) :] if whole[: len(seen)] == seen else []
    return [line for line in rest if line]


def _settle(run: str, until: float) -> Ending:
    """Wait until it is known how a run ended."""
    # The log ends with the run, or when the SuperLink is lost: it may come back, and then knows how the run ended.
    until = min(until, time.monotonic() + _SETTLING)
    while True:
        try:
            ending = status(run)
            if ending.status.startswith(_FINISHED) or time.monotonic() > until:
                return ending
        except FlowerError:
            if time.monotonic() > until:
                raise
        time.sleep(_PAUSE)


def status(run: str) -> Ending:
    """Ask how a run is doing."""
    (told,) = ask_flower("list", CONNECTION, "--run-id", run)["runs"]
    return Ending(run, str(told["status"]), str(told.get("status-details", "")))


def stop(run: str) -> None:
    """Stop a run."""
    ask_flower("stop", run, CONNECTION)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run an app, print what it prints, and return 0 if it went well."""
    parser = argparse.ArgumentParser(prog="python -m comity.flower.running")
    parser.add_argument("app", type=Path, help="the app's directory")
    parser.add_argument("--config", type=Path, help="a TOML file with settings of the app")
    parser.add_argument("--timeout", type=float, default=DAY, help="seconds after which the run is stopped")
    given = parser.parse_args(arguments)
    try:
        ending = follow(start(given.app, given.config), given.timeout)
    except FlowerError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted; the run was stopped. Run it again, and it goes on where it was.", file=sys.stderr)
        return 130
    print(ending, file=sys.stdout if ending.completed else sys.stderr, flush=True)
    return 0 if ending.completed else 1


if __name__ == "__main__":
    sys.exit(main())
