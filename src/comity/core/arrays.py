"""The arrays that are passed around, by what they hold."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
Booleans = NDArray[np.bool_]
Bytes = NDArray[np.uint8]  # of a file
Tensors = NDArray[Any]  # parameters of networks, of 32 or 64 bits
