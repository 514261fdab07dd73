"""How coalitions form, told in words, peel by peel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Names = Callable[[Sequence[str]], str]


def tell_peels(told: Mapping[str, Any], names: Names = ", ".join) -> list[list[str]]:
    """Return for each peel of what `Equilibrium.to_dict` tells: who was asked and what they wanted, who left and why.

    `names` writes a list of names.

    >>> from comity import find_equilibrium
    >>> first, second = tell_peels(find_equilibrium({"a": [], "b": ["a"]}).to_dict())
    >>> for line in second:
    ...     print(line)
    b lost a
    → b wants nobody who is still there, and stays alone.
    """
    lost: list[dict[str, list[str]]] = [{} for _ in range(len(told["peels"]) + 1)]
    for wish in told["unmet"]:
        lost[wish["peel"]].setdefault(wish["client"], []).append(wish["collaborator"])
    return [_tell(peel, number, lost[number], names) for number, peel in enumerate(told["peels"])]


def _tell(peel: Mapping[str, Any], number: int, lost: Mapping[str, list[str]], names: Names) -> list[str]:
    """Return the lines that tell of a peel; `lost` says whom clients lost in the one before."""
    lines = [] if number else ["Everybody is asked whose data would help most."]
    for client, wanted in peel["wishes"].items():
        wish = f"wants {names(wanted)}" if wanted else "wants nobody"
        gone = lost.get(client)
        lines.append(
            f"{names([client])} lost {names(gone)} and is asked again: it now {wish}"
            if gone
            else f"{names([client])} {wish}"
        )
    if not peel["wishes"]:
        lines += [f"{names([client])} lost {names(gone)}" for client, gone in lost.items()]
    return lines + [_leaving(members, names, first=not number) for members in peel["left"]]


def _leaving(members: Sequence[str], names: Names, *, first: bool) -> str:
    if len(members) == 1:
        return f"→ {names(members)} wants nobody{'' if first else ' who is still there'}, and stays alone."
    return (
        f"→ {names(members)} want each other, directly or in a ring, and nobody else who is there: "
        "they are stable and leave together."
    )
