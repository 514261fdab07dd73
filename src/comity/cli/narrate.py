"""An equilibrium told in words, peel by peel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from comity.cli.screen import Screen, printable
from comity.peels import Equilibrium, Peel, UnmetWish


def reason(wish: UnmetWish) -> str:
    """Say why a wish stayed unmet."""
    client, collaborator = printable(wish.client), printable(wish.collaborator)
    return f"{client} wanted {collaborator}; {collaborator} gains nothing from {client}"


def tell_peels(equilibrium: Equilibrium, screen: Screen) -> None:
    """Print every peel: who was asked and what they wanted, who left and why."""
    lost: dict[tuple[str, int], list[str]] = {}
    for wish in equilibrium.unmet:
        lost.setdefault((wish.client, wish.peel), []).append(wish.collaborator)
    for peel in equilibrium.peels:
        screen.heading(f"Peel {peel.number + 1}")
        screen.lines(list(_tell(peel, lost, screen)))


def _tell(peel: Peel, lost: dict[tuple[str, int], list[str]], screen: Screen) -> Iterator[str]:
    graph = peel.graph
    if peel.number == 0:
        yield "Everybody is asked whose data would help most."
    for client in peel.asked if peel.number else graph.clients:
        wanted = [other for other in graph.clients if other in graph.collaborators_of(client) - {client}]
        wish = f"wants {screen.names(wanted)}" if wanted else "wants nobody"
        gone = lost.get((client, peel.number - 1))
        again = f" lost {screen.names(gone)} and is asked again: it now" if gone else ""
        yield f"{printable(client)}{again} {wish}"
    for coalition in peel.stable:
        members = [client for client in graph.clients if client in coalition]
        yield f"→ {{{screen.names(members)}}} {_why(members)}"


def _why(members: Iterable[str]) -> str:
    if len(list(members)) == 1:
        return "wants nobody who is still there, and stays alone."
    return "want each other, directly or in a ring, and nobody else: they are stable and leave together."
