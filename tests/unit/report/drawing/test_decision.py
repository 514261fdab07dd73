"""Figures show the graph: every client once, every edge as an arrow, every coalition with its members."""

import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest

from comity.errors import InputError, MissingDependencyError, OutputError
from comity.game.equilibrium import find_equilibrium
from comity.game.graph import BenefitGraph
from comity.report.drawing import FIGURES, FORMATS, draw
from comity.report.drawing.labels import choose_labels
from comity.research.datasets.paper import figure_1, figure_2

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = (
    "$x^2$", r"\frac{1}{", "<b>&\"'", "--", "a→b", "a,b", "%41", "شمال", "שלום", "\u202egnp.exe", "two\nlines",
    "東京都立病院", "é" * 60, "é" * 60 + "!", "🏥", " blank ", "client:a", "edge:a→b", "alone", "x" * 500,
    "x" * 499 + "y", "x" * 501,
)  # fmt: skip


def ring(count: int) -> BenefitGraph:
    """Rings of five clients, each ring wanting one of the ring before."""
    names = [f"client {number}" for number in range(count)]
    wishes = {
        name: [names[number - number % 5 + (number + 1) % 5]] for number, name in enumerate(names[: count // 5 * 5])
    }
    for number in range(5, count, 5):
        wishes.setdefault(names[number], []).append(names[number - 5])
    return BenefitGraph({name: wishes.get(name, []) for name in names})


def dense(count: int, share: float = 0.6) -> BenefitGraph:
    drawn = random.Random(0)
    names = [f"n{number}" for number in range(count)]
    return BenefitGraph({i: [j for j in names if j != i and drawn.random() < share] for i in names})


def hostile() -> BenefitGraph:
    return BenefitGraph({name: [HOSTILE[number // 2], HOSTILE[-1]] for number, name in enumerate(HOSTILE)})


GRAPHS = {
    "one": BenefitGraph({"a": []}),
    "two": BenefitGraph({"a": ["b"], "b": []}),
    "figure 2": figure_2(),
    "dense": dense(10),
    "thirty": ring(30),
    "deep": BenefitGraph({str(number): [str(number - 1)] if number else [] for number in range(30)}),
    "apart": BenefitGraph({str(number): [] for number in range(40)}),
    "hostile": hostile(),
    "many": ring(200),
    "many edges": dense(25, 0.9),
}


class Svg:
    """An SVG file: its identifiers, by kind, and the texts in the group of an identifier."""

    def __init__(self, path: Path) -> None:
        self.root = ElementTree.fromstring(path.read_bytes())
        self.groups = [group for group in self.root.iter(f"{SVG}g") if ":" in group.get("id", "")]

    def of(self, kind: str) -> list[tuple[str, ElementTree.Element]]:
        split = [(group.get("id", "").partition(":"), group) for group in self.groups]
        return [(rest, group) for (found, _, rest), group in split if found == kind]

    def edges(self, kind: str) -> list[tuple[str, ...]]:
        return [tuple(map(unquote, rest.split("→"))) for rest, _ in self.of(kind)]

    def members(self, kind: str) -> set[frozenset[str]]:
        return {frozenset(map(unquote, rest.partition(":")[2].split(","))) for rest, _ in self.of(kind)}

    def labels(self) -> list[tuple[str, list[str]]]:
        return [(unquote(rest), list(texts(group))) for rest, group in self.of("client")]


def texts(group: ElementTree.Element) -> Iterator[str]:
    return (text.text or "" for text in group.iter(f"{SVG}text"))


@pytest.fixture(scope="module")
def drawn(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[BenefitGraph, list[Path]]:
    """A graph and its figures, drawn once for several tests."""
    graph = GRAPHS[request.param]
    return graph, list(draw(graph, tmp_path_factory.mktemp("drawn")))


def each(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("drawn", names, indirect=True, scope="module")


@each(*GRAPHS)
def test_every_client_is_named_once_in_every_figure(drawn: tuple[BenefitGraph, list[Path]]) -> None:
    graph, paths = drawn
    for path in paths:
        labels = Svg(path).labels()
        assert Counter(client for client, _ in labels) == Counter(graph.clients)
        label = dict(zip(graph.clients, choose_labels(graph.clients), strict=True))
        assert all(shown == [label[client]] for client, shown in labels)
        ids = re.findall(r' id="([^"]*)"', path.read_text(encoding="utf-8"))
        assert len(ids) == len(set(ids))


@each(*(name for name in GRAPHS if not name.startswith("many")))
def test_arrows_are_the_edges(drawn: tuple[BenefitGraph, list[Path]]) -> None:
    graph, paths = drawn
    found = find_equilibrium(graph)
    whole, parts, equilibrium = map(Svg, paths)
    assert sorted(whole.edges("edge")) == sorted(graph.edges())
    number = {client: str(at + 1) for at, members in enumerate(found.coalitions) for client in members}
    between = {(number[j], number[i]) for j, i in graph.edges() if number[j] != number[i]}
    assert sorted(parts.edges("between")) == sorted(between)
    inside = [(j, i) for j, i in graph.edges() if number[j] == number[i]]
    assert sorted(equilibrium.edges("edge")) == sorted(inside)
    assert sorted(equilibrium.edges("unmet")) == sorted((wish.collaborator, wish.client) for wish in found.unmet)


@each(*GRAPHS)
def test_coalitions_have_their_members(drawn: tuple[BenefitGraph, list[Path]]) -> None:
    graph, paths = drawn
    coalitions = set(find_equilibrium(graph).coalitions)
    _, parts, equilibrium = map(Svg, paths)
    for found in (parts.members("component"), equilibrium.members("coalition")):
        # of many clients only groups of two or more are outlined
        assert found == coalitions or (len(graph) > 60 and found == {each for each in coalitions if len(each) > 1})


def test_an_arrow_points_at_the_client_that_wants(tmp_path: Path) -> None:
    """The head is the second path of an arrow; it is nearer to the node of the client than to its collaborator's."""
    for path in draw(BenefitGraph({"giver": [], "taker": ["giver"], "other": []}), tmp_path):
        if path.stem == "components":
            continue
        drawn = Svg(path)
        (_, arrow), *_ = drawn.of("edge") or drawn.of("unmet")
        head = points(list(arrow.iter(f"{SVG}path"))[-1])
        nodes = {unquote(rest): points(next(group.iter(f"{SVG}path"))) for rest, group in drawn.of("node")}
        away = {name: np.linalg.norm(head.mean(0) - node.mean(0)) for name, node in nodes.items()}
        assert min(away, key=lambda name: away[name]) == "taker"


def points(path: ElementTree.Element) -> np.ndarray:
    return np.array(re.findall(r"-?\d+(?:\.\d+)?", path.get("d", "")), float).reshape(-1, 2)


def test_the_paper_s_first_figure(tmp_path: Path) -> None:
    """Client 4 wanted 3, who left; asked again, it wants 5, and the three of them are the second coalition."""
    game = figure_1()
    *_, path = draw(game.benefit_graph(), tmp_path, equilibrium=find_equilibrium(game))
    drawn = Svg(path)
    assert drawn.members("coalition") == {frozenset("123"), frozenset("456")}
    assert drawn.edges("unmet") == [("3", "4")]
    assert ("5", "4") in drawn.edges("edge")
    assert [text for text in texts(drawn.root) if text.startswith("peel")] == ["peel 1", "peel 2"]


def test_clients_in_another_order(tmp_path: Path) -> None:
    graph = BenefitGraph({"a": ["b"], "b": ["a"], "c": ["a"]})
    turned = BenefitGraph({"c": ["a"], "b": ["a"], "a": ["b"]})
    *_, path = draw(graph, tmp_path, equilibrium=find_equilibrium(turned))
    assert Svg(path).members("coalition") == {frozenset("ab"), frozenset("c")}
    assert sorted(Svg(path).edges("edge")) == [("a", "b"), ("b", "a")]


def test_coalitions_can_be_given_without_an_equilibrium(tmp_path: Path) -> None:
    graph = BenefitGraph({"a": ["b"], "b": ["a"], "c": ["a"]})
    *_, path = draw(graph, tmp_path, equilibrium=[frozenset("a"), frozenset("bc")])
    drawn = Svg(path)
    assert drawn.members("coalition") == {frozenset("a"), frozenset("bc")}
    assert sorted(drawn.edges("unmet")) == [("a", "b"), ("a", "c"), ("b", "a")]
    assert not [text for text in texts(drawn.root) if text.startswith("peel")]


def test_a_client_alone_is_labelled_alone(tmp_path: Path) -> None:
    *_, path = draw(BenefitGraph({"a": ["b"], "b": ["a"], "c": []}), tmp_path)
    assert Counter(texts(Svg(path).root))["alone"] == 1


def test_larger_weights_make_wider_arrows(tmp_path: Path) -> None:
    graph = BenefitGraph({"a": ["b", "c"], "b": ["a"], "c": []})
    path, *_ = draw(graph, tmp_path, weights={("b", "a"): 3.0, ("c", "a"): np.float32(1.5), ("a", "b"): -1.0})
    styles = {rest: next(group.iter(f"{SVG}path")).get("style", "") for rest, group in Svg(path).of("edge")}
    widths = {edge: float(re.findall(r"stroke-width: ([\d.]+)", style)[0]) for edge, style in styles.items()}
    assert widths["b→a"] > widths["c→a"] > widths["a→b"] > 0


@each("hostile", "many", "many edges")
def test_the_same_bytes_again(drawn: tuple[BenefitGraph, list[Path]], tmp_path: Path) -> None:
    graph, paths = drawn
    assert [path.read_bytes() for path in draw(graph, tmp_path)] == [path.read_bytes() for path in paths]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """The figures of a graph in every format."""
    return tuple(draw(figure_2(), tmp_path_factory.mktemp("made") / "new" / "place", name="first", formats=FORMATS))


def test_the_same_bytes_again_in_other_formats(made: tuple[Path, ...], tmp_path: Path) -> None:
    again = draw(figure_2(), tmp_path, formats=["png", "pdf"])
    assert [path.read_bytes() for path in made if path.suffix != ".svg"] == [path.read_bytes() for path in again]


def test_formats(made: tuple[Path, ...]) -> None:
    assert [path.name for path in made] == [f"first-{figure}.{ending}" for figure in FIGURES for ending in FORMATS]
    begins = {".svg": b"<?xml", ".png": b"\x89PNG", ".pdf": b"%PDF"}
    assert all(path.read_bytes().startswith(begins[path.suffix]) for path in made)
    assert sorted(made) == sorted(made[0].parent.iterdir())


def test_a_user_s_settings_have_no_effect_and_do_not_change(tmp_path: Path) -> None:
    before = [path.read_bytes() for path in draw(figure_2(), tmp_path)]
    with matplotlib.rc_context({"font.size": 30, "svg.fonttype": "path", "axes.facecolor": "red"}):
        assert [path.read_bytes() for path in draw(figure_2(), tmp_path)] == before
        assert matplotlib.rcParams["font.size"] == 30


def test_pyplot_is_never_loaded(tmp_path: Path) -> None:
    code = (
        "import sys; from comity import BenefitGraph; from comity.report.drawing import draw\n"
        "assert 'matplotlib' not in sys.modules\n"
        f"draw(BenefitGraph({{'a': []}}), {str(tmp_path)!r}, formats=['svg', 'png', 'pdf'])\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_thousands_of_clients(tmp_path: Path) -> None:
    names = [str(number) for number in range(5000)]
    sources = np.random.default_rng(0).integers(5000, size=20_000)
    graph = BenefitGraph.from_edges(names, sources, np.arange(20_000) % 5000)
    assert all(path.stat().st_size < 2_000_000 for path in draw(graph, tmp_path))


def test_labels_are_distinct() -> None:
    assert len(set(choose_labels(["x" * 500, "x" * 501, "x" * 502]))) == 3
    assert len(set(choose_labels(["a\n", "a\\n", "a\\n #1"]))) == 3


def test_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = BenefitGraph({"a": ["b"], "b": []})
    with pytest.raises(InputError, match="unknown format 'gif'; the formats are svg, png, pdf"):
        draw(graph, tmp_path, formats=["gif"])
    with pytest.raises(InputError, match="formats is empty"):
        draw(graph, tmp_path, formats=[])
    with pytest.raises(InputError, match="a BenefitGraph, not"):
        draw({"a": []}, tmp_path)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="without slashes"):
        draw(graph, tmp_path, name="../a")
    with pytest.raises(InputError, match="other clients than the graph"):
        draw(graph, tmp_path, equilibrium=find_equilibrium({"a": []}))
    with pytest.raises(InputError, match="'b' is in no coalition"):
        draw(graph, tmp_path, equilibrium=[frozenset("a")])
    with pytest.raises(InputError, match="'a' is in two coalitions"):
        draw(graph, tmp_path, equilibrium=[frozenset("a"), frozenset("ab")])
    with pytest.raises(InputError, match="coalition 1 is empty"):
        draw(graph, tmp_path, equilibrium=[frozenset(), frozenset("ab")])
    for weight in (float("nan"), float("inf"), "much"):
        with pytest.raises(InputError, match="give a finite number"):
            draw(graph, tmp_path, weights={("b", "a"): weight})  # type: ignore[dict-item]
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(OutputError, match="cannot be written to"):
            draw(graph, place)
    with pytest.raises(OutputError, match="is empty"):
        draw(graph, "")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match=r"to draw figures; install comity's extra 'figures'"):
        draw(graph, tmp_path)
