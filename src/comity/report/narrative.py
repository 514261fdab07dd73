"""How the coalitions form, in words, peel by peel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

WriteNames = Callable[[Sequence[str]], str]


def describe_peels(equilibrium: Mapping[str, Any], write_names: WriteNames = ", ".join) -> list[list[str]]:
    """Return lines of text for each peel: who was asked, whom they wanted, who left and why.

    The equilibrium is given as `Equilibrium.to_dict` writes it.

    >>> from comity import find_equilibrium
    >>> first, second = describe_peels(find_equilibrium({"a": [], "b": ["a"]}).to_dict())
    >>> for line in second:
    ...     print(line)
    b lost a
    → b wants nobody who remains, and stays alone.
    """
    lost: list[dict[str, list[str]]] = [{} for _ in range(len(equilibrium["peels"]) + 1)]
    for wish in equilibrium["unmet"]:
        lost[wish["peel"]].setdefault(wish["client"], []).append(wish["collaborator"])
    return [_describe(peel, number, lost[number], write_names) for number, peel in enumerate(equilibrium["peels"])]


def _describe(
    peel: Mapping[str, Any], number: int, lost: Mapping[str, list[str]], write_names: WriteNames
) -> list[str]:
    """Return the lines of a peel; `lost` are the collaborators that each client lost in the peel before."""
    lines = [] if number else ["Every client is asked whose data would help it most."]
    for client, wanted in peel["wishes"].items():
        wish = f"wants {write_names(wanted)}" if wanted else "wants nobody"
        gone = lost.get(client)
        lines.append(
            f"{write_names([client])} lost {write_names(gone)} and is asked again: it now {wish}"
            if gone
            else f"{write_names([client])} {wish}"
        )
    if not peel["wishes"]:
        lines += [f"{write_names([client])} lost {write_names(gone)}" for client, gone in lost.items()]
    return lines + [_describe_leaving(members, write_names, first=not number) for members in peel["left"]]


def _describe_leaving(members: Sequence[str], write_names: WriteNames, *, first: bool) -> str:
    if len(members) == 1:
        return f"→ {write_names(members)} wants nobody{'' if first else ' who remains'}, and stays alone."
    return (
        f"→ {write_names(members)} want each other, directly or in a ring, and nobody else who remains: "
        "they form a stable coalition and leave together."
    )
