"""Drawings of a decision: the benefit graph, its components, the equilibrium (paper, Figures 4 to 6).

matplotlib, which the extra ``figures`` installs, is imported only when something is drawn.
"""

from comity.report.drawing.decision import FIGURES, FORMATS, draw, plot

__all__ = ["FIGURES", "FORMATS", "draw", "plot"]
