"""The names of clients in a drawing: as short, distinct labels, and as parts of identifiers."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from urllib.parse import quote

_MAX_WIDTH = 15.0  # ems: about 24 letters
# Characters that would end the line or reverse the direction of the text.
_UNPRINTABLE = re.compile("[\n\r\t\u2028\u2029\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]")
_WIDE = frozenset("mwMW@%—…")


def choose_labels(names: Sequence[str]) -> tuple[str, ...]:
    """Return a label for each name: the name, shortened in the middle if it is too wide.

    Names often differ at their ends, so both ends are kept. Labels that would be equal are numbered.

    >>> choose_labels(["north", "the hospital of the district of the south"])
    ('north', 'the hospita…f the south')
    """
    # Invisible characters are escaped, as on the command line.
    visible = (_UNPRINTABLE.sub(lambda found: found.group().encode("unicode_escape").decode(), name) for name in names)
    labels = list(map(_shorten, visible))
    times = Counter(labels)
    taken = set(labels)
    distinct = []
    for label in labels:
        number, text = 1, label
        while times[label] > 1 and text in taken:
            text, number = f"{label} #{number}", number + 1
        taken.add(text)
        distinct.append(text)
    return tuple(distinct)


def width_of(text: str) -> float:
    """Return the approximate width of a text in ems; the fonts of the reader's browser are not known.

    >>> width_of("ab") < width_of("mW") < width_of("東京都")
    True
    """
    return sum(map(_width, text))


def identifier(kind: str, *names: str) -> str:
    """Return the identifier of a drawn element, such as a client or an edge.

    Names are escaped as in URLs, so that they can be read back and no two identifiers are equal.

    >>> identifier("edge", "a", "b c"), identifier("client", "a,b→c")
    ('edge:a→b%20c', 'client:a%2Cb%E2%86%92c')
    """
    return f"{kind}:{'→'.join(quote(name, safe='') for name in names)}"


def group_identifier(kind: str, number: int, members: Iterable[str]) -> str:
    """Return the identifier of a group, counted from 1, which lists its members.

    >>> group_identifier("coalition", 1, ["a", "b"])
    'coalition:1:a,b'
    """
    return f"{kind}:{number}:{','.join(quote(name, safe='') for name in members)}"


def _shorten(text: str) -> str:
    if width_of(text) <= _MAX_WIDTH:
        return text
    room = (_MAX_WIDTH - _width("…")) / 2
    front, back = _fitting(text, room), _fitting(text[::-1], room)[::-1]
    while back and unicodedata.combining(back[0]):  # an accent belongs to the letter before it
        back = back[1:]
    return f"{front}…{back}"


def _fitting(text: str, room: float) -> str:
    """Return the beginning of a text that is no wider than `room`."""
    for place, character in enumerate(text):
        room -= _width(character)
        if room < 0:
            return text[:place]
    return text


def _width(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    if character in _WIDE or unicodedata.east_asian_width(character) in "WF":
        return 1.0
    return 0.7 if character.isupper() else 0.6
