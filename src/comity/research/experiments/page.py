"""Makes the page of reproduced tables from saved results: python -m comity.research.experiments.page RESULTS PAGE."""

import sys
from pathlib import Path

from comity.core.files import read_text, write_text
from comity.research.experiments.experiment import EXPERIMENTS
from comity.research.experiments.reproduction import Reproduction

_INTRODUCTION = """\
# Reproduction

The tables of Cui et al., *Collaboration Equilibrium in Federated Learning* (KDD 2022), with the paper's values next to
ours. `make page` generates this page from the results in `docs/results`; `comity reproduce NAME` writes such a result
(`table.json`), with the settings, every seed and client, and the times. A value with ± is the mean over seeds with the
standard deviation; the paper does not define its ±. Times are per seed, on average, on a machine with two cores that
ran other work too. SPO, CE and comity's models alone come from one search, and each row shows its total time.
"""


def page(results: Path) -> str:
    """Return the page of all results in a directory, in the order of the paper's tables."""
    parts = [_INTRODUCTION]
    for name in EXPERIMENTS:
        file = results / f"{name}.json"
        if file.exists():
            parts.append(Reproduction.from_json(read_text(file)).to_markdown(level=2))
    return "\n".join(parts)


if __name__ == "__main__":
    source, destination = map(Path, sys.argv[1:])
    write_text(destination, page(source))
