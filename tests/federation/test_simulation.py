"""Boosted trees in Flower's simulation, started as a user would: the result is that of one process."""

from pathlib import Path

import numpy as np
import pytest

import comity
from support.simulation import simulate, simulation_environment, write_sites
from support.stacks import crossed

pytest.importorskip("sklearn")


def test_boosted_trees_in_a_simulation_are_those_of_one_process(tmp_path: Path) -> None:
    files = {}
    for name, rows in crossed(rows=40).groupby("client"):
        files[str(name)] = tmp_path / f"{name}.csv"
        rows.drop(columns="client").to_csv(files[str(name)], index=False)
    write_sites(tmp_path / "sites", files)
    study = tmp_path / "study.toml"
    study.write_text('target = "y"\nmodel = "boosting"\n')
    with simulation_environment(tmp_path / "home") as environment:
        simulate(environment, tmp_path / "sites", study, tmp_path / "out")
    found = comity.verify(tmp_path / "out")
    here = comity.solve({name: str(path) for name, path in files.items()}, target="y", model="boosting")
    assert set(found.coalitions) == set(here.coalitions) == {frozenset("abc"), frozenset("def")}
    assert found.files == here.files
    for client, standing in here.utilities.items():
        there = found.utilities[client]
        for kind in ("alone", "coalition", "best", "together"):
            assert getattr(there, kind).value == pytest.approx(getattr(standing, kind).value, abs=1e-6)
    for kind in here.models:
        np.testing.assert_allclose(found.models[kind], here.models[kind], atol=1e-6)
