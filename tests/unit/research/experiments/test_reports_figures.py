"""Figures of an experiment: for each method and seed that found coalitions, and for each side of a table."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from comity.cli.reproduce import reproduce
from comity.errors import MissingDependencyError
from comity.game.equilibrium import find_equilibrium
from comity.report.drawing import FIGURES
from comity.research.datasets.paper import figure_1
from comity.research.experiments.cells import Cell, to_json
from comity.research.experiments.reports import draw_figures, read_decision


def cell(method: str, side: str = "") -> Cell:
    game = figure_1()
    graph, found = game.benefit_graph(), find_equilibrium(game)
    details = {
        "coalitions": [sorted(each) for each in found.coalitions],
        "edges": [list(edge) for edge in graph.edges()],
        "equilibrium": found.to_dict(),
    }
    prefix = f"{side} " if side else ""
    values = {prefix + client: 0.5 for client in graph.clients} | ({"other 1": 0.5} if side else {})
    made = Cell(method, 0, values, values, 1.0, "…", details={prefix + key: each for key, each in details.items()})
    return Cell.from_dict(json.loads(to_json(asdict(made))))


def test_what_was_decided_is_read_back() -> None:
    game = figure_1()
    for side in ("", "left"):
        graph, found = read_decision(cell("ce", side), side)
        assert graph == game.benefit_graph()
        assert found.to_dict() == find_equilibrium(game).to_dict()


def test_files_are_named_by_method_seed_and_side(tmp_path: Path) -> None:
    local = Cell("local", 0, {"a": 1.0}, {}, 1.0, "…")
    stages: list[tuple[str, int, int]] = []
    cells = [local, cell("spo"), cell("ce"), cell("paper", "left")]
    made = draw_figures(cells, tmp_path, lambda *stage: stages.append(stage))
    names = [f"{name}-{figure}.svg" for name in ("ce-0", "left-paper-0") for figure in FIGURES]
    assert [path.relative_to(tmp_path) for path in made] == [Path("figures") / name for name in names]
    assert stages == [("figures (ce-0)", 0, 2), ("figures (left-paper-0)", 1, 2)]


def test_nothing_to_draw(tmp_path: Path) -> None:
    assert draw_figures([Cell("local", 0, {"a": 1.0}, {}, 1.0, "…")], tmp_path, lambda *stage: None) == ()
    assert not list(tmp_path.iterdir())


def command(place: Path) -> Result:
    words = ["synthetic", "--quick", "--methods", "subsets", "--seeds", "1", "--figures", "--out", str(place)]
    return CliRunner().invoke(reproduce, words, standalone_mode=False)


def test_the_command_draws(tmp_path: Path) -> None:
    done = command(tmp_path / "out")
    assert done.exception is None
    assert f"6 figures in {tmp_path}/out/figures" in done.stdout
    assert len(list((tmp_path / "out" / "figures").iterdir())) == 6


def test_the_command_checks_first_that_matplotlib_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    error = command(tmp_path / "out").exception
    assert isinstance(error, MissingDependencyError)
    assert str(error).startswith("matplotlib is needed to draw figures; install comity's extra 'figures' ")
    assert not (tmp_path / "out").exists()
