"""Weak bridges: collaborators that are hardly connected with the others of a set.

One chance likeness, or a client between two groups, must not tie the groups together.
"""

import numpy as np
from scipy import sparse

from comity.core.arrays import Booleans, Floats

_MIN_SUPPORT = 0.5
_MIN_OVERLAP = 0.25
_ROUNDS = 3


def without_bridges(sets: sparse.csr_array, judged: Booleans | None = None) -> sparse.csr_array:
    """Return the sets (N, N) of clients, each of which is in its own set, without weakly connected collaborators.

    A collaborator stays in a set if

    - its own set, unless it is alone, has at least a quarter of the set's other members; and
    - at least half of the others in the set have it in theirs, or the two sets have half of the larger one in common.

    This is done again with what is left.

    Args:
        sets: One where the client of a row has that of a column in its set.
        judged: Whose sets lose weakly connected collaborators (N,); everybody's unless given.

    >>> tied = [[1, 1, 1, 0, 0, 0], [1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 0, 0]]
    >>> tied += [row[::-1] for row in reversed(tied)]
    >>> without_bridges(sparse.csr_array(np.array(tied, float))).toarray().astype(int)
    array([[1, 1, 1, 0, 0, 0],
           [1, 1, 1, 0, 0, 0],
           [1, 1, 1, 0, 0, 0],
           [0, 0, 0, 1, 1, 1],
           [0, 0, 0, 1, 1, 1],
           [0, 0, 0, 1, 1, 1]])
    """
    own = sparse.eye_array(sets.shape[0], format="csr")
    for _ in range(_ROUNDS):
        others = sparse.csr_array(sets - own)
        others.eliminate_zeros()
        edges, count = others.tocoo(), others.sum(axis=1)
        if not edges.nnz:
            break
        mine, its = count[edges.row], count[edges.col]
        support, overlap = _at(others @ others, edges), _at(sets @ sets.T, edges) - 1
        good = (support >= _MIN_SUPPORT * (mine - 1)) | (overlap >= _MIN_SUPPORT * np.maximum(mine, its))
        good &= (overlap >= _MIN_OVERLAP * (mine - 1)) | (its == 0)
        if judged is not None:
            good |= ~judged[edges.row]
        if good.all():
            break
        kept = sparse.csr_array((np.ones(good.sum()), (edges.row[good], edges.col[good])), shape=sets.shape)
        sets = sparse.csr_array(kept + own)
    return sets


def _at(matrix: sparse.csr_array, edges: sparse.coo_array) -> Floats:
    """Return the entries of a matrix at the places of edges."""
    return np.asarray(matrix[edges.row, edges.col]).ravel()
