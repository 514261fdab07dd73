"""Sites for tests: a directory each, with rows from two planted groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from comity.flower.client_app import app
from support.grids import InMemoryGrid

NAMES = ("a", "b", "c", "d")


def write_sites(where: Path, *, classes: bool = False, names: Iterable[str] = NAMES, rows: int = 60) -> dict[str, Path]:
    """Write sites of two groups, the first two and the others, and return the path of each site's file.

    They have no limit of disclosure, so that results are those of one process.
    """
    rng = np.random.default_rng(3)
    files = {}
    for place, name in enumerate(names):
        site = where / name
        site.mkdir(parents=True)
        inputs = rng.normal(size=(rows, 3))
        outcome = inputs @ np.array([1.0, 2.0 if place < 2 else -2.0, 0.5]) + 0.3 * rng.normal(size=rows)
        frame = pd.DataFrame(inputs, columns=["age", "dose", "weight"])
        frame["outcome"] = np.where(outcome > 0, "yes", "no") if classes else outcome
        frame.to_csv(site / "rows.csv", index=False)
        files[name] = site / "site.toml"
        files[name].write_text(f'name = "{name}"\nrows = "rows.csv"\n[policy]\ndisclosure = inf\n')
    return files


def write_study(where: Path, text: str = "") -> Path:
    """Write a study of these sites, with these settings."""
    path = where / "study.toml"
    path.write_text(f'target = "outcome"\n{text}')
    return path


def grid_of(sites: Mapping[str, Path]) -> InMemoryGrid:
    """Return a grid with a node for each site, numbered from 11."""
    configs = {number: {"site": str(path)} for number, path in enumerate(sites.values(), start=11)}
    return InMemoryGrid(app, list(configs), configs=configs)


def config_of(where: Path, study: Path, sites: Mapping[str, Path], **more: object) -> dict[str, object]:
    """Return the configuration of a run on these sites, with short waits."""
    settings = {"study": str(study), "clients": ",".join(sites), "out": str(where / "out")}
    return settings | {"timeout": 20.0, "grace": 0.4, "poll": 0.01} | more
