"""The command line as a user types it."""

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from comity import BenefitGraph, __version__
from comity.cli import main
from comity.research.datasets.paper import figure_1, figure_2
from support.processes import in_terminal, wait_until_ready

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def game(tmp_path: Path) -> str:
    (tmp_path / "game.json").write_text(json.dumps(list(figure_1().records())))
    return "game.json"


def test_a_graph_gives_the_same_output_in_every_format(comity: Run, tmp_path: Path) -> None:
    outputs = set()
    for ending in (".json", ".csv", ".graphml"):
        figure_2().save(tmp_path / f"graph{ending}")
        done = comity("equilibrium", f"graph{ending}")
        assert done.returncode == 0, done.stderr
        outputs.add(done.stdout)
    (output,) = outputs
    assert "6 clients with 7 wishes: 2 coalitions and 1 client alone, in 2 peels." in output
    lines = [line.split(maxsplit=2) for line in output.splitlines()]
    assert ["1", "1", "1, 2, 3"] in lines
    assert ["2", "1", "5, 6"] in lines
    assert ["3", "2", "4"] in lines
    assert "4 wanted 2; 2 gains nothing from 4" in output
    assert "Proof" not in output
    assert "\x1b" not in output


def test_a_hand_written_edge_list_is_read(comity: Run, tmp_path: Path) -> None:
    """Spaces after commas, a byte order mark, Windows line ends, another column, a repeated edge, a self-loop."""
    text = "\ufefffrom, to, why\r\nb, a, near\r\na, b,\r\na, b,\r\nc, c,\r\n\r\n"
    (tmp_path / "wishes.csv").write_bytes(text.encode())
    done = comity("equilibrium", "wishes.csv", "--json")
    assert [c["members"] for c in json.loads(done.stdout)["coalitions"]] == [["b", "a"], ["c"]]
    (tmp_path / "semicolon.csv").write_text("to;from\na;b\nb;a\n")
    assert json.loads(comity("equilibrium", "semicolon.csv", "--json").stdout)["clients"] == ["b", "a"]


def test_a_game_gives_a_proof(installed: Run, comity: Run, game: str) -> None:
    done = installed("equilibrium", game)
    assert done.returncode == 0
    assert "proved: nobody gains by leaving (6 outer and 7 inner inequalities hold)" in done.stdout
    assert "4 wanted 3; 3 gains nothing from 4" in done.stdout
    assert ["4", "0.60", "0.69", "0.75"] in [line.split() for line in done.stdout.splitlines()]
    exhaustive = comity("equilibrium", game, "--exhaustive", "--peels")
    assert "every subset tried" in exhaustive.stdout
    assert "4 lost 3 and is asked again: it now wants 5" in exhaustive.stdout


def test_json_has_the_whole_result(comity: Run, game: str) -> None:
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


def write_game(directory: Path, *records: tuple[str, str, float]) -> None:
    game = [{"client": i, "coalition": list(members), "utility": u} for i, members, u in records]
    (directory / "game.json").write_text(json.dumps(game))


def test_ties_are_listed_with_their_peel(comity: Run, tmp_path: Path) -> None:
    """First c wants a, which leaves with b; then c does equally well with d or e, and both want c."""
    alone = [(i, i, 0.0) for i in "abcde"]
    write_game(
        tmp_path, *alone, ("a", "ab", 1), ("b", "ab", 1), ("c", "ac", 3), ("c", "cd", 2), ("c", "ce", 2),
        ("d", "cd", 1), ("e", "ce", 1),
    )  # fmt: skip
    output = comity("equilibrium", "game.json").stdout
    assert "in peel 2, c does equally well with {c, d} or {c, e}" in output
    assert "e wanted c; c does equally well without e, and the tie went to others" in output
    document = json.loads(comity("equilibrium", "game.json", "--json").stdout)
    assert document["ties"] == [{"peel": 2, "client": "c", "sets": [["c", "d"], ["c", "e"]]}]


def test_the_reason_for_an_unmet_wish_is_true(comity: Run, tmp_path: Path) -> None:
    write_game(
        tmp_path, ("a", "a", 0.5), ("a", "ab", 0.9), ("a", "ac", 0.8), ("b", "b", 0.5), ("b", "ab", 0.6),
        ("c", "c", 0.5), ("c", "ac", 0.6), ("d", "d", 0.5), ("d", "bd", 0.6),
    )  # fmt: skip
    output = comity("equilibrium", "game.json").stdout
    assert "c wanted a; a gains nothing from c beyond what it gets from b\n" in output
    assert "d wanted b; b gains nothing from d\n" in output


def test_similar_names_give_a_warning(comity: Run, tmp_path: Path) -> None:
    (tmp_path / "wishes.csv").write_text("from,to\nnorth,South\nNorth ,South\nCafé,South\nCafe\u0301,South\n")
    done = comity("equilibrium", "wishes.csv")
    assert done.returncode == 0
    assert "'north' and 'North' are treated as two clients" in done.stderr
    assert done.stderr.count("Warning") == 2


def test_standard_input_is_read_in_every_format(comity: Run, tmp_path: Path) -> None:
    for ending in (".json", ".csv", ".graphml"):
        figure_2().save(tmp_path / f"graph{ending}")
        text = (tmp_path / f"graph{ending}").read_text()
        assert "2 coalitions and 1 client alone" in comity("equilibrium", "-", input=text).stdout


def test_the_exit_status_of_certify_is_its_verdict(comity: Run, game: str, tmp_path: Path) -> None:
    (tmp_path / "good.json").write_text('[["1", "2", "3"], ["4", "5", "6"]]')
    (tmp_path / "bad.json").write_text('[["1", "2", "3"], ["4"], ["5"], ["6"]]')
    good = comity("certify", game, "good.json", "--exhaustive")
    assert good.returncode == 0
    assert "proved" in good.stdout
    bad = comity("certify", game, "bad.json")
    assert bad.returncode == 1
    assert "refuted: {5, 6} would all gain by forming a coalition (5 0.65 → 0.7, 6 0.66 → 0.73)" in bad.stdout
    assert comity("equilibrium", game, "--out", "run").returncode == 0
    assert "proved" in comity("certify", game, "run/equilibrium.json").stdout
    done = comity("certify", game, "bad.json", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["witnesses"][0]["axiom"] == "outer"


def test_names_may_be_any_text(comity: Run, tmp_path: Path) -> None:
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


def test_demo_explains_the_peels(comity: Run) -> None:
    done = comity("demo", "--paper")
    assert done.returncode == 0
    assert comity("demo", "--paper", "--out", "x").returncode == 2
    assert "4 lost 3 and is asked again: it now wants 5" in done.stdout
    assert "every subset tried" in done.stdout


def test_version_help_and_completion(installed: Run, comity: Run) -> None:
    assert installed("--version").stdout == f"comity, version {__version__}\n"
    assert "Examples:" in installed("--help").stdout
    for command in ("demo", "solve", "predict", "verify", "show", "equilibrium", "certify"):
        assert "Examples:" in comity(command, "-h").stdout
    for shell in ("bash", "zsh", "fish"):
        assert "_COMITY_COMPLETE" in comity("completion", shell).stdout
    environment = {**os.environ, "_COMITY_COMPLETE": "bash_complete", "COMP_WORDS": "comity eq", "COMP_CWORD": "1"}
    assert comity(env=environment).stdout == "plain,equilibrium\n"


@pytest.fixture
def shell(command: str, tmp_path: Path) -> Run:
    """Run a line of bash, such as a pipeline or a redirection; the exit status is that of the command."""

    def run(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", f"set -o pipefail; {line.replace('comity', command, 1)}"],
            cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120, env={**os.environ, **environment},
        )  # fmt: skip

    return run


@pytest.mark.parametrize(
    "arguments",
    ["demo --paper", "equilibrium chain.csv", "equilibrium chain.csv --json", "certify game.json good.json", "--help"],
)
def test_a_broken_pipe_is_not_reported_as_refuted(shell: Run, game: str, tmp_path: Path, arguments: str) -> None:
    size = 20_000
    BenefitGraph.from_edges(map(str, range(size)), range(size - 1), range(1, size)).save(tmp_path / "chain.csv")
    (tmp_path / "good.json").write_text('[["1", "2", "3"], ["4", "5", "6"]]')
    for reader in ("true", "head -1"):
        done = shell(f"comity {arguments} | {reader}")
        assert done.returncode in (0, 141), "0 if the pipe could hold the whole output"
        assert done.stderr == ""


def test_output_to_a_closed_stream_or_a_full_disk(shell: Run, game: str) -> None:
    closed = shell(f"comity equilibrium {game} >&-")
    assert (closed.returncode, closed.stderr) == (0, "")
    full = shell(f"comity equilibrium {game} --json > /dev/full")
    assert full.returncode == 2
    assert full.stderr == "Error: the output cannot be written (No space left on device)\n"


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_output_in_an_encoding_without_some_characters(shell: Run, game: str, encoding: str) -> None:
    for arguments in ("demo --paper", f"equilibrium {game} --peels", "equilibrium --help"):
        done = shell(f"comity {arguments} > out.txt", PYTHONIOENCODING=encoding)
        assert (done.returncode, done.stderr) == (0, "")


def test_json_is_utf_8_in_every_terminal(shell: Run, tmp_path: Path) -> None:
    BenefitGraph({"日本": ["é"], "é": []}).save(tmp_path / "graph.json")
    shell("comity equilibrium graph.json --json > out.json", PYTHONIOENCODING="ascii")
    assert json.loads((tmp_path / "out.json").read_bytes())["clients"] == ["日本", "é"]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_command_leaves_no_files(command: str, tmp_path: Path, number: int, status: int) -> None:
    process = subprocess.Popen(
        [command, "equilibrium", "-", "--out", "run"],
        cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_until_ready(process)  # it waits for standard input
    process.send_signal(number)
    _, messages = process.communicate(timeout=60)
    assert process.returncode == status
    assert "Traceback" not in messages
    assert list(tmp_path.iterdir()) == []


def test_an_unexpected_error_is_reported_as_a_bug(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(main.cli, "main", lambda **options: 1 / 0)
    assert main.run() == 3
    assert "ZeroDivisionError: division by zero\nThis is a bug in comity" in capsys.readouterr().err
    monkeypatch.setenv("COMITY_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        main.run()


def test_gains_within_the_tolerance_do_not_refute(comity: Run, tmp_path: Path) -> None:
    write_game(tmp_path, ("a", "a", 0.5), ("a", "ab", 0.51), ("b", "b", 0.5), ("b", "ab", 0.6))
    (tmp_path / "alone.json").write_text('[["a"], ["b"]]')
    assert comity("certify", "game.json", "alone.json").returncode == 1
    assert comity("certify", "game.json", "alone.json", "--tolerance", "0.05").returncode == 0


def test_unusual_edge_lists_and_graphml_are_read(comity: Run, tmp_path: Path) -> None:
    long = "x" * 200_000
    (tmp_path / "tabs.csv").write_text(f"from\tto\n{long}\ta\na\t{long}\n")
    assert json.loads(comity("equilibrium", "tabs.csv", "--json").stdout)["clients"] == [long, "a"]
    (tmp_path / "excel.csv").write_text("sep=;\nfrom;to\nb;a\na;b;\n")
    assert json.loads(comity("equilibrium", "excel.csv", "--json").stdout)["clients"] == ["b", "a"]
    (tmp_path / "mixed.graphml").write_text(
        '<graphml><graph edgedefault="undirected"><node id="a"/><node id="b"/>'
        '<edge source="a" target="b" directed="true"/></graph></graphml>'
    )
    assert "2 clients with 1 wish: everybody alone, in 2 peels" in comity("equilibrium", "mixed.graphml").stdout


@pytest.mark.parametrize("columns", [60, 200])
def test_in_a_terminal_tables_have_lines_and_long_lists_are_cut(command: str, tmp_path: Path, columns: int) -> None:
    size = 300
    ring = {f"r{number}": [f"r{(number + 1) % 50}"] for number in range(50)}
    chain = {str(number): [str(number - 1)] if number else [] for number in range(size)}
    BenefitGraph({**ring, **chain}).save(tmp_path / "chain.csv")
    text, _ = in_terminal([command, "equilibrium", "chain.csv"], tmp_path, "stdout", columns)
    assert "─" in text
    assert "… and 261 more; --json lists all" in text, "coalitions"
    assert "… and 259 more; --json lists all" in text, "unmet wishes"
    assert "and 30 more" in " ".join(text.split()), "members of the ring"
