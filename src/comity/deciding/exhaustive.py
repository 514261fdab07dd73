"""Every set of collaborators tried, for few clients: an answer without a search, and what a search is scored by."""

import numpy as np

from comity.core.arrays import Booleans, Floats, Integers
from comity.deciding.searcher import Searcher
from comity.errors import InputError
from comity.search.choices import Candidates
from comity.search.collaborators import Search

MAX_CLIENTS = 12


def check_exhaustive(search: Search, clients: int) -> None:
    """Check that every set can be tried: there are N 2^(N-1) pairs of a client and a set that holds it."""
    if clients > MAX_CLIENTS:
        raise InputError(
            f"the exhaustive search would try every subset of {clients} clients, 2^{clients} = {2**clients:,} of them; "
            f"it is for at most {MAX_CLIENTS} clients, take another search"
        )
    if search.clip_rule is not None:
        raise InputError("the exhaustive search has no weights to clip; take the rule 'smallest'")


def try_every_set(searcher: Searcher, target: Integers, face: Booleans, strength: float) -> Candidates:
    """Return every set on each target's face (P, N), the target alone first, with its best weights.

    All targets need faces of the same size.
    """
    sets = np.stack([subsets_with(i, members) for i, members in zip(target, face, strict=True)], axis=1)
    places = np.arange(target.size)
    found = searcher.best(np.tile(target, len(sets)), sets.reshape(-1, face.shape[1]), strength)
    alone = searcher.choose(target, sets[0], strength).alone  # known more exactly than from the front
    found.put(places, alone)
    points = found.some(np.arange(len(sets) * target.size).reshape(len(sets), target.size))

    def errors(one: Integers, other: Integers) -> Floats:
        return searcher.errors(target, points.some((one, places)), points.some((other, places)))

    return Candidates(sets, points, errors)


def subsets_with(target: int, members: Booleans) -> Booleans:
    """Return every subset (2^(n-1), N) of n members that holds the target, itself alone first.

    >>> subsets_with(0, np.array([True, False, True])).astype(int)
    array([[1, 0, 0],
           [1, 0, 1]])
    """
    others = np.flatnonzero(members & (np.arange(members.size) != target))
    sets = np.zeros((2**others.size, members.size), np.bool_)
    sets[:, target] = True
    sets[:, others] = (np.arange(len(sets))[:, None] >> np.arange(others.size)) & 1 == 1
    return sets
