"""Three sites over Flower, simulated on this machine: each has its rows, its policy and its audit log."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

APP = Path(__file__).parent / "app"
SITES = {"north": 1.0, "south": 1.0, "coast": -1.0}  # the sign of the measurements' effect at each site


def write_site(place: Path, name: str, sign: float, seed: int) -> None:
    """Write a site's rows and its settings."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(rng.normal(size=(120, 16)), columns=[f"x{number}" for number in range(16)])
    rows["stay"] = sign * rows.sum(axis=1) + 4 * rng.normal(size=120)
    place.mkdir(parents=True)
    rows.to_csv(place / "rows.csv", index=False)
    (place / "site.toml").write_text(
        f'name = "{name}"\nrows = "rows.csv"\ntarget = "stay"\n\n[policy]\nleast_rows = 20\n'
    )


def main(out: Path) -> int:
    """Write the sites, run the app in Flower's simulation, and print the audit log of one site."""
    out = out.resolve()
    for seed, (name, sign) in enumerate(SITES.items()):
        write_site(out / "sites" / name, name, sign, seed)
    (out / "study.toml").write_text('target = "stay"\n')
    files = ",".join(str(out / "sites" / name / "site.toml") for name in SITES)
    (out / "run.toml").write_text(
        f'study = "{out / "study.toml"}"\nout = "{out / "result"}"\nclients = "{",".join(SITES)}"\nsites = "{files}"\n'
    )
    command = ["flwr", "run", str(APP), "local", "--stream", "--run-config", str(out / "run.toml")]
    quiet = {"FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1", "FLWR_TELEMETRY_ENABLED": "0"}
    done = subprocess.run(  # noqa: S603
        [*command, "--federation-config", f"num-supernodes={len(SITES)}"], env=os.environ | quiet, check=False
    )
    if not (out / "result" / "result.json").exists():
        return done.returncode or 1
    print((out / "sites" / "north" / "audit.jsonl").read_text(), end="")
    print(f"open {out / 'result' / 'report.html'}")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", type=Path, default=Path("out"), help="a new directory (%(default)s)")
    sys.exit(main(parser.parse_args().out))
