"""The page of reproduced tables, made of saved results: python -m comity.experiments.page RESULTS PAGE."""

from __future__ import annotations

import sys
from pathlib import Path

from comity.experiments.experiment import EXPERIMENTS
from comity.experiments.reproducing import Reproduced
from comity.files import read_text, write_text

_INTRODUCTION = """\
# Reproduction

The tables of Cui et al., *Collaboration Equilibrium in Federated Learning* (KDD 2022), the paper's values beside ours.
This page is made of the results in `docs/results` (`make page`); `comity reproduce NAME` makes such a result
(`table.json`), with the settings, every seed and client, and the times. A value with ± is a mean over seeds and the
standard deviation over these; the paper does not say what its ± is. Times are of a seed, on average, on a machine
with two cores that other work shared; SPO, CE and models alone come of one search, and each has its whole time.
"""


def page(results: Path) -> str:
    """Return the page for all results in a directory, in the order of the paper's tables."""
    parts = [_INTRODUCTION]
    for name in EXPERIMENTS:
        file = results / f"{name}.json"
        if file.exists():
            found = Reproduced.from_json(read_text(file))
            parts.append(found.to_markdown(level=2))
    return "\n".join(parts)


if __name__ == "__main__":
    given, written = map(Path, sys.argv[1:])
    write_text(written, page(given))
