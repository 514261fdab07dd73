"""Five banks that know whose data would help whom: coalitions without a table, a proof from utilities, and figures."""

from __future__ import annotations

import argparse
from pathlib import Path

from comity import BenefitGraph, Game, certify, find_equilibrium
from comity.report.drawing import draw

WISHES = {
    "Alpha": ["Beta"],
    "Beta": ["Alpha", "Gamma"],
    "Gamma": ["Alpha"],
    "Delta": ["Gamma"],
    "Epsilon": ["Delta"],
}


def main(out: Path) -> None:
    """Find the coalitions, draw them, and put another partition to the test."""
    graph = BenefitGraph(WISHES)
    found = find_equilibrium(graph)
    for number, peel in enumerate(found.peels, start=1):
        left = "; ".join(", ".join(sorted(coalition)) for coalition in peel.stable)
        print(f"peel {number}: {left}")
    for wish in found.unmet:
        print(wish)
    for path in draw(graph, out, equilibrium=found):
        print(f"drawn: {path}")
    game = Game(
        [
            ("Alpha", ["Alpha"], 0.71),
            ("Alpha", ["Alpha", "Beta"], 0.80),
            ("Beta", ["Beta"], 0.69),
            ("Beta", ["Alpha", "Beta"], 0.78),
        ]
    )
    print(certify([["Alpha", "Beta"]], game))
    print(certify([["Alpha"], ["Beta"]], game))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", type=Path, default=Path("out/graph"), help="a new directory (%(default)s)")
    main(parser.parse_args().out)
