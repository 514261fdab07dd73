"""Pareto fronts of neural networks: one hypernetwork gives every client's model for any weights (extra ``neural``).

Everything here may import torch; nothing outside imports it before it is needed.
"""

from comity.neural.hypernetworks import PARAMETRISATIONS, Hypernetwork
from comity.neural.modules import Functional
from comity.neural.recipe import Recipe
from comity.neural.training import Trained, Training, train

__all__ = ["PARAMETRISATIONS", "Functional", "Hypernetwork", "Recipe", "Trained", "Training", "train"]
