"""How questions and answers are sent.

A question or an answer is a frozen dataclass of numbers, texts, lists of these, and arrays; nothing else can be sent.
`pack` turns one into plain values and arrays, `unpack` turns them back, and neither can run code: there is no pickle.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comity.core import InputError
from comity.questions.networks import (
    Found,
    Gradients,
    GradientsAnswer,
    HeldLosses,
    HeldLossesAnswer,
    JudgeModels,
    LocalSteps,
    LocalStepsAnswer,
    SearchFront,
    TrainAlone,
    TrainAloneAnswer,
    TrainedLocally,
    TrainLocally,
)
from comity.questions.tables import (
    Describe,
    Description,
    Evaluate,
    Evaluation,
    Expand,
    Expansion,
    FitAlone,
    FitAloneAnswer,
    JudgeLinear,
    Moments,
    MomentsAnswer,
    Slopes,
    SlopesAnswer,
)
from comity.questions.trust import PrivacyTold, TellPrivacy

QUESTIONS: dict[str, tuple[type[Any], type[Any]]] = {
    "describe": (Describe, Description),
    "moments": (Moments, MomentsAnswer),
    "expand": (Expand, Expansion),
    "slopes": (Slopes, SlopesAnswer),
    "fit-alone": (FitAlone, FitAloneAnswer),
    "evaluate": (Evaluate, Evaluation),
    "judge-linear": (JudgeLinear, Evaluation),
    "gradients": (Gradients, GradientsAnswer),
    "local-steps": (LocalSteps, LocalStepsAnswer),
    "held-losses": (HeldLosses, HeldLossesAnswer),
    "train-alone": (TrainAlone, TrainAloneAnswer),
    "search-front": (SearchFront, Found),
    "judge-models": (JudgeModels, Evaluation),
    "train-locally": (TrainLocally, TrainedLocally),
    "tell-privacy": (TellPrivacy, PrivacyTold),
}
RECORDS: dict[str, type[Any]] = {record.__name__: record for pair in QUESTIONS.values() for record in pair}


_ARRAYS: dict[Any, tuple[np.dtype[Any], ...]] = {
    "Floats": (np.dtype(np.float64),),
    "Tensors": (np.dtype(np.float32), np.dtype(np.float64)),
}


@dataclass(frozen=True, slots=True)
class Packed:
    """A question or an answer as it is sent: its kind, a JSON object of plain values, and named arrays."""

    kind: str
    plain: str
    arrays: dict[str, NDArray[Any]]

    @property
    def size(self) -> int:
        """How many bytes it takes on the wire, without what a transport adds."""
        return len(self.plain.encode()) + sum(array.nbytes for array in self.arrays.values())

    @property
    def digest(self) -> str:
        """A SHA-256 of all that it says, the same wherever it is packed."""
        content = hashlib.sha256(json.dumps([self.kind, self.plain]).encode())
        for name, array in sorted(self.arrays.items()):
            content.update(json.dumps([name, array.dtype.str, array.shape]).encode())
            content.update(np.ascontiguousarray(array).tobytes())
        return content.hexdigest()


def pack(record: object) -> Packed:
    """Return a question or an answer as it is sent.

    >>> pack(Describe(target="died"))
    Packed(kind='Describe', plain='{"classes": false, "most_levels": 100, "target": "died"}', arrays={})
    """
    kind = type(record).__name__
    if RECORDS.get(kind) is not type(record):
        raise InputError(f"{record!r} is neither a question nor an answer; there are {', '.join(RECORDS)}")
    plain: dict[str, Any] = {}
    arrays: dict[str, NDArray[Any]] = {}
    for field in fields(record):  # type: ignore[arg-type]
        value = getattr(record, field.name)
        if isinstance(value, np.ndarray):
            arrays[field.name] = value
        else:
            plain[field.name] = value
    return Packed(kind, json.dumps(plain, sort_keys=True), arrays)


def unpack(packed: Packed) -> Any:
    """Return the question or the answer that was packed, having checked that it has just its fields."""
    record = RECORDS.get(packed.kind)
    if record is None:
        raise InputError(f"{packed.kind!r} is neither a question nor an answer; there are {', '.join(RECORDS)}")
    try:
        plain = json.loads(packed.plain)
    except ValueError:
        raise InputError(f"what is said of a {packed.kind} is not JSON") from None
    if not isinstance(plain, dict):
        raise InputError(f"what is said of a {packed.kind} is {type(plain).__name__}, not a record")
    values = {**plain, **packed.arrays}
    if values.keys() != {field.name for field in fields(record)}:
        raise InputError(
            f"a {packed.kind} has the fields {sorted(f.name for f in fields(record))}, not {sorted(values)}"
        )
    for field in fields(record):
        is_array = isinstance(values[field.name], np.ndarray)
        if is_array != (field.type in _ARRAYS):
            raise InputError(f"{field.name!r} of a {packed.kind} should be {field.type}")
        if is_array and values[field.name].dtype not in _ARRAYS[field.type]:
            expected = " or ".join(map(str, _ARRAYS[field.type]))
            raise InputError(
                f"{field.name!r} of a {packed.kind} should hold {expected}, not {values[field.name].dtype}"
            )
    return record(**values)
