"""CSV edge lists: columns ``from`` and ``to``, where ``from`` is a collaborator of ``to``."""

import csv
import io
import re

from comity.core.names import shown
from comity.errors import FormatError
from comity.game.graph import BenefitGraph

_DELIMITERS = ",;\t"
# Blanks before a delimiter or a line end are dropped, as csv drops those after a delimiter; quoted text stays.
_BLANKS = re.compile(r'(?P<quoted>"(?:[^"]|"")*")|  *(?=[,;\t\r\n]|$)')


def read_edge_list(text: str) -> BenefitGraph:
    """Read an edge list. Other columns are ignored; a row from a client to itself declares a client without edges.

    Columns are separated by commas, semicolons or tabs, whichever yields the columns from and to.

    >>> read_edge_list("from,to\\nb,a\\na,b\\nc,c\\n")
    BenefitGraph({'b': ['a'], 'a': ['b'], 'c': []})
    """
    csv.field_size_limit(2**31 - 1)
    delimiter, lines_before, text = _split_delimiter(text)
    text = _BLANKS.sub(lambda found: found["quoted"] or "", text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True)
    position: dict[str, int] = {}
    ends: tuple[list[int], list[int]] = ([], [])
    try:
        columns = [name.strip().lower() for name in next((row for row in reader if row), [])]
        for name in ("from", "to"):
            if columns.count(name) != 1:
                raise FormatError(
                    f"{'more than one' if name in columns else 'no'} column {name!r} among {shown(columns)}; "
                    "the first line names the columns, one of them 'from' and one 'to'"
                )
        for row in reader:
            if not any(row):
                continue  # an empty line
            if any(row[len(columns) :]):
                raise FormatError(
                    f"{len(row)} values for {len(columns)} columns; put names with {delimiter!r} in quotes"
                )
            for end, side in zip(ends, ("from", "to"), strict=True):
                index = columns.index(side)
                if index >= len(row) or not row[index].strip():
                    raise FormatError(f"there is no name under {side!r}; an edge goes from one client to another")
                end.append(position.setdefault(row[index], len(position)))
    except (csv.Error, FormatError) as error:
        problem = error if isinstance(error, FormatError) else f"not valid CSV ({error})"
        raise FormatError(f"line {reader.line_num + lines_before}: {problem}") from None
    if not position:
        raise FormatError("there is no edge; declare a client without edges by a row from itself to itself")
    return BenefitGraph.from_edges(position, *ends)


def _split_delimiter(text: str) -> tuple[str, int, str]:
    """Return the delimiter, the number of lines before the header (0 or 1), and the text from the header on.

    Spreadsheets may write the delimiter into an extra first line, such as ``sep=;``.
    """
    first, _, rest = text.partition("\n")
    if separator := re.fullmatch(r"sep=(.)\r?", first.strip(" ")):
        return separator[1], 1, rest
    header = text.lstrip("\r\n").partition("\n")[0].rstrip("\r").lower()
    for delimiter in _DELIMITERS:
        if {"from", "to"} <= {name.strip().strip('"') for name in header.split(delimiter)}:
            return delimiter, 0, text
    return ",", 0, text


def write_edge_list(graph: BenefitGraph) -> str:
    """Write an edge list, with every name quoted so that commas, quotes and spaces in names are preserved.

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
    writer.writerows((client, client) for client in graph.clients)  # keeps clients without edges, and the order
    writer.writerows(graph.edges())
    return out.getvalue()
