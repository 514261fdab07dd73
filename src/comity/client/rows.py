"""Rows as numbers, and split: what every answer is made from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from comity.apart import row_keys, split_apart
from comity.encoding import encode, encode_target, predict
from comity.errors import InputError
from comity.likelihood import LogLoss
from comity.noise import Noise
from comity.questions import Split
from comity.schema import Schema, Target
from comity.splits import Splits, split_rows

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """Rows as numbers: features (n, f), target (n,), and what the target was."""

    features: Floats
    target: Floats
    described: Target

    @property
    def classes(self) -> int:
        """How many classes the target has, 0 for a number."""
        return len(self.described.classes)

    @property
    def loss(self) -> LogLoss:
        """The log loss on these rows."""
        return LogLoss(self.features, self.target, self.classes)

    def predict(self, parameters: Floats) -> Floats:
        """Return what a model predicts, in the target's own units, or as probabilities (n, C)."""
        return predict(self.features, self.described, parameters)

    def as_given(self, target: Floats) -> Floats:
        """Return the target in its own units."""
        return target if self.classes else target * self.described.scale + self.described.mean


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """An owner's rows. Questions of one job have the same schema and split, so rows are encoded and split once.

    With `noise`, some answers are clipped and noisy, and every row is split by itself (`comity.apart`).
    """

    owner: str
    frame: pd.DataFrame
    test: pd.DataFrame | None = None
    noise: Noise | None = None
    _encoded: dict[str, Encoded] = field(default_factory=dict)
    _splits: dict[tuple[str, str], Splits] = field(default_factory=dict)
    learners: dict[str, Any] = field(default_factory=dict)

    def encoded(self, schema: str) -> Encoded:
        """Return the rows as numbers, by a schema (JSON)."""
        if schema not in self._encoded:
            self._encoded[schema] = self._encode(self.frame, schema)
        return self._encoded[schema]

    def encoded_tests(self, schema: str) -> Encoded | None:
        """Return the rows to test with as numbers, if there are some."""
        return None if self.test is None else self._encode(self.test, schema)

    def _encode(self, frame: pd.DataFrame, schema: str) -> Encoded:
        agreed = Schema.from_json(schema)
        try:
            return Encoded(encode(frame, agreed), encode_target(frame, agreed), agreed.target)
        except InputError as error:
            raise type(error)(f"client {self.owner!r}: {error}") from None

    def splits(self, schema: str, split: str) -> Splits:
        """Return how the rows are split (JSON); those of each class are spread evenly, unless there is noise."""
        if (schema, split) not in self._splits:
            rows, wanted = self.encoded(schema), Split.from_json(split)
            if self.noise is not None and self.noise.noisy:
                keys = row_keys((rows.features, rows.target), wanted.seed, self.owner)
                self._splits[schema, split] = split_apart(keys, wanted, self.owner)
                return self._splits[schema, split]
            strata = rows.target if rows.classes else np.zeros(len(rows.target))
            self._splits[schema, split] = split_rows(strata, wanted, self.owner)
        return self._splits[schema, split]
