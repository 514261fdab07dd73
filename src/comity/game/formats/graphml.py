"""GraphML: a node for each client, a directed edge from each collaborator to the client that wants it."""

import xml.etree.ElementTree as ET

from comity.core.names import check_name, check_names, shown
from comity.errors import FormatError, InputError
from comity.game.graph import BenefitGraph

_NAMESPACE = "http://graphml.graphdrawing.org/xmlns"


def read_graphml(text: str) -> BenefitGraph:
    """Read the first graph of a GraphML document; a node's id is the client's name.

    >>> read_graphml('<graphml><graph edgedefault="directed"><node id="a"/><node id="b"/>'
    ...              '<edge source="b" target="a"/></graph></graphml>')
    BenefitGraph({'a': ['b'], 'b': []})
    """
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise FormatError("the XML declares a document type, which is not supported; remove the declaration")
    try:
        root = ET.fromstring(text)
    except ET.ParseError as error:
        raise FormatError(
            f"line {error.position[0]}, column {error.position[1]}: not valid XML ({error.msg})"
        ) from None
    graph = next((element for element in root.iter() if _tag(element) == "graph"), None)
    if _tag(root) != "graphml" or graph is None:
        raise FormatError("there is no <graph> in a <graphml>; is this GraphML?")
    default = graph.get("edgedefault", "directed")
    names: list[str] = []
    edges: list[tuple[str, str]] = []
    for element in graph:
        if _tag(element) == "node":
            names.append(_named(element, "id", len(names)))
        elif _tag(element) == "edge":
            if element.get("directed", str(default == "directed").lower()) != "true":
                raise FormatError(f"edge {len(edges) + 1} is undirected; show who helps whom by directed edges")
            edges.append((_named(element, "source", len(edges)), _named(element, "target", len(edges))))
        elif _tag(element) == "hyperedge":
            raise FormatError("a hyperedge is not an edge from one client to another; write it as edges")
    position = {client: index for index, client in enumerate(check_names(names))}
    for edge in edges:
        for end in edge:
            if end not in position:
                raise InputError(
                    f"an edge goes from {shown(edge[0])} to {shown(edge[1])}, but there is no node {shown(end)}; add it"
                )
    sources, targets = ([position[edge[side]] for edge in edges] for side in (0, 1))
    return BenefitGraph.from_edges(position, sources, targets)


def _tag(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def _named(element: ET.Element, attribute: str, before: int) -> str:
    """Return the client that an attribute names; `before` is the number of earlier elements of this kind."""
    name = element.get(attribute)
    if name is None:
        raise FormatError(f"{_tag(element)} {before + 1} has no {attribute}; give it one")
    try:
        return check_name(name)
    except InputError as error:
        raise InputError(f"{_tag(element)} {before + 1}: {error}") from None


def write_graphml(graph: BenefitGraph) -> str:
    """Write a graph as a GraphML document that networkx, Gephi, yEd and igraph read."""
    root = ET.Element("graphml", xmlns=_NAMESPACE)
    element = ET.SubElement(root, "graph", id="benefit", edgedefault="directed")
    for client in graph.clients:
        ET.SubElement(element, "node", id=client)
    for collaborator, client in graph.edges():
        ET.SubElement(element, "edge", source=collaborator, target=client)
    ET.indent(root, " ")
    return ET.tostring(root, encoding="unicode", xml_declaration=False) + "\n"
