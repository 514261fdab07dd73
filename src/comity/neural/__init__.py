"""Neural networks at the clients (extra ``neural``): what is trained, on which rows, and how a search goes there.

Only this package and `comity.fronts.hypernetwork` import torch.
"""

from comity.neural.hypernetworks import PARAMETRISATIONS, Hypernetwork
from comity.neural.modules import Functional
from comity.neural.recipe import Recipe

__all__ = ["PARAMETRISATIONS", "Functional", "Hypernetwork", "Recipe"]
