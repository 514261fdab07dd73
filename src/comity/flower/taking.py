"""What a site does with its part of a result: it keeps it, and writes a page that people can read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comity.errors import FormatError, InputError
from comity.figures import KINDS
from comity.own import Own
from comity.report import write_own_page

_JOB = re.compile(r"[0-9A-Za-z-]{1,64}")


def take(directory: Path, told: Mapping[str, Any], arrays: Mapping[str, NDArray[np.float64]]) -> Path:
    """Write what was sent into a directory of its own, and return it; what came before is kept."""
    job = str(told.get("job"))
    if not _JOB.fullmatch(job):
        raise FormatError(f"{job!r} is no name of a job")
    if set(arrays) != set(KINDS):
        raise FormatError("the models are not those alone, in the coalition and at best")
    try:
        own = Own.from_dict(json.loads(str(told["plain"])), arrays)
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"what was sent is no part of a result ({type(error).__name__})") from None
    if own.client != told.get("client"):
        raise InputError(f"this is what {own.client!r} got")
    place = directory / job
    own.save(place, force=True)
    write_own_page(own, directory / f"{job}.html", job)
    return place
