"""CSV edge lists: columns ``from`` and ``to``, where ``from`` is a collaborator of ``to``."""

import csv
import io

from comity.core import BenefitGraph, FormatError

_DELIMITERS = ",;\t"


def read_edge_list(text: str) -> BenefitGraph:
    """Read an edge list; other columns are passed over, and a row from a client to itself declares the client.

    Commas, semicolons or tabs separate columns, whichever gives the two that are needed.

    >>> read_edge_list("from,to\\nb,a\\na,b\\nc,c\\n")
    BenefitGraph({'b': ['a'], 'a': ['b'], 'c': []})
    """
    csv.field_size_limit(2**31 - 1)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text), skipinitialspace=True, strict=True)
    position: dict[str, int] = {}
    ends: tuple[list[int], list[int]] = ([], [])
    try:
        columns = [name.strip().lower() for name in next((row for row in reader if row), [])]
        if missing := [name for name in ("from", "to") if columns.count(name) != 1]:
            raise FormatError(
                f"line 1: {'no' if missing[0] not in columns else 'more than one'} column {missing[0]!r} among "
                f"{', '.join(map(repr, columns))}; the first line names the columns, one of them 'from' and one 'to'"
            )
        places = [columns.index("from"), columns.index("to")]
        for row in reader:
            if not row:
                continue  # an empty line
            for place, end, side in zip(places, ends, ("from", "to"), strict=True):
                if place >= len(row) or not row[place].strip():
                    raise FormatError(
                        f"line {reader.line_num}: {side!r} names nobody; an edge goes from a client to a client"
                    )
                client = row[place]
                end.append(position.setdefault(client, len(position)))
    except csv.Error as error:
        raise FormatError(f"line {reader.line_num}: not valid CSV ({error})") from None
    if not position:
        raise FormatError("there is no edge; a client without any is declared by a row from itself to itself")
    return BenefitGraph.from_edges(position, *ends)


def _delimiter(text: str) -> str:
    """Return the character that splits the first line into the columns from and to, a comma if none does."""
    header = text.lstrip("\r\n").partition("\n")[0].rstrip("\r").lower()
    for delimiter in _DELIMITERS:
        if {"from", "to"} <= {name.strip().strip('"') for name in header.split(delimiter)}:
            return delimiter
    return ","


def write_edge_list(graph: BenefitGraph) -> str:
    """Write an edge list with every name quoted, so that commas, quotes and spaces in names survive.

    >>> print(write_edge_list(BenefitGraph({"a": ["b"], "b": [], "c": []})), end="")
    from,to
    "a","a"
    "b","b"
    "c","c"
    "b","a"
    """
    out = io.StringIO()
    out.write("from,to\n")
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows((client, client) for client in graph.clients)  # keeps who has no edge, and the order
    writer.writerows(graph.edges())
    return out.getvalue()
