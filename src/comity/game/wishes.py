"""Whom clients wanted, peel by peel, in arrays."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from comity.game.components import IntegerArray

NEVER = np.iinfo(np.int32).max  # a number past all peels


@dataclass(frozen=True, slots=True, eq=False)
class Wishes:
    """The clients' answers: in peel ``peel[e]``, client ``asker[e]`` wanted the clients in row e of `wanted`.

    Entries e are in the order of peels; a later entry of a client replaces its earlier ones.
    """

    asker: IntegerArray
    peel: IntegerArray
    wanted: csr_array

    def asked_at(self, number: int) -> IntegerArray:
        """Return the positions of the clients that were asked in a peel, in increasing order."""
        first, after = np.searchsorted(self.peel, (number, number + 1))
        return np.unique(self.asker[first:after])

    def valid_at(self, number: int) -> IntegerArray:
        """Return each client's last entry up to a peel."""
        until = int(np.searchsorted(self.peel, number, side="right"))
        last = np.zeros(self.wanted.shape[1], np.intp)
        last[self.asker[:until]] = np.arange(until)  # of equal positions the last assignment stays
        return last

    def replaced_at(self) -> IntegerArray:
        """Return for each entry the peel in which its client's next entry replaced it, or `NEVER`."""
        order = np.argsort(self.asker, kind="stable")
        again = np.flatnonzero(self.asker[order[1:]] == self.asker[order[:-1]])
        replaced = np.full(self.asker.size, NEVER, np.int32)
        replaced[order[again]] = self.peel[order[again + 1]]
        return replaced
