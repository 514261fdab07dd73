"""Clients are named by strings; a coalition is a set of such names."""

import difflib
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping

from comity.errors import InputError, UnknownClientError

Coalition = frozenset[str]

# Control characters but for tab and line ends, and what UTF-8 or XML 1.0 cannot carry; all else survives every format.
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_SHOWN = 8
_LONGEST = 80


def shown(value: object) -> str:
    """Write a value into a message, cut if it is long.

    >>> shown("x" * 1000) == repr("x" * 76)[:-1] + "…'"
    True
    """
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}…{text[-1]}"


def check_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the clients' names as a tuple, having checked that each is a name and none stands twice.

    >>> check_names(["a", "b"])
    ('a', 'b')
    >>> check_names(["a", "b", "a"])
    Traceback (most recent call last):
    comity.errors.InputError: client 'a' is listed twice; give every client one name of its own
    """
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(f"the clients must be a list of names, not {shown(names)}")
    checked = tuple(map(check_name, names))
    if not checked:
        raise InputError("there are no clients; give at least one")
    if len(set(checked)) < len(checked):
        seen: set[str] = set()
        double = next(name for name in checked if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise InputError(f"client {shown(double)} is listed twice; give every client one name of its own")
    return checked


def check_name(name: object) -> str:
    """Return `name` if it can name a client: text that is not blank and that every file format can hold."""
    if type(name) is str and name.isprintable() and name.strip():  # nothing unwritable is printable, and this is quick
        return name
    if not isinstance(name, str):
        raise InputError(f"a client's name must be text, not {shown(name)} ({type(name).__name__}); put it in quotes")
    if not name.strip():
        raise InputError(f"a client has the empty name {shown(name)}; give it a name that can be read")
    if found := _UNWRITABLE.search(name):
        raise InputError(
            f"client {shown(name)} has the character U+{ord(found.group()):04X} in its name, "
            "which not every file can hold; take it out"
        )
    return str(name)


def check_coalition(members: object, whose: str) -> Coalition:
    """Return `members` as a coalition; a single string is refused, since its letters are no clients.

    `whose` begins the message of an error, for example ``"the collaborators of 'a'"``.
    """
    if isinstance(members, str | Mapping) or not isinstance(members, Iterable):
        raise InputError(f"{whose} must be a list of clients, not {shown(members)}")
    try:
        return frozenset(map(check_name, members))
    except InputError as error:
        raise InputError(f"{whose}: {error}") from None


def unknown_client(name: object, clients: Collection[str], where: str = "") -> UnknownClientError:
    """Return the error for a name that is not among `clients`, with the nearest one as a suggestion.

    >>> print(unknown_client("nort", ["north", "south"]))
    unknown client 'nort'; the clients are 'north', 'south' (did you mean 'north'?)
    """
    listed = ", ".join(shown(client) for client in list(clients)[:_SHOWN])
    more = f" and {len(clients) - _SHOWN:,} more" if len(clients) > _SHOWN else ""
    close = difflib.get_close_matches(str(name), clients, n=1) if len(clients) <= 10_000 else []
    hint = f" (did you mean {shown(close[0])}?)" if close else ""
    prefix = f"{where}: " if where else ""
    return UnknownClientError(f"{prefix}unknown client {shown(name)}; the clients are {listed}{more}{hint}")


def lookalikes(names: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return pairs of names that differ only by case, blanks or the way accents are written: a slip makes two of one.

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
