"""Calls of Flower's command line ``flwr``: its JSON output, or one error with its message."""

import json
import subprocess
from typing import Any

from comity.errors import ComityError

CONNECTION = "comity"  # the SuperLink's name in the configuration that the scripts write
_TIMEOUT = 120.0


class FlowerError(ComityError):
    """One of Flower's commands failed."""


def run_flwr(*arguments: str, timeout: float = _TIMEOUT) -> dict[str, Any]:
    """Run ``flwr`` with these arguments and return its JSON output; a failure is a `FlowerError` with its message."""
    command = ["flwr", *arguments, "--format", "json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        raise FlowerError(f"flwr {arguments[0]} did not answer within {timeout:.0f} seconds") from None
    answer = _json_in(done.stdout)
    if done.returncode or not answer.get("success", False):
        message = str(answer.get("error-message") or "") or done.stderr or done.stdout
        raise FlowerError(f"flwr {arguments[0]} failed: {_plain(message)}")
    return answer


def _json_in(text: str) -> dict[str, Any]:
    """Return the JSON object at the end of a text that may begin with notes, or an empty one."""
    try:
        return dict(json.loads(text[text.index("{") :]))
    except ValueError:  # there is none
        return {}


def _plain(text: str) -> str:
    """Return Flower's error message on one line, without boxes and notes."""
    lines = [line.strip(" │╭╮╰╯─") for line in text.splitlines()]
    notes = ("Error", "Using SuperLink:", "Displaying information")
    return " ".join(line for line in lines if line and not line.startswith(notes)) or "it printed no message"
