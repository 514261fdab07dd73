"""Strongly connected components and their layers, on sparse matrices of any size and on sets."""

from collections.abc import Collection, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

IntegerArray = NDArray[np.integer]
"""Integers of any width: scipy uses 32 bits where they suffice."""

# Layers of up to this many components are worked off in a loop: there the fixed cost of numpy's calls, some 30 µs a
# layer, exceeds the work itself, and would make a chain of a million clients take half a minute instead of a second.
_MAX_COMPONENTS_FOR_LOOP = 32


def components(wants: csr_array) -> tuple[int, IntegerArray]:
    """Return the number of strongly connected components of a square matrix, and the component of each row.

    This is one pass of Pearce's algorithm in scipy. Only the pattern of the matrix counts. scipy would convert the
    entries to floats, eight bytes an edge; a broadcast view of a single float avoids that copy.
    """
    ones = np.broadcast_to(np.float64(1), wants.indices.shape)
    pattern = csr_array((ones, wants.indices, wants.indptr), shape=wants.shape)
    count, labels = connected_components(pattern, directed=True, connection="strong")
    return int(count), labels


def layers(wants: csr_array, count: int, labels: IntegerArray) -> IntegerArray:
    """Return the layer of each component: 0 if it wants no other, else one more than the highest layer it wants.

    1. Layer 0 has the components that wait for no other.
    2. Once a layer is known, the components that want it wait for one less; those that wait for no other any more are
       the next layer (Kahn's algorithm).

    Each edge between components is looked at once.
    """
    rows = np.repeat(labels, np.diff(wants.indptr))
    columns = labels[wants.indices]
    outside = rows != columns
    rows, columns = rows[outside], columns[outside]
    wanted_by = coo_array((np.ones(rows.size, np.bool_), (columns, rows)), shape=(count, count)).tocsr()
    waiting_for = np.bincount(wanted_by.indices, minlength=count)
    layer = np.zeros(count, np.int32)
    # Memory views share the arrays' memory and are as quick as lists in a loop.
    start, other, left, level = wanted_by.indptr.data, wanted_by.indices.data, waiting_for.data, layer.data

    depth = 0
    free = np.flatnonzero(waiting_for == 0)
    while free.size:
        if free.size > _MAX_COMPONENTS_FOR_LOOP:
            layer[free] = depth
            freed = wanted_by[free].indices
            np.subtract.at(waiting_for, freed, 1)
            free = np.unique(freed[waiting_for[freed] == 0])
            depth += 1
            continue
        few: list[int] = free.tolist()
        while 0 < len(few) <= _MAX_COMPONENTS_FOR_LOOP:
            following: list[int] = []
            for component in few:
                level[component] = depth
                for edge in range(start[component], start[component + 1]):
                    left[other[edge]] -= 1
                    if not left[other[edge]]:
                        following.append(other[edge])
            few = following
            depth += 1
        free = np.array(few, np.intp)
    return layer


def closed_components(roots: Iterable[str], wants: Mapping[str, Collection[str]]) -> list[frozenset[str]]:
    """Return the strongly connected components, among the clients reached from `roots`, that want no other client.

    This is Tarjan's algorithm on sets: for the answers of a few clients, the fixed cost of building a matrix is a
    hundred times that of the search.

    1. Go from client to client along their wishes, depth first, and number the clients as they are met.
    2. When all that a client wants have been visited, note the lowest number that it leads back to.
    3. If that is its own number, the clients that were met since, and are in no component yet, are its component.

    >>> found = closed_components(["a", "d"], {"a": "b", "b": "a", "c": "a", "d": "ad"})
    >>> [sorted(component) for component in found]
    [['a', 'b']]
    """
    number: dict[str, int] = {}  # in the order in which clients are met
    low: dict[str, int] = {}  # the lowest number that a visited client leads back to
    path: list[str] = []  # the clients that were met and are in no component yet
    placed: set[str] = set()
    closed: list[frozenset[str]] = []
    stack = list(roots)
    while stack:
        client = stack[-1]
        if client not in number:
            number[client] = len(number)
            path.append(client)
            stack += [other for other in wants[client] if other not in number]
            continue
        stack.pop()
        if client in low:  # each client that wants it puts it on the stack
            continue
        reached = [low.get(other, number[other]) for other in wants[client] if other not in placed]
        low[client] = min([number[client], *reached])
        if low[client] == number[client]:
            component: set[str] = set()
            while client not in component:
                component.add(path.pop())
            placed |= component
            if all(component.issuperset(wants[member]) for member in component):
                closed.append(frozenset(component))
    return closed
