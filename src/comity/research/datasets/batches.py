"""The two file formats of CIFAR-10: fixed-length binary records, and Python pickles."""

from __future__ import annotations

import io
import pickle
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from comity.errors import FormatError

Bytes = NDArray[np.uint8]
SHAPE = (3, 32, 32)  # red, green and blue planes, row by row
_PIXELS = 3 * 32 * 32


def read_records(raw: bytes) -> tuple[Bytes, Bytes]:
    """Return images (n, 3, 32, 32) and labels (n,) of a binary batch: records of a label and 3,072 pixels.

    >>> images, labels = read_records(bytes([6, *range(256)] + [0] * 2816))
    >>> images.shape, labels, images[0, 0, 1, :3]
    ((1, 3, 32, 32), array([6], dtype=uint8), array([32, 33, 34], dtype=uint8))
    """
    records = np.frombuffer(raw, np.uint8).reshape(-1, 1 + _PIXELS)
    return records[:, 1:].reshape(-1, *SHAPE), records[:, 0]


def read_pickle(raw: bytes) -> tuple[Bytes, Bytes]:
    """Return images (n, 3, 32, 32) and labels (n,) of a Python batch, without executing any code in it."""
    batch = _SafeUnpickler(io.BytesIO(raw), encoding="bytes").load()
    return batch[b"data"].bytes().reshape(-1, *SHAPE), np.array(batch[b"labels"], np.uint8)


class _Array:
    """Stands in for a numpy array, and keeps its pickled state."""

    state: tuple[Any, ...] = ()

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.state = state

    def bytes(self) -> Bytes:
        """Return the array of bytes."""
        _, shape, _, by_columns, raw = self.state
        return np.frombuffer(raw, np.uint8).reshape(shape, order="F" if by_columns else "C")


class _Type:
    """Stands in for a numpy dtype, which is known to be uint8."""

    def __init__(self, *_: Any) -> None: ...

    def __setstate__(self, _: Any) -> None: ...


class _SafeUnpickler(pickle.Unpickler):
    """An unpickler of lists, numbers, strings and arrays, which calls no function that the file names."""

    _KNOWN: ClassVar[dict[tuple[str, str], Any]] = {
        ("numpy.core.multiarray", "_reconstruct"): lambda *_: _Array(),
        ("numpy._core.multiarray", "_reconstruct"): lambda *_: _Array(),
        ("numpy", "ndarray"): _Array,
        ("numpy", "dtype"): _Type,
    }

    def find_class(self, module: str, name: str) -> Any:
        """Return the stand-in for one of the four names that a pickled array needs."""
        try:
            return self._KNOWN[module, name]
        except KeyError:
            raise FormatError(
                f"this pickle would call {module}.{name}, which no batch of CIFAR-10 does; get the file again"
            ) from None
