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
    graph = root.find(".//{*}graph")
    if root.tag.rpartition("}")[2] != "graphml" or graph is None:
        raise FormatError("there is no <graph> in a <graphml>; is this GraphML?")
    if graph.find("{*}hyperedge") is not None:
        raise FormatError("a hyperedge is not an edge from one client to another; write it as edges")
    names = [_name(node, "id", f"node {number}") for number, node in enumerate(graph.iterfind("{*}node"), start=1)]
    position = {client: index for index, client in enumerate(check_names(names))}
    directed = str(graph.get("edgedefault", "directed") == "directed").lower()
    ends: tuple[list[int], list[int]] = ([], [])
    for number, edge in enumerate(graph.iterfind("{*}edge"), start=1):
        if edge.get("directed", directed) != "true":
            raise FormatError(f"edge {number} is undirected; show who helps whom by directed edges")
        source, target = (_name(edge, attribute, f"edge {number}") for attribute in ("source", "target"))
        for end, client in zip(ends, (source, target), strict=True):
            if client not in position:
                between = f"an edge goes from {shown(source)} to {shown(target)}"
                raise InputError(f"{between}, but there is no node {shown(client)}; add it")
            end.append(position[client])
    return BenefitGraph.from_edges(position, *ends)


def _name(element: ET.Element, attribute: str, what: str) -> str:
    """Return the client that an attribute names; error messages begin with `what`."""
    name = element.get(attribute)
    if name is None:
        raise FormatError(f"{what} has no {attribute}; give it one")
    try:
        return check_name(name)
    except InputError as error:
        raise InputError(f"{what}: {error}") from None


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
