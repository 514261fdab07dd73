"""Masked answers as Flower's records."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict

from comity.core.arrays import Floats
from comity.flower.secure.fixed_point import Whole
from comity.questions import Packed

SUM = "comity_sum"
MASKED = "comity_masked"
REFUSED = "comity_refused"
FORGOTTEN = "comity_forgotten"
_TYPES = ("float32", "float64")


@dataclass(frozen=True, slots=True)
class Layout:
    """The kind of an answer, and the label, type and shape of each of its arrays, which are sent as one vector."""

    kind: str
    arrays: tuple[tuple[str, str, tuple[int, ...]], ...]

    @classmethod
    def of(cls, answer: Packed) -> Layout:
        """Return the layout of an answer."""
        return cls(answer.kind, tuple((label, str(each.dtype), each.shape) for label, each in answer.arrays.items()))

    @property
    def size(self) -> int:
        """The number of values in all arrays."""
        return sum(math.prod(shape) for _, _, shape in self.arrays)

    def __str__(self) -> str:
        return f"a {self.kind} of " + ", ".join(f"{label} {shape} {dtype}" for label, dtype, shape in self.arrays)

    def answer(self, flat: Floats) -> Packed:
        """Return the answer that a vector holds."""
        ends = np.cumsum([math.prod(shape) for _, _, shape in self.arrays])[:-1]
        parts = zip(self.arrays, np.split(flat, ends), strict=True)
        arrays = {label: part.reshape(shape).astype(dtype) for (label, dtype, shape), part in parts}
        return Packed(self.kind, "{}", arrays)


@dataclass(frozen=True, slots=True, eq=False)
class Masked:
    """A masked answer, and a `pledge`: the digest of the secret behind its own mask, to check that secret later."""

    layout: Layout
    values: Whole
    pledge: bytes

    def write(self) -> RecordDict:
        """Return it as records."""
        labels, types, shapes = (list(each) for each in zip(*self.layout.arrays, strict=True))
        metadata = ConfigRecord({"kind": self.layout.kind, "labels": labels, "types": types, "pledge": self.pledge})
        metadata["shapes"] = json.dumps(shapes)
        return RecordDict({MASKED: metadata, f"{MASKED}_values": ArrayRecord({"values": Array(self.values)})})

    @classmethod
    def read(cls, records: RecordDict) -> Masked:
        """Read a masked answer from records; anything else is a ValueError, TypeError or KeyError."""
        metadata = records.config_records[MASKED]
        values = records.array_records[f"{MASKED}_values"]["values"].numpy()
        labels, types, kind, pledge = metadata["labels"], metadata["types"], metadata["kind"], metadata["pledge"]
        shapes = [tuple(map(int, shape)) for shape in json.loads(str(metadata["shapes"]))]
        if not isinstance(labels, list) or not isinstance(types, list) or not len(labels) == len(types) == len(shapes):
            raise ValueError("the numbers of its labels, types and shapes differ")
        layout = Layout(str(kind), tuple(zip(map(str, labels), map(str, types), shapes, strict=True)))
        if not labels or not set(types) <= set(_TYPES) or min(map(min, filter(None, shapes)), default=1) < 0:
            raise ValueError("its arrays cannot be summed")
        if values.dtype != np.uint64 or values.shape != (layout.size,) or not isinstance(pledge, bytes):
            raise ValueError(f"it should have {layout.size} masked values, and has {values.shape} of {values.dtype}")
        return cls(layout, values, pledge)
