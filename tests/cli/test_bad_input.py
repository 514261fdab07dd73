"""Every kind of bad input on the installed command: one message, status 2, no traceback, nothing written."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]

GAME = '[{"client": "a", "coalition": ["a"], "utility": 1}, %s]'
XML = '<graphml><graph edgedefault="directed">%s</graph></graphml>'

# file name, what is in it, what the message says
FILES: list[tuple[str, str | bytes, str]] = [
    ("empty.json", "", "there is nothing in it"),
    ("blank.csv", " \n\n", "there is nothing in it"),
    ("noise.json", bytes(range(128, 256)), "not UTF-8 text"),
    ("noise.csv", b"\x89PNG\r\n\x1a\n\x00\xff\xfe", "not UTF-8 text"),
    ("noise.graphml", b"\x00\xff" * 99, "not UTF-8 text"),
    ("nul.csv", "from,to\na,b\x00\n", "U+0000"),
    ("cut.json", '{"a": ["b"]', "line 1, column 12: not valid JSON"),
    ("words.json", "hello", "not valid JSON"),
    ("number.json", "42", "expected an object of client → list of collaborators"),
    ("text.json", '"a"', "expected an object"),
    ("deep.json", "[" * 100_000, "nested too deeply to be a graph"),
    (
        "digits.json",
        '[{"client": "a", "coalition": ["a"], "utility": 1' + "0" * 5000 + "}]",
        "more digits than can be read",
    ),
    ("object.json", "{}", "there are no clients"),
    ("list.json", "[]", "no records"),
    ("shape.json", '{"a": {"b": 1}}', "must be a list of clients, not {'b': 1}"),
    ("scalar.json", '{"a": "b", "b": []}', "must be a list of clients, not 'b'"),
    ("unknown.json", '{"a": ["b"]}', "unknown client 'b'; the clients are 'a'"),
    ("double.json", '{"a": [], "a": []}', "the key 'a' appears twice"),
    ("nameless.json", '{"": []}', "empty name"),
    ("nameless-edge.json", '{"a": [" "]}', "empty name"),
    ("columns.csv", "source,target\na,b\n", "no column 'from' among ['source', 'target']"),
    ("column.csv", "from\na\n", "no column 'to'"),
    ("columns-twice.csv", "from,to,to\na,b,c\n", "more than one column 'to'"),
    ("header.csv", "from,to\n", "there is no edge"),
    ("nobody.csv", "from,to\na,b\na,\n", "line 3: there is no name under 'to'"),
    ("short.csv", "from,to\na\n", "line 2: there is no name under 'to'"),
    ("nameless.csv", "from,to\n,b\n", "line 2: there is no name under 'from'"),
    ("quote.csv", 'from,to\n"a,b\n', "not valid CSV"),
    ("cut.graphml", "<graphml><graph>", "not valid XML"),
    ("other.graphml", "<html/>", "is this GraphML?"),
    ("hollow.graphml", "<graphml/>", "is this GraphML?"),
    ("nobody.graphml", XML % '<node id="a"/><edge source="a" target="b"/>', "there is no node 'b'; add it"),
    ("double.graphml", XML % '<node id="a"/><node id="a"/>', "'a' is listed twice"),
    ("nameless.graphml", XML % '<node id=""/>', "empty name"),
    ("idless.graphml", XML % "<node/>", "node 1 has no id"),
    ("endless.graphml", XML % '<node id="a"/><edge source="a"/>', "edge 1 has no target"),
    ("none.graphml", XML % "", "there are no clients"),
    (
        "undirected.graphml",
        XML.replace("directed", "undirected") % '<node id="a"/><edge source="a" target="a"/>',
        "edge 1 is undirected",
    ),
    ("hyper.graphml", XML % '<node id="a"/><hyperedge/>', "hyperedge"),
    ("bomb.graphml", '<!DOCTYPE x [<!ENTITY y "z">]>' + XML % "", "document type"),
    (
        "nan.json",
        '[{"client": "a", "coalition": ["a"], "utility": NaN}]',
        "the utility of 'a' is nan; it must be a finite",
    ),
    ("infinite.json", '[{"client": "a", "coalition": ["a"], "utility": 1e999}]', "finite"),
    ("utility-text.json", '[{"client": "a", "coalition": ["a"], "utility": "high"}]', "must be a number"),
    ("null.json", '[{"client": "a", "coalition": ["a"], "utility": null}]', "must be a number"),
    (
        "without.json",
        GAME % '{"client": "a", "coalition": ["b"], "utility": 1}',
        "record 2: the coalition ['b'] lacks its client",
    ),
    ("stranger.json", GAME % '{"client": "a", "coalition": ["a", "b"], "utility": 1}', "unknown client 'b'"),
    ("alone.json", GAME % '{"client": "b", "coalition": ["a", "b"], "utility": 1}', "'b' has no utility alone"),
    ("twice.json", GAME % '{"client": "a", "coalition": ["a"], "utility": 2}', "an earlier record gives 1.0"),
    ("keys.json", '[{"client": "a", "coalition": ["a"]}]', "record 1 has no 'utility'"),
    ("records.json", "[1]", "record 1 is 1"),
    ("graph.txt", "a b", "ends in '.txt'; expected one of .json, .csv, .graphml"),
    ("graph", "a b", "the name has no ending"),
    ("comma.csv", "from,to\nSmith, Jones,South\n", "line 2: 3 values for 2 columns; put names with ',' in quotes"),
    ("long.csv", "from,to\na," + "\x00" * 1000, "…"),
    ("result.json", '{"comity": "0", "schema": 1, "coalitions": []}', "this is a result of comity"),
]


def check_refusal(done: subprocess.CompletedProcess[str], message: str) -> None:
    assert done.returncode == 2, done
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(("name", "content", "message"), FILES, ids=[name for name, _, _ in FILES])
def test_bad_file(comity: Run, tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    file = tmp_path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = comity("equilibrium", name, "--out", "run")
    check_refusal(done, message)
    assert done.stderr.startswith(f"Error: {name}: ")
    assert done.stderr.count("\n") == 1, "one message"
    assert len(done.stderr) < 400, "that can be read"
    assert sorted(path.name for path in tmp_path.iterdir()) == [name], "nothing written"


def test_bad_standard_input(comity: Run) -> None:
    check_refusal(comity("equilibrium", "-", input='{"a": ["b"]}'), "standard input: the collaborators of 'a'")
    check_refusal(comity("equilibrium", "-", input=""), "standard input: there is nothing in it")


def test_only_the_file_that_is_wrong_is_blamed(comity: Run, tmp_path: Path) -> None:
    clients = [f"c{number}" for number in range(13)]
    records = ", ".join(f'{{"client": "{i}", "coalition": ["{i}"], "utility": 1}}' for i in clients)
    (tmp_path / "game.json").write_text(f"[{records}]")
    (tmp_path / "partition.json").write_text(str([[i] for i in clients]).replace("'", '"'))
    for options, message in (
        (["--tolerance", "nan"], "the tolerance is nan"),
        (["--exhaustive"], "at most 12 clients"),
    ):
        done = comity("certify", "game.json", "partition.json", *options)
        check_refusal(done, f"Error: {message}" if "nan" in message else message)
        assert "partition.json" not in done.stderr


def test_missing_file_and_directory(comity: Run, tmp_path: Path) -> None:
    check_refusal(comity("equilibrium", "nowhere.json"), "nowhere.json: there is no such file")
    (tmp_path / "folder.json").mkdir()
    check_refusal(comity("equilibrium", "folder.json"), "folder.json: this is a directory")


def test_wrong_use(comity: Run, tmp_path: Path) -> None:
    (tmp_path / "graph.json").write_text('{"a": []}')
    check_refusal(comity("equilibrium"), "Missing argument 'FILE'")
    check_refusal(comity("equilibrium", "graph.json", "--jsn"), "Did you mean '--json'?")
    check_refusal(comity("equilibrim", "graph.json"), "Did you mean 'equilibrium'?")
    check_refusal(comity("equilibrium", "graph.json", "--exhaustive"), "--exhaustive needs a game")
    check_refusal(comity("equilibrium", "graph.json", "--force"), "--force needs --out")
    check_refusal(comity("equilibrium", "graph.json", "--peels", "--json"), "omit --peels")
    check_refusal(comity("equilibrium", ""), "the file name is empty")
    check_refusal(comity("equilibrium", "graph.json", "--out", ""), "the name of the output directory is empty")
    check_refusal(comity("certify", "graph.json", "graph.json"), "this is a graph, but a game is needed")


def test_out_that_is_taken(comity: Run, tmp_path: Path) -> None:
    (tmp_path / "graph.json").write_text('{"a": []}')
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    check_refusal(comity("equilibrium", "graph.json", "--out", "mine", "--force"), "it holds other files ('notes.txt')")
    check_refusal(comity("equilibrium", "graph.json", "--out", "graph.json"), "this is a file")
    assert comity("equilibrium", "graph.json", "--out", "run").returncode == 0
    before = (tmp_path / "run" / "equilibrium.json").read_text()
    check_refusal(comity("equilibrium", "graph.json", "--out", "run"), "replace it with --force")
    assert (tmp_path / "run" / "equilibrium.json").read_text() == before
    assert comity("equilibrium", "graph.json", "--out", "run", "--force").returncode == 0


@pytest.mark.parametrize(
    ("partition", "message"),
    [
        ('[["a", "b"]]', "partition.json: client 'c' is in no coalition"),
        ('[["a"], ["b"], ["c", "d"]]', "unknown client 'd'"),
        ('[["a"], ["a", "b"], ["c"]]', "'a' is in two coalitions"),
        ('[["a"], ["b"], ["c"], []]', "coalition 4 is empty"),
        ('{"a": 1}', "a partition is a list of coalitions"),
        ("[[", "not valid JSON"),
        ("", "there is nothing in it"),
        ('[{"a": 1}]', "coalition 1 must be a list of clients, not {'a': 1}"),
        ('{"coalitions": [3]}', "coalition 1 must be a list"),
    ],
)
def test_bad_partition(comity: Run, tmp_path: Path, partition: str, message: str) -> None:
    records = ", ".join(f'{{"client": "{i}", "coalition": ["{i}"], "utility": 1}}' for i in "abc")
    (tmp_path / "game.json").write_text(f"[{records}]")
    (tmp_path / "partition.json").write_text(partition)
    check_refusal(comity("certify", "game.json", "partition.json"), message)
