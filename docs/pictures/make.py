"""Draw the pictures of the documentation again: the paper's six clients, and the demo's hospitals."""

from __future__ import annotations

from pathlib import Path

import comity
from comity.report.drawing import draw
from comity.research.datasets.hospitals import CLIENT, TARGET, hospitals
from comity.research.datasets.paper import figure_1

HERE = Path(__file__).parent


def main() -> None:
    """Draw them."""
    game = figure_1()
    for path in draw(game.benefit_graph(), HERE, equilibrium=comity.find_equilibrium(game)):
        if path.stem == "components":
            path.unlink()
    result = comity.solve(hospitals(), client=CLIENT, target=TARGET)
    result.plot().savefig(HERE / "hospitals.svg", bbox_inches="tight", metadata={"Date": None})


if __name__ == "__main__":
    main()
