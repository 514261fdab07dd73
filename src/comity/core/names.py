"""Clients are named by strings; a coalition is a set of such names."""

import difflib
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from comity.errors import InputError, UnknownClientError

Coalition = frozenset[str]

# Control characters except tab and line ends, and characters that UTF-8 or XML 1.0 cannot hold; every file format
# preserves all others.
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_MAX_NAMES_SHOWN = 8
_MAX_CLIENTS_SHOWN = 3
_MAX_CHARACTERS_SHOWN = 80
_MAX_NAMES_COMPARED = 10_000  # comparing a name with more of them takes too long


def shown(value: object) -> str:
    """Return a value as text for a message, shortened if it is long.

    >>> shown("x" * 1000) == repr("x" * 76)[:-1] + "…'"
    True
    """
    text = repr(value)
    return text if len(text) <= _MAX_CHARACTERS_SHOWN else f"{text[: _MAX_CHARACTERS_SHOWN - 3]}…{text[-1]}"


def listed(items: Sequence[str], most: int) -> str:
    """Return a list for a message, only the first items if there are many.

    >>> listed(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = f" and {len(items) - most:,} more" if len(items) > most else ""
    return f"{', '.join(items[:most])}{more}"


def of_clients(names: Sequence[str]) -> str:
    """Return the names of clients for a message, the first few if there are many.

    >>> of_clients(["A", "B"])
    "clients 'A', 'B'"
    """
    return f"client{'s' * (len(names) > 1)} {listed([shown(name) for name in names], _MAX_CLIENTS_SHOWN)}"


def check_names(names: Iterable[str]) -> tuple[str, ...]:
    """Check that each client has a valid name and none is repeated, and return the names as a tuple.

    >>> check_names(["a", "b"])
    ('a', 'b')
    >>> check_names(["a", "b", "a"])
    Traceback (most recent call last):
    comity.errors.InputError: client 'a' is listed twice; give every client a different name
    """
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(f"the clients must be a list of names, not {shown(names)}")
    checked = tuple(map(check_name, names))
    if not checked:
        raise InputError("there are no clients; give at least one")
    if len(set(checked)) < len(checked):
        double = next(name for name, count in Counter(checked).items() if count > 1)
        raise InputError(f"client {shown(double)} is listed twice; give every client a different name")
    return checked


def check_name(name: object) -> str:
    """Check that a name is text, not blank, and can be written to every file format, and return it."""
    if type(name) is str and name.isprintable() and name.strip():  # the usual case, checked fast
        return name
    if not isinstance(name, str):
        raise InputError(f"a client's name must be text, not {shown(name)} ({type(name).__name__}); put it in quotes")
    if not name.strip():
        raise InputError(f"a client has the empty name {shown(name)}; give it a name")
    if found := _UNWRITABLE.search(name):
        raise InputError(
            f"client {shown(name)} has the character U+{ord(found.group()):04X} in its name, "
            "which some file formats cannot hold; remove it"
        )
    return str(name)


def check_coalition(members: object, whose: str) -> Coalition:
    """Check the names of a coalition's members and return it; a string is an error, since its letters are not clients.

    Error messages begin with `whose`, for example ``"the collaborators of 'a'"``.
    """
    if isinstance(members, str | Mapping) or not isinstance(members, Iterable):
        raise InputError(f"{whose} must be a list of clients, not {shown(members)}")
    try:
        return frozenset(map(check_name, members))
    except InputError as error:
        raise InputError(f"{whose}: {error}") from None


def unknown_client(name: object, clients: Collection[str], where: str = "") -> UnknownClientError:
    """Return the error for a name that is not among `clients`, with the most similar name as a suggestion.

    >>> print(unknown_client("nort", ["north", "south"]))
    unknown client 'nort'; the clients are 'north', 'south' (did you mean 'north'?)
    """
    names = listed([shown(client) for client in clients], _MAX_NAMES_SHOWN)
    close = difflib.get_close_matches(str(name), clients, n=1) if len(clients) <= _MAX_NAMES_COMPARED else []
    hint = f" (did you mean {shown(close[0])}?)" if close else ""
    prefix = f"{where}: " if where else ""
    return UnknownClientError(f"{prefix}unknown client {shown(name)}; the clients are {names}{hint}")


def lookalikes(names: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return pairs of names that differ only in case, blanks or the encoding of accents, which are probably typos.

    >>> lookalikes(["North", "South", "north "])
    (('North', 'north '),)
    """
    first: dict[str, str] = {}
    pairs = []
    for name in names:
        key = " ".join(unicodedata.normalize("NFKC", name).casefold().split())
        if first.setdefault(key, name) != name:
            pairs.append((first[key], name))
    return tuple(pairs)
