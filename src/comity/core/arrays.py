"""The arrays that are passed around, by what they hold."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
Booleans = NDArray[np.bool_]
Bytes = NDArray[np.uint8]  # of a file
Tensors = NDArray[Any]  # parameters of networks, of 32 or 64 bits


def join_files(files: Sequence[bytes]) -> tuple[Bytes, Floats]:
    """Return the contents of files, one after the other, and their sizes.

    >>> split_files(*join_files([b"ab", b"", b"c"]))
    (b'ab', b'', b'c')
    """
    return np.frombuffer(b"".join(files), np.uint8), np.array([len(each) for each in files], np.float64)


def split_files(joined: Bytes, sizes: Floats) -> tuple[bytes, ...]:
    """Return the files that were joined; sizes that do not fit are a `ValueError`."""
    content, ends = joined.tobytes(), [0, *np.cumsum(sizes).tolist()]
    if sizes.ndim != 1 or (sizes < 0).any() or (sizes % 1).any() or ends[-1] != len(content):
        raise ValueError(f"{len(content)} bytes are not files of the sizes {sizes.tolist()}")
    return tuple(content[int(first) : int(last)] for first, last in pairwise(ends))
