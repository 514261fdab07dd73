"""The command line as a user types it."""

import json
import os
import pty
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from comity import BenefitGraph, __version__
from comity.datasets.paper import figure_1, figure_2

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def game(tmp_path: Path) -> str:
    (tmp_path / "game.json").write_text(json.dumps(list(figure_1().records())))
    return "game.json"


def test_a_graph_in_every_format_gives_the_same(comity: Run, tmp_path: Path) -> None:
    outputs = set()
    for ending in (".json", ".csv", ".graphml"):
        figure_2().save(tmp_path / f"graph{ending}")
        done = comity("equilibrium", f"graph{ending}")
        assert done.returncode == 0, done.stderr
        outputs.add(done.stdout)
    (output,) = outputs
    assert "6 clients with 7 wishes form 3 coalitions in 2 peels." in output
    lines = [line.split(maxsplit=2) for line in output.splitlines()]
    assert ["1", "1", "1, 2, 3"] in lines
    assert ["2", "1", "5, 6"] in lines
    assert ["3", "2", "4"] in lines
    assert "4 wanted 2; 2 gains nothing from 4" in output
    assert "Proof" not in output
    assert "\x1b" not in output


def test_a_hand_written_edge_list(comity: Run, tmp_path: Path) -> None:
    """Spaces after commas, a byte order mark, Windows line ends, another column, a repeated edge, a self-loop."""
    text = "\ufefffrom, to, why\r\nb, a, near\r\na, b,\r\na, b,\r\nc, c,\r\n\r\n"
    (tmp_path / "wishes.csv").write_bytes(text.encode())
    done = comity("equilibrium", "wishes.csv", "--json")
    assert [c["members"] for c in json.loads(done.stdout)["coalitions"]] == [["b", "a"], ["c"]]
    (tmp_path / "semicolon.csv").write_text("to;from\na;b\nb;a\n")
    assert json.loads(comity("equilibrium", "semicolon.csv", "--json").stdout)["clients"] == ["b", "a"]


def test_a_game_comes_with_its_proof(comity: Run, game: str) -> None:
    done = comity("equilibrium", game)
    assert done.returncode == 0
    assert "proved: 6 outer and 7 inner inequalities hold" in done.stdout
    assert "4 wanted 3; 3 gains nothing from 4" in done.stdout
    assert ["4", "0.6", "0.69", "0.75"] in [line.split() for line in done.stdout.splitlines()]
    exhaustive = comity("equilibrium", game, "--exhaustive", "--peels")
    assert "every subset tried" in exhaustive.stdout
    assert "4 lost 3 and is asked again: it now wants 5" in exhaustive.stdout


def test_json_says_everything(comity: Run, game: str) -> None:
    document = json.loads(comity("equilibrium", game, "--json").stdout)
    assert document["comity"] == __version__
    assert document["kind"] == "game"
    assert [c["members"] for c in document["coalitions"]] == [["1", "2", "3"], ["4", "5", "6"]]
    assert document["peels"][1] == {"peel": 2, "wishes": {"4": ["5"]}, "left": [["4", "5", "6"]]}
    assert document["unmet"] == [{"client": "4", "collaborator": "3", "peel": 1}]
    assert document["utilities"]["4"] == {"alone": 0.6, "coalition": 0.69, "best": 0.75}
    assert document["certificate"]["verdict"] == "proved"
    assert len(document["certificate"]["inner"]) == 7


def test_out_holds_the_result(comity: Run, game: str, tmp_path: Path) -> None:
    printed = comity("equilibrium", game, "--json", "--out", "run").stdout
    assert (tmp_path / "run" / "equilibrium.json").read_text(encoding="utf-8") == printed
    rows = (tmp_path / "run" / "coalitions.csv").read_text().splitlines()
    assert rows[:2] == ["client,coalition,peel", "1,1,1"]
    assert BenefitGraph.load(tmp_path / "run" / "benefit-graph.graphml") == figure_1().benefit_graph()


def test_ties_are_said(comity: Run, tmp_path: Path) -> None:
    records = [("a", "a", 0), ("b", "b", 0), ("c", "c", 0), ("a", "ab", 1), ("a", "ac", 1), ("b", "ab", 1)]
    game = [{"client": i, "coalition": list(c), "utility": u} for i, c, u in records]
    (tmp_path / "game.json").write_text(json.dumps(game))
    assert "a does equally well with {a, b} or {a, c}" in comity("equilibrium", "game.json").stdout


def test_certify_gives_its_verdict_as_status(comity: Run, game: str, tmp_path: Path) -> None:
    (tmp_path / "good.json").write_text('[["1", "2", "3"], ["4", "5", "6"]]')
    (tmp_path / "bad.json").write_text('[["1", "2", "3"], ["4"], ["5"], ["6"]]')
    good = comity("certify", game, "good.json", "--exhaustive")
    assert good.returncode == 0
    assert "proved" in good.stdout
    bad = comity("certify", game, "bad.json")
    assert bad.returncode == 1
    assert "refuted: {5, 6} would all gain as a coalition of their own (5 0.65 → 0.7, 6 0.66 → 0.73)" in bad.stdout
    told = comity("certify", game, "bad.json", "--json")
    assert told.returncode == 1
    assert json.loads(told.stdout)["witnesses"][0]["axiom"] == "outer"


def test_names_of_any_text(comity: Run, tmp_path: Path) -> None:
    names = ['St. Mary, "north"', "[red]Bold[/red]", "Zürich 日本", "two\nlines", "-x", "=1+1"]
    graph = BenefitGraph({name: [names[place - 1]] for place, name in enumerate(names)})
    for ending in (".json", ".csv", ".graphml"):
        graph.save(tmp_path / f"graph{ending}")
        document = json.loads(comity("equilibrium", f"graph{ending}", "--json", "--out", f"run{ending}").stdout)
        assert document["clients"] == names
        assert BenefitGraph.load(tmp_path / f"run{ending}" / "benefit-graph.graphml") == graph
    plain = comity("equilibrium", "graph.json").stdout
    assert "[red]Bold[/red]" in plain
    assert "two\\nlines" in plain


def test_demo_tells_the_story(comity: Run) -> None:
    done = comity("demo")
    assert done.returncode == 0
    assert "4 lost 3 and is asked again: it now wants 5" in done.stdout
    assert "every subset tried" in done.stdout


def test_version_help_and_completion(comity: Run) -> None:
    assert comity("--version").stdout == f"comity, version {__version__}\n"
    assert "Examples:" in comity("--help").stdout
    for command in ("equilibrium", "certify"):
        assert "Examples:" in comity(command, "-h").stdout
    for shell in ("bash", "zsh", "fish"):
        assert "_COMITY_COMPLETE" in comity("completion", shell).stdout
    environment = {**os.environ, "_COMITY_COMPLETE": "bash_complete", "COMP_WORDS": "comity eq", "COMP_CWORD": "1"}
    assert comity(env=environment).stdout == "plain,equilibrium\n"


def test_a_reader_that_has_had_enough(comity: Run, tmp_path: Path) -> None:
    size = 50_000
    BenefitGraph.from_edges(map(str, range(size)), range(size - 1), range(1, size)).save(tmp_path / "chain.csv")
    command = comity("--version").args[0]
    piped = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command} equilibrium chain.csv | head -1"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert piped.stdout.startswith("50,000 clients with 49,999 wishes form 50,000 coalitions")
    assert piped.stderr == ""


@pytest.mark.parametrize("columns", [60, 200])
def test_a_terminal_gets_tables_and_long_lists_are_cut(comity: Run, tmp_path: Path, columns: int) -> None:
    size = 300
    BenefitGraph.from_edges(map(str, range(size)), range(size - 1), range(1, size)).save(tmp_path / "chain.csv")
    main, side = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm"}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen(
        [comity("--version").args[0], "equilibrium", "chain.csv"], cwd=tmp_path, stdout=side, env=environment
    )
    os.close(side)
    output = b""
    while True:
        try:
            output += os.read(main, 65536)
        except OSError:  # the other side is closed
            break
        if not output:
            break
    os.close(main)
    assert process.wait(timeout=60) == 0
    text = output.decode()
    assert "─" in text
    assert "… and 260 more; --json lists all" in text
