"""Answers under masks, as Flower's records."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict

from comity.flower.secure.fixed_point import Whole
from comity.questions import Floats, Packed

SUM = "comity_sum"
MASKED = "comity_masked"
REFUSED = "comity_refused"
FORGOTTEN = "comity_forgotten"
_TYPES = ("float32", "float64")


@dataclass(frozen=True, slots=True)
class Layout:
    """What an answer's arrays are, without their values, so that one vector can be made of them and they of it."""

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
        """How many values there are."""
        return sum(map(math.prod, self.shapes))

    def __str__(self) -> str:
        arrays = zip(self.labels, self.shapes, self.types, strict=True)
        return f"a {self.kind} of " + ", ".join(f"{label} {shape} {dtype}" for label, shape, dtype in arrays)

    def flat(self, answer: Packed) -> Floats:
        """Return an answer's arrays as one vector."""
        return np.concatenate([answer.arrays[label].astype(np.float64).reshape(-1) for label in self.labels])

    def answer(self, flat: Floats) -> Packed:
        """Return a vector as an answer."""
        ends = np.cumsum([math.prod(shape) for shape in self.shapes])[:-1]
        parts = zip(self.labels, np.split(flat, ends), self.shapes, self.types, strict=True)
        return Packed(
            self.kind, "{}", {label: part.reshape(shape).astype(dtype) for label, part, shape, dtype in parts}
        )


@dataclass(frozen=True, slots=True, eq=False)
class Masked:
    """An answer under masks, and a `pledge`: a digest of the secret of its own mask, by which that can be checked."""

    layout: Layout
    values: Whole
    pledge: bytes

    def write(self) -> RecordDict:
        """Return it as records."""
        layout = self.layout
        told = ConfigRecord(
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
        return RecordDict({MASKED: told, f"{MASKED}_values": values})

    @classmethod
    def read(cls, records: RecordDict) -> Masked:
        """Return what was written; what is anything else is a ValueError, TypeError or KeyError."""
        told, values = records.config_records[MASKED], records.array_records[f"{MASKED}_values"]["values"].numpy()
        labels, types, kind, pledge = told["labels"], told["types"], told["kind"], told["pledge"]
        shapes = tuple(tuple(map(int, shape)) for shape in json.loads(str(told["shapes"])))
        if not isinstance(labels, list) or not isinstance(types, list) or not len(labels) == len(types) == len(shapes):
            raise ValueError("its arrays, their types and their shapes are not as many")
        layout = Layout(str(kind), tuple(map(str, labels)), tuple(map(str, types)), shapes)
        if not labels or not set(layout.types) <= set(_TYPES) or min(map(min, filter(None, shapes)), default=1) < 0:
            raise ValueError("its arrays are not such as can be summed")
        if values.dtype != np.uint64 or values.shape != (layout.size,) or not isinstance(pledge, bytes):
            raise ValueError(f"it should have {layout.size} masked values, and has {values.shape} of {values.dtype}")
        return cls(layout, values, pledge)
