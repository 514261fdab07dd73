"""Flower's command line, called from here: what it answers as JSON, and its failures in words."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from typing import Any

from comity.errors import ComityError

CONNECTION = "comity"  # what the SuperLink is called in the configuration that the scripts write
_LONGEST = 120.0


class FlowerError(ComityError):
    """One of Flower's commands failed."""


def ask_flower(*arguments: str, timeout: float = _LONGEST) -> dict[str, Any]:
    """Run ``flwr`` with these arguments and return what it answered, or raise what it said."""
    command = ["flwr", *arguments, "--format", "json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        raise FlowerError(f"flwr {arguments[0]} did not answer within {timeout:.0f} seconds") from None
    answer = _json_in(done.stdout)
    if done.returncode or not answer.get("success", False):
        said = str(answer.get("error-message") or "") or done.stderr or done.stdout
        raise FlowerError(f"flwr {arguments[0]} failed: {_plain(said)}")
    return answer


def _json_in(text: str) -> dict[str, Any]:
    """Return the JSON object at the end of a text, which may begin with notes."""
    start = text.find("{")
    try:
        answer = json.loads(text[start:]) if start >= 0 else {}
    except json.JSONDecodeError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _plain(text: str) -> str:
    """Return what Flower says as its error, without boxes and notes, on one line."""
    lines: Sequence[str] = [line.strip(" │╭╮╰╯─") for line in text.splitlines()]
    notes = ("Error", "Using SuperLink:", "Displaying information")
    return " ".join(line for line in lines if line and not line.startswith(notes)) or "it said nothing"
