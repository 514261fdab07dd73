"""How a site receives its part of a result: it saves the models and writes a page for people to read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comity.core.kinds import ModelKind
from comity.errors import FormatError, InputError
from comity.report import write_client_page
from comity.result.client_result import ClientResult

_JOB_NAME = re.compile(r"[0-9A-Za-z-]{1,64}")


def save_delivery(directory: Path, metadata: Mapping[str, Any], arrays: Mapping[str, NDArray[np.float64]]) -> Path:
    """Save a client's part of a result in a new subdirectory named after the job, and return its path."""
    job = str(metadata.get("job"))
    if not _JOB_NAME.fullmatch(job):
        raise FormatError(f"{job!r} is not the name of a job; it must have 1 to 64 letters, digits and hyphens")
    if set(arrays) != set(ModelKind):
        raise FormatError(f"the models are {sorted(arrays)}; they must be {sorted(ModelKind)}")
    try:
        result = ClientResult.from_dict(json.loads(str(metadata["plain"])), {kind: arrays[kind] for kind in ModelKind})
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"the message does not hold a client's result ({type(error).__name__})") from None
    if result.client != metadata.get("client"):
        raise InputError(f"the message holds the result of client {result.client!r}")
    place = directory / job
    result.save(place, force=True)
    write_client_page(result, directory / f"{job}.html", job)
    return place
