"""Strongly connected components and the layers of their order, on sparse matrices of any size, and on sets."""

from collections.abc import Collection, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

Integers = NDArray[np.integer]

# Below so many components a layer is worked off one by one: there the fixed cost of numpy's calls, some 30 µs a layer,
# is more than the work itself, and would make a chain of a million take half a minute instead of a second.
_THIN = 32


def components(wants: csr_array) -> tuple[int, Integers]:
    """Return how many strongly connected components a square matrix has, and the component of each row.

    One pass of Pearce's algorithm in scipy. Only the pattern of the matrix counts. scipy would turn the entries into
    floats, eight bytes an edge; a single one seen as many saves the copy.
    """
    ones = np.broadcast_to(np.float64(1), wants.indices.shape)
    pattern = csr_array((ones, wants.indices, wants.indptr), shape=wants.shape)
    count, labels = connected_components(pattern, directed=True, connection="strong")
    return int(count), labels


def layers(wants: csr_array, count: int, labels: Integers) -> Integers:
    """Return the layer of each component: 0 if it wants nobody outside, else one more than the highest it wants.

    Layer by layer (Kahn's order), each edge between components is looked at once.
    """
    rows = np.repeat(labels, np.diff(wants.indptr))
    columns = labels[wants.indices]
    outside = rows != columns
    rows, columns = rows[outside], columns[outside]
    wanted_by = coo_array((np.ones(rows.size, np.bool_), (columns, rows)), shape=(count, count)).tocsr()
    starts, ends, wanting = wanted_by.indptr[:-1], wanted_by.indptr[1:], wanted_by.indices
    waiting_for = np.bincount(wanting, minlength=count)
    layer = np.zeros(count, np.int32)
    # Views with the speed of lists, which share the arrays' memory.
    start, end, other, left, level = starts.data, ends.data, wanting.data, waiting_for.data, layer.data

    depth = 0
    free = np.flatnonzero(waiting_for == 0)
    while free.size:
        if free.size > _THIN:
            layer[free] = depth
            freed = wanting[_ranges(starts[free], ends[free])]
            np.subtract.at(waiting_for, freed, 1)
            free = np.unique(freed[waiting_for[freed] == 0])
            depth += 1
            continue
        thin: list[int] = free.tolist()
        while 0 < len(thin) <= _THIN:
            following: list[int] = []
            for component in thin:
                level[component] = depth
                for edge in range(start[component], end[component]):
                    left[other[edge]] -= 1
                    if not left[other[edge]]:
                        following.append(other[edge])
            thin = following
            depth += 1
        free = np.array(thin, np.intp)
    return layer


def closed_components(roots: Iterable[str], wants: Mapping[str, Collection[str]]) -> list[frozenset[str]]:
    """Return the strongly connected components that want nobody outside, of those whom `roots` lead to.

    Tarjan's algorithm on sets as they are: the answers of a few clients are not worth a matrix, whose fixed cost is a
    hundred times that of the search.

    >>> found = closed_components(["a", "d"], {"a": "b", "b": "a", "c": "a", "d": "ad"})
    >>> [sorted(component) for component in found]
    [['a', 'b']]
    """
    number: dict[str, int] = {}  # in the order in which clients are met
    low: dict[str, int] = {}  # the least number that a client is known to lead back to, of those who are done
    path: list[str] = []  # those who are met and in no component yet
    placed: set[str] = set()
    closed: list[frozenset[str]] = []
    work = list(roots)
    while work:
        client = work[-1]
        if client not in number:
            number[client] = len(number)
            path.append(client)
            work += [other for other in wants[client] if other not in number]
            continue
        work.pop()
        if client in low:  # several may want it, and each puts it on the list
            continue
        ahead = [low.get(other, number[other]) for other in wants[client] if other not in placed]
        low[client] = min([number[client], *ahead])
        if low[client] == number[client]:
            component: set[str] = set()
            while client not in component:
                component.add(path.pop())
            placed |= component
            if all(component.issuperset(wants[member]) for member in component):
                closed.append(frozenset(component))
    return closed


def _ranges(starts: Integers, ends: Integers) -> Integers:
    """Return start, start + 1, …, end - 1 of every pair, one after the other.

    >>> _ranges(np.array([5, 0]), np.array([7, 3]))
    array([5, 6, 0, 1, 2])
    """
    lengths = ends - starts
    before = np.cumsum(lengths) - lengths
    offsets: Integers = np.repeat(starts - before, lengths) + np.arange(lengths.sum())
    return offsets
