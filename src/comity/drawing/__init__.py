"""Figures of a decision: the benefit graph, its components, the equilibrium (paper, Figures 4 to 6).

matplotlib, the extra ``figures``, is imported only when something is drawn.
"""

from comity.drawing.decision import FIGURES, FORMATS, draw

__all__ = ["FIGURES", "FORMATS", "draw"]
