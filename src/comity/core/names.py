"""Clients are named by strings; a coalition is a set of such names."""

import difflib
import re
from collections.abc import Collection, Iterable

from comity.errors import InputError, UnknownClientError

Coalition = frozenset[str]

# What neither XML 1.0 nor UTF-8 can carry; everything else survives every file format.
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_SHOWN = 8


def check_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the clients' names as a tuple, having checked that each is a name and none stands twice.

    >>> check_names(["a", "b"])
    ('a', 'b')
    >>> check_names(["a", "b", "a"])
    Traceback (most recent call last):
    comity.errors.InputError: client 'a' is listed twice; give every client one name of its own
    """
    if isinstance(names, str):
        raise InputError(f"the clients must be a list of names, not the text {names!r}")
    checked = tuple(names)
    if not checked:
        raise InputError("there are no clients; give at least one")
    for name in checked:
        check_name(name)
    if len(set(checked)) < len(checked):
        seen: set[str] = set()
        double = next(name for name in checked if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise InputError(f"client {double!r} is listed twice; give every client one name of its own")
    return checked


def check_name(name: object) -> str:
    """Return `name` if it can name a client: text that is not blank and that every file format can hold."""
    if not isinstance(name, str):
        raise InputError(f"a client's name must be text, not {name!r} ({type(name).__name__}); write it as a string")
    if not name.strip():
        raise InputError(f"a client has the empty name {name!r}; give it a name that can be read")
    if found := _UNWRITABLE.search(name):
        raise InputError(
            f"client {name!r} has the character U+{ord(found.group()):04X} in its name, "
            "which files cannot hold; take it out"
        )
    return name


def check_coalition(members: object, whose: str) -> Coalition:
    """Return `members` as a coalition; a single string is refused, since its letters are no clients.

    `whose` begins the message of an error, for example ``"the collaborators of 'a'"``.
    """
    if isinstance(members, str) or not isinstance(members, Iterable):
        raise InputError(f"{whose} must be a list of clients, not {members!r}")
    return frozenset(check_name(member) for member in members)


def unknown_client(name: object, clients: Collection[str], where: str = "") -> UnknownClientError:
    """Return the error for a name that is not among `clients`, with the nearest one as a suggestion.

    >>> print(unknown_client("nort", ["north", "south"]))
    unknown client 'nort'; the clients are 'north', 'south' (did you mean 'north'?)
    """
    shown = ", ".join(repr(client) for client in list(clients)[:_SHOWN])
    more = f" and {len(clients) - _SHOWN:,} more" if len(clients) > _SHOWN else ""
    close = difflib.get_close_matches(str(name), clients, n=1) if len(clients) <= 10_000 else []
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    prefix = f"{where}: " if where else ""
    return UnknownClientError(f"{prefix}unknown client {name!r}; the clients are {shown}{more}{hint}")
