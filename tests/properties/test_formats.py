"""Names are any text and survive every format; so do edges and clients without any."""

from pathlib import Path

import pytest
from hypothesis import given

from comity import BenefitGraph
from comity.game.formats import READERS, WRITERS
from support.strategies import graphs


@pytest.mark.parametrize("ending", WRITERS)
@given(graph=graphs())
def test_text_survives(ending: str, graph: BenefitGraph) -> None:
    again = READERS[ending](WRITERS[ending](graph))
    assert again == graph
    assert again.clients == graph.clients


@given(graphs())
def test_networkx_survives(graph: BenefitGraph) -> None:
    again = BenefitGraph.from_networkx(graph.to_networkx())
    assert again == graph
    assert again.clients == graph.clients


@pytest.mark.parametrize("ending", WRITERS)
def test_files_survive(ending: str, tmp_path: Path) -> None:
    graph = BenefitGraph({'a, "b"': ["ç\nd", " e "], "ç\nd": [], " e ": ['a, "b"'], "日本": []})
    graph.save(tmp_path / f"graph{ending}")
    assert BenefitGraph.load(tmp_path / f"graph{ending}") == graph
    assert [path.name for path in tmp_path.iterdir()] == [f"graph{ending}"]


def test_graphml_is_what_networkx_reads(tmp_path: Path) -> None:
    import networkx

    graph = BenefitGraph({"a": ["b", "c"], "b": [], "c": ["a"], "alone": []})
    graph.save(tmp_path / "graph.graphml")
    assert BenefitGraph.from_networkx(networkx.read_graphml(tmp_path / "graph.graphml")) == graph
    networkx.write_graphml(graph.to_networkx(), tmp_path / "theirs.graphml")
    assert BenefitGraph.load(tmp_path / "theirs.graphml") == graph
