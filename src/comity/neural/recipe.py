"""What a client needs to know to take part in a training: the model, the loss, how rows are split."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from comity.errors import InputError

HOLD_OUT = 6  # parts, one of which is held out to choose by (as in the paper), and one to judge


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a model is trained where the rows are.

    With a `schema` (JSON) rows are those of a table, and the model is a perceptron with `depth` hidden layers of
    `width`; without one, the client has module, loss and examples itself. One part of the rows in `parts` judges,
    unless nothing is to be `judged`; of the others, one part in `parts` is `held` out to choose by (or none), or, with
    `folds`, each of so many in turn. `batch` rows are taken a step, all if 0. Numbers are of 64 bits if `double`.
    """

    schema: str = ""
    width: int = 64
    depth: int = 2
    loss: str = ""
    personal: str | None = None
    parts: int = HOLD_OUT
    judged: bool = True
    held: bool = True
    folds: int = 1
    batch: int = 0
    double: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("width", 1), ("depth", 0), ("parts", 2), ("folds", 1), ("batch", 0), ("seed", 0)):
            value: object = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InputError(f"{name} is {value!r}; it must be a whole number, {least} or more")

        if not self.held and self.folds != 1:
            raise InputError(f"with {self.folds} folds, rows are held out in turn; they cannot all train")

    @property
    def networks(self) -> int:
        """How many hypernetworks are trained: one for each fold, and one on all rows that do not judge."""
        return 1 if self.folds == 1 else self.folds + 1

    def to_json(self) -> str:
        """Return the recipe as JSON."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Recipe:
        """Return the recipe that was written as JSON."""
        return cls(**json.loads(text))
