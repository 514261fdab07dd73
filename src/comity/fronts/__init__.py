"""Pareto fronts: for weights over the clients, the model with the least weighted loss, and how it moves with them."""

from comity.fronts.quadratic import QuadraticFront, QuadraticTrials

__all__ = ["QuadraticFront", "QuadraticTrials"]
