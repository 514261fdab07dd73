"""Neural networks at the clients (extra ``neural``): what is trained, on which rows, and how a search goes there.

It needs torch, as does whoever imports it; nothing that is loaded with `import comity` does.
"""

from comity.neural.hypernetworks import PARAMETRISATIONS, Hypernetwork
from comity.neural.modules import Functional
from comity.neural.recipe import Recipe

__all__ = ["PARAMETRISATIONS", "Functional", "Hypernetwork", "Recipe"]
