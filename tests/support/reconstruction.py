"""The attack on sums over rows: whoever knows which rows are in which sum solves for the rows."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from comity.client import Client
from comity.core.arrays import Floats
from comity.questions import Moments, Packed, unpack
from comity.rows.rows import Rows
from comity.rows.splits import Splits, split_rows

_RECOVERED = 1e-6


@dataclass(frozen=True)
class Eavesdropper:
    """A client whose questions and answers somebody keeps: the coordinator does."""

    client: Client
    heard: list[tuple[Any, Any]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.client.name

    def reply(self, packed: Packed) -> Packed:
        answer = self.client.reply(packed)
        self.heard.append((unpack(packed), unpack(answer)))
        return answer


def equations(heard: list[tuple[Any, Any]], rows: int, name: str, *, limited: bool) -> tuple[Floats, Floats]:
    """Return which rows are in which of the sums that were heard (E, n), and the sums (E, p): z zᵀ, z = (x, 1, y).

    The seed, the client's name and its number of rows tell the parts; below a limit the seed is always 0.
    """
    counted, sums = [], []
    for question, answer in heard:
        if not isinstance(question, Moments):
            continue
        splits = _splits(question, answer, rows, name, limited)
        upper = np.triu_indices(answer.gram.shape[-1])
        for view, counts in enumerate(splits.counts):
            for fold, mask in enumerate(splits.masks):
                if answer.rows[view, fold]:
                    counted.append(counts * mask)
                    gram, cross = answer.gram[view, fold][upper], answer.cross[view, fold]
                    sums.append(np.concatenate([gram, cross, answer.square[view, fold, None]]))
    return np.array(counted).reshape(-1, rows), np.array(sums)


def _splits(question: Moments, answer: Any, rows: int, name: str, limited: bool) -> Splits:
    if not limited:
        return split_rows(np.zeros(rows), question.split, name)
    filled = int((answer.rows > 0).sum())
    return split_rows(np.zeros(rows), replace(question.split, seed=0), name, max_parts=filled)


def recovered(counted: Floats, sums: Floats, features: Floats, target: Floats) -> int:
    """Return how many rows least squares finds in sums."""
    if not counted.size:
        return 0
    found = np.linalg.lstsq(counted, sums, rcond=None)[0]
    upper = np.triu_indices(features.shape[1])
    gram = (features[:, :, None] * features[:, None, :])[:, *upper]
    true = np.column_stack([gram, features * target[:, None], target**2])
    return int((np.abs(found - true).max(axis=1) < _RECOVERED).sum())


def encoded(client: Client, question: Moments) -> tuple[Floats, Floats]:
    """Return the rows that the attack looks for."""
    here = Rows(client.name, client.rows).encoded(question.schema)
    return here.features, here.target
