"""Clients' names in a figure: as plain text, not too long, told apart; and as parts of identifiers."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from urllib.parse import quote

LONGEST = 15.0  # ems: some 24 letters
# What would end the line or turn the direction of the text around it.
_DISTURBING = re.compile("[\n\r\t\u2028\u2029\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]")
_BROAD = frozenset("mwMW@%—…")


def labels_of(names: Sequence[str], longest: float = LONGEST) -> tuple[str, ...]:
    """Return what to write for each name: the name itself, or cut in its middle if it is longer than so many ems.

    What distinguishes names often stands at their ends. Labels that would still be the same are numbered.

    >>> labels_of(["north", "the hospital of the district of the south"])
    ('north', 'the hospita…f the south')
    """
    labels = [_cut(_plain(name), longest) for name in names]
    times = Counter(labels)
    taken = set(labels)
    told = []
    for label in labels:
        number, text = 1, label
        while times[label] > 1 and text in taken:
            text, number = f"{label} #{number}", number + 1
        taken.add(text)
        told.append(text)
    return tuple(told)


def width_of(text: str) -> float:
    """Return about how wide a text is, in ems; a guess, since what is read in a browser has the browser's fonts.

    >>> width_of("ab") < width_of("mW") < width_of("東京都")
    True
    """
    return sum(map(_width, text))


def identifier(kind: str, *names: str) -> str:
    """Return the identifier of what is drawn: an edge of two names, a group of its members.

    Names are escaped as in addresses, so that any can be read back, and none makes two identifiers the same.

    >>> identifier("edge", "a", "b c"), identifier("client", "a,b→c")
    ('edge:a→b%20c', 'client:a%2Cb%E2%86%92c')
    """
    return f"{kind}:{'→'.join(map(_escaped, names))}"


def group_identifier(kind: str, number: int, members: Iterable[str]) -> str:
    """Return the identifier of a group, counted from 1, which lists its members.

    >>> group_identifier("coalition", 1, ["a", "b"])
    'coalition:1:a,b'
    """
    return f"{kind}:{number}:{','.join(map(_escaped, members))}"


def _escaped(name: str) -> str:
    return quote(name, safe="")


def _plain(name: str) -> str:
    """Return a name with signs that cannot be seen written out, as on the command line."""
    return _DISTURBING.sub(lambda found: found.group().encode("unicode_escape").decode(), name)


def _cut(text: str, longest: float) -> str:
    if width_of(text) <= longest:
        return text
    room = (longest - _width("…")) / 2
    front, back = _fitting(text, room), _fitting(text[::-1], room)[::-1]
    while back and unicodedata.combining(back[0]):  # an accent goes with the letter before it
        back = back[1:]
    return f"{front}…{back}"


def _fitting(text: str, room: float) -> str:
    """Return the beginning of a text that is no wider than `room`."""
    for place, sign in enumerate(text):
        room -= _width(sign)
        if room < 0:
            return text[:place]
    return text


def _width(sign: str) -> float:
    if unicodedata.combining(sign):
        return 0.0
    if sign in _BROAD or unicodedata.east_asian_width(sign) in "WF":
        return 1.0
    return 0.7 if sign.isupper() else 0.6
