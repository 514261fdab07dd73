"""A client's rows, encoded and split, from which answers are computed."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from comity.core.arrays import Floats
from comity.core.likelihood import Loss
from comity.core.losses import LOSSES, PREDICTIONS, Scale
from comity.errors import InputError
from comity.questions import Split
from comity.questions.schema import Schema, Target
from comity.rows.encoding import encode, encode_exposure, encode_target
from comity.rows.noise import Noise
from comity.rows.splits import Keys, Splits, group_keys, row_keys, split_independently, split_rows


@dataclass(frozen=True, eq=False)
class Encoded:
    """Encoded rows: features (n, f), target (n,) and exposure (n,), and the target's place in the schema."""

    features: Floats
    target: Floats
    spec: Target
    exposure: Floats

    @property
    def classes(self) -> int:
        """The number of classes of the target, 0 if it has none."""
        return len(self.spec.classes)

    @property
    def _scale(self) -> Scale:
        return Scale(self.classes, self.spec.mean, self.spec.scale)

    @cached_property
    def loss(self) -> Loss:
        """The loss of these rows, as their task has it."""
        return LOSSES[self.spec.task](self.features, self.target, self.exposure, self._scale)

    def predict(self, parameters: Floats) -> Floats:
        """Return the predictions of a model, in the units of the target, or as probabilities (n, C)."""
        found = PREDICTIONS[self.spec.task](self.features, parameters, self._scale)
        return found * self.exposure if self.spec.exposure else found

    def as_given(self, target: Floats) -> Floats:
        """Return an encoded target in its original units."""
        return target * self.spec.scale + self.spec.mean if self.spec.task == "regression" else target


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The rows of an owner, encoded and split once for each schema and split: all questions of a job share them.

    With `noise`, some answers are clipped and noisy, and rows are split independently of each other. Rows with the same
    entry in `groups` (n,) are never split. Rows that are dealt once are dealt into `max_parts` parts at most, of
    `least_part` rows or more.
    """

    owner: str
    frame: pd.DataFrame
    test: pd.DataFrame | None = None
    noise: Noise | None = None
    groups: Keys | None = None
    max_parts: int | None = None
    least_part: int = 1
    _encoded: dict[Schema, Encoded] = field(default_factory=dict)
    _splits: dict[tuple[Schema, Split], Splits] = field(default_factory=dict)
    learners: dict[Any, Any] = field(default_factory=dict)

    def encoded(self, schema: Schema) -> Encoded:
        """Return the rows encoded by a schema."""
        if schema not in self._encoded:
            self._encoded[schema] = self._encode(self.frame, schema)
        return self._encoded[schema]

    def encoded_tests(self, schema: Schema) -> Encoded | None:
        """Return the test rows encoded by a schema, or None if there are none."""
        return None if self.test is None else self._encode(self.test, schema)

    def _encode(self, frame: pd.DataFrame, schema: Schema) -> Encoded:
        if frame.empty:  # perhaps without columns too
            return Encoded(np.empty((0, len(schema.features) + 1)), np.empty(0), schema.target, np.empty(0))
        try:
            exposure = encode_exposure(frame, schema)
            return Encoded(encode(frame, schema), encode_target(frame, schema), schema.target, exposure)
        except InputError as error:
            raise type(error)(f"client {self.owner!r}: {error}") from None

    def splits(self, schema: Schema, split: Split) -> Splits:
        """Return the rows split into views and folds, stratified by class unless there is noise."""
        if (schema, split) not in self._splits:
            rows = self.encoded(schema)
            if self.noise is not None and self.noise.noisy:
                if self.groups is None:
                    keys = row_keys((rows.features, rows.target), split.seed, self.owner)
                else:
                    keys = group_keys(self.groups, split.seed, self.owner)
                self._splits[schema, split] = split_independently(keys, split, self.owner, self.groups)
            else:
                dealing = replace(rows.loss.dealing, least=max(rows.loss.dealing.least, self.least_part))
                self._splits[schema, split] = split_rows(
                    rows.loss.strata, split, self.owner, self.groups, self.max_parts, dealing
                )
        return self._splits[schema, split]
