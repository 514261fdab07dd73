"""The two kinds of arrays that are sent."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Tensors = NDArray[Any]  # parameters of networks, of 32 or 64 bits
