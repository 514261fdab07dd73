"""Random allocation of classes to clients, as even as possible."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from comity.errors import InputError

_SWAPS_PER_CLASS = 20  # attempts for each class of each client: enough to forget the initial allocation


def allocate_classes(rng: np.random.Generator, classes: int, clients: int, per_client: int) -> NDArray[np.intp]:
    """Return the classes of each client (clients, per_client), distinct and sorted.

    Every class goes to equally many clients, or to one more where the numbers do not divide. Classes are handed out in
    turn; then random pairs of clients swap random classes, whenever the classes of both stay distinct.

    >>> allocate_classes(np.random.default_rng(0), classes=4, clients=4, per_client=2).tolist()
    [[2, 3], [1, 2], [0, 1], [0, 3]]
    """
    if clients < 1 or not 1 <= per_client <= classes:
        raise InputError(
            f"cannot give {per_client} of {classes} classes to each of {clients} clients; there must be at least one "
            f"client, with 1 to {classes} classes"
        )
    turns = np.arange(clients * per_client) % classes
    allocated: NDArray[np.intp] = rng.permutation(classes)[turns].reshape(clients, per_client)
    swaps = _SWAPS_PER_CLASS * allocated.size
    pairs, places = rng.integers(clients, size=(swaps, 2)), rng.integers(per_client, size=(swaps, 2))
    for (first, second), (i, j) in zip(pairs.tolist(), places.tolist(), strict=True):
        mine, yours = allocated[first, i], allocated[second, j]
        if yours not in allocated[first] and mine not in allocated[second]:
            allocated[first, i], allocated[second, j] = yours, mine
    return np.sort(allocated, axis=1)
