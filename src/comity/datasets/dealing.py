"""Classes dealt to clients at random, as evenly as can be."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from comity.errors import InputError

_TRADES = 20  # for each class that somebody has: many more than it takes to forget where they began


def deal(rng: np.random.Generator, classes: int, clients: int, each: int) -> NDArray[np.intp]:
    """Return the classes of each client (clients, each), all different and in order.

    Every class is dealt as often as every other, or once more where that does not come out even. They are dealt in
    turn; then clients trade, two at a time and one class for another, wherever both still have different ones.

    >>> deal(np.random.default_rng(0), classes=4, clients=4, each=2).tolist()
    [[2, 3], [1, 2], [0, 1], [0, 3]]
    """
    if clients < 1 or not 1 <= each <= classes:
        raise InputError(f"{clients} clients with {each} of {classes} classes each make no sense; give other numbers")
    turns = np.arange(clients * each) % classes
    dealt: NDArray[np.intp] = rng.permutation(classes)[turns].reshape(clients, each)
    trades = _TRADES * dealt.size
    who, what = rng.integers(clients, size=(trades, 2)), rng.integers(each, size=(trades, 2))
    for (one, other), (mine, yours) in zip(who.tolist(), what.tolist(), strict=True):
        gives, gets = dealt[one, mine], dealt[other, yours]
        if gets not in dealt[one] and gives not in dealt[other]:
            dealt[one, mine], dealt[other, yours] = gets, gives
    return np.sort(dealt, axis=1)
