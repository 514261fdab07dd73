"""Jobs in Flower's simulation, started as a user would (``flwr run``): the same as in one process."""

import os
import signal
import subprocess
import sys
import uuid
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import comity
from comity.flower.client_app import files_of
from deployment import MARK, free_ports, marked
from federation.test_deployment import CLIENTS, STUDIES, same_as_here, write_rows

APP = Path(__file__).parents[2] / "examples" / "federation" / "app"


@pytest.fixture
def environment(tmp_path):
    """The environment of Flower's commands; whatever they leave behind, such as a SuperLink, is ended."""
    home = tmp_path / "flower"
    home.mkdir()
    (home / "config.toml").write_text('[superlink]\ndefault = "local"\n[superlink.local]\naddress = ":local:"\n')
    mark, (control, api) = uuid.uuid4().hex, free_ports(2)
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
    for pid in marked(mark):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_jobs_give_what_they_give_in_process(environment, tmp_path):
    rows = write_rows(tmp_path / "rows")
    for name, path in rows.items():
        site = tmp_path / "sites" / name
        site.mkdir(parents=True)
        (site / "rows.csv").write_bytes(path.read_bytes())
        (site / "site.toml").write_text(f'name = "{name}"\nrows = "rows.csv"\n')
    for kind, (settings, most) in STUDIES.items():
        study = tmp_path / f"{kind}.toml"
        study.write_text("\n".join(f"{key} = {value!r}".replace("'", '"') for key, value in settings.items()))
        config = {
            "study": study,
            "out": tmp_path / kind,
            "sites": files_of(tmp_path / "sites"),
            "clients": ",".join(CLIENTS),
        }
        (tmp_path / "run.toml").write_text("\n".join(f'{key} = "{value}"' for key, value in config.items()))
        settled = ["--run-config", str(tmp_path / "run.toml"), "--federation-config", f"num-supernodes={len(CLIENTS)}"]
        done = subprocess.run(
            ["flwr", "run", str(APP), "local", "--stream", *settled],
            env=environment,
            timeout=600,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (tmp_path / kind / "result.json").exists(), done.stdout + done.stderr
        found = comity.Result.load(tmp_path / kind)
        same_as_here(found, rows, settings)
        assert found.traffic["rounds"] <= most
        assert np.isfinite(found.models["best"]).all()
