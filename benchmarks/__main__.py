"""Run all benchmarks, or some by name: ``python -m benchmarks [NAME …]``."""

import argparse
import os

# One thread, so that times are comparable.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# The thread counts must be set before numpy is loaded.
from benchmarks import (  # noqa: E402
    calibration,
    eicu,
    equilibrium,
    estimators,
    federation,
    groups,
    honest,
    hypernetwork,
    neural,
    planted,
    speed,
    survival,
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
    "eicu": eicu.main,
    "survival": survival.main,
    "estimators": estimators.main,
    "speed": speed.main,
    "hypernetwork": hypernetwork.main,
    "federation": federation.main,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Run all benchmarks, or some by name.")
    parser.add_argument("name", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    names = parser.parse_args().name or list(BENCHMARKS)
    for name in names:
        if name not in BENCHMARKS:
            parser.error(f"there is no benchmark {name!r}; choose among {', '.join(BENCHMARKS)}")
    for name in names:
        print(f"\n== {name}")
        BENCHMARKS[name]()


main()
