"""Flower's simulation on this machine, for tests: the app of the examples, run as a user would (``flwr run``)."""

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from support.deployment import MARK, free_ports, kill_marked

APP = Path(__file__).parents[2] / "examples" / "federation" / "app"


def write_sites(where: Path, rows: Mapping[str, Path]) -> None:
    """Write a site for each client, with its rows."""
    for name, path in rows.items():
        site = where / name
        site.mkdir(parents=True)
        (site / "rows.csv").write_bytes(path.read_bytes())
        (site / "site.toml").write_text(f'name = "{name}"\nrows = "rows.csv"\n[policy]\ndisclosure = inf\n')


@contextmanager
def simulation_environment(home: Path) -> Iterator[dict[str, str]]:
    """Yield the environment variables for Flower's commands; processes that they leave running are killed."""
    home.mkdir()
    (home / "config.toml").write_text('[superlink]\ndefault = "local"\n[superlink.local]\naddress = ":local:"\n')
    mark, (control, api) = uuid.uuid4().hex, free_ports(2)
    try:
        yield os.environ | {
            "FLWR_HOME": str(home),
            "FLWR_LOCAL_CONTROL_API_PORT": str(control),
            "FLWR_LOCAL_SUPERLINK_HTTP_API_PORT": str(api),
            "FLWR_TELEMETRY_ENABLED": "0",
            "FLWR_DISABLE_UPDATE_CHECK": "1",
            "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
            "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
            "OMP_NUM_THREADS": "1",
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            MARK: mark,
        }
    finally:
        kill_marked(mark)


def simulate(environment: dict[str, str], sites: Path, study: Path, out: Path) -> str:
    """Run a study on the sites in a directory, and return what the run printed."""
    files = sorted(sites.glob("*/site.toml"))
    names = ",".join(file.parent.name for file in files)
    config = out.with_suffix(".toml")
    config.write_text(f'study = "{study}"\nout = "{out}"\nsites = "{",".join(map(str, files))}"\nclients = "{names}"\n')
    command = ["flwr", "run", str(APP), "local", "--stream", "--run-config", str(config)]
    command += ["--federation-config", f"num-supernodes={len(files)}"]
    done = subprocess.run(command, env=environment, timeout=900, capture_output=True, text=True, check=False)
    assert (out / "result.json").exists(), done.stdout + done.stderr
    return done.stdout
