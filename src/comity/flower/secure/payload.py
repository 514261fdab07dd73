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
    """The names, types and shapes of an answer's arrays, which turn them into one vector and back."""

    kind: str
    labels: tuple[str, ...]
    types: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, answer: Packed) -> Layout:
        """Return the layout of an answer."""
        arrays = answer.arrays.values()
        types, shapes = tuple(str(each.dtype) for each in arrays), tuple(each.shape for each in arrays)
        return cls(answer.kind, tuple(answer.arrays), types, shapes)

    @property
    def size(self) -> int:
        """The number of values in all arrays."""
        return sum(map(math.prod, self.shapes))

    def __str__(self) -> str:
        arrays = zip(self.labels, self.shapes, self.types, strict=True)
        return f"a {self.kind} of " + ", ".join(f"{label} {shape} {dtype}" for label, shape, dtype in arrays)

    def flat(self, answer: Packed) -> Floats:
        """Return an answer's arrays as one vector."""
        return np.concatenate([answer.arrays[label].astype(np.float64).reshape(-1) for label in self.labels])

    def answer(self, flat: Floats) -> Packed:
        """Return the answer that a vector holds."""
        ends = np.cumsum([math.prod(shape) for shape in self.shapes])[:-1]
        parts = zip(self.labels, np.split(flat, ends), self.shapes, self.types, strict=True)
        return Packed(
            self.kind, "{}", {label: part.reshape(shape).astype(dtype) for label, part, shape, dtype in parts}
        )


@dataclass(frozen=True, slots=True, eq=False)
class Masked:
    """A masked answer, and a `pledge`: the digest of the secret behind its own mask, to check that secret later."""

    layout: Layout
    values: Whole
    pledge: bytes

    def write(self) -> RecordDict:
        """Return it as records."""
        layout = self.layout
        metadata = ConfigRecord(
            {
                "kind": layout.kind,
                "labels": list(layout.labels),
                "types": list(layout.types),
                "shapes": json.dumps(layout.shapes),
                "pledge": self.pledge,
            }
        )
        values = ArrayRecord()
        values["values"] = Array(self.values)
        return RecordDict({MASKED: metadata, f"{MASKED}_values": values})

    @classmethod
    def read(cls, records: RecordDict) -> Masked:
        """Read a masked answer from records; anything else is a ValueError, TypeError or KeyError."""
        metadata = records.config_records[MASKED]
        values = records.array_records[f"{MASKED}_values"]["values"].numpy()
        labels, types, kind, pledge = metadata["labels"], metadata["types"], metadata["kind"], metadata["pledge"]
        shapes = tuple(tuple(map(int, shape)) for shape in json.loads(str(metadata["shapes"])))
        if not isinstance(labels, list) or not isinstance(types, list) or not len(labels) == len(types) == len(shapes):
            raise ValueError("the numbers of its labels, types and shapes differ")
        layout = Layout(str(kind), tuple(map(str, labels)), tuple(map(str, types)), shapes)
        if not labels or not set(layout.types) <= set(_TYPES) or min(map(min, filter(None, shapes)), default=1) < 0:
            raise ValueError("its arrays cannot be summed")
        if values.dtype != np.uint64 or values.shape != (layout.size,) or not isinstance(pledge, bytes):
            raise ValueError(f"it should have {layout.size} masked values, and has {values.shape} of {values.dtype}")
        return cls(layout, values, pledge)
