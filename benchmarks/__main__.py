"""Run all benchmarks, or some by name: ``python -m benchmarks [NAME …]``."""

import os
import sys

# One thread, so that times are comparable.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# The thread counts must be set before numpy is loaded.
from benchmarks import (  # noqa: E402
    calibration,
    equilibrium,
    federation,
    groups,
    honest,
    hypernetwork,
    neural,
    planted,
    speed,
    uci_adult,
)

BENCHMARKS = {
    "equilibrium": equilibrium.main,
    "groups": groups.main,
    "neural": neural.main,
    "planted": planted.main,
    "honest": honest.main,
    "calibration": calibration.main,
    "adult": uci_adult.main,
    "speed": speed.main,
    "hypernetwork": hypernetwork.main,
    "federation": federation.main,
}


def main() -> None:
    names = sys.argv[1:] or list(BENCHMARKS)
    for name in names:
        if name not in BENCHMARKS:
            sys.exit(f"there is no benchmark {name!r}; choose among {', '.join(BENCHMARKS)}")
        print(f"\n== {name}")
        BENCHMARKS[name]()


main()
