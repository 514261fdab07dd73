"""An equilibrium told in words: peel by peel, and why wishes stay unmet."""

from __future__ import annotations

from typing import Any

from comity.cli.screen import Screen, printable
from comity.core import Coalition, Game
from comity.peels import Equilibrium, UnmetWish


def reason(wish: UnmetWish, found: Equilibrium, game: Game | None = None) -> str:
    """Say why a wish stayed unmet. Of a game more is known than that the other did not want it."""
    client, other = printable(wish.client), printable(wish.collaborator)
    if game is None:
        return f"{client} wanted {other}; {other} gains nothing from {client}"
    remaining = found.peels[wish.peel].remaining
    if any(wish.client in best for best in game.best_sets(wish.collaborator, remaining)):
        return f"{client} wanted {other}; {other} does equally well without {client}, and others stand first"
    pair, alone = ([wish.client, wish.collaborator], [wish.collaborator])
    if game.maximal_utility(wish.collaborator, pair) > game.maximal_utility(wish.collaborator, alone):
        partners = sorted(map(printable, found.collaborators_of(wish.collaborator) - {wish.collaborator}))
        return f"{client} wanted {other}; {other} gains nothing from {client} beyond what it has from {_and(partners)}"
    return f"{client} wanted {other}; {other} gains nothing from {client}"


def ties(found: Equilibrium, game: Game) -> list[tuple[int, str, tuple[Coalition, ...]]]:
    """Return every tie that was met: the peel (from 0), the client that was asked, and its best sets."""
    return [
        (peel.number, client, sets)
        for peel in found.peels
        for client in peel.asked
        if len(sets := game.best_sets(client, peel.remaining)) > 1
    ]


def tell_peels(found: Equilibrium, screen: Screen) -> None:
    """Print every peel: who was asked and what they wanted, who left and why."""
    lost: dict[str, list[str]] = {}
    unmet = iter(found.unmet)
    wish = next(unmet, None)
    for number, peel in enumerate(found.to_dict()["peels"]):
        screen.heading(f"Peel {number + 1}")
        screen.lines(_tell(peel, number, lost, screen))
        lost = {}
        while wish is not None and wish.peel == number:
            lost.setdefault(wish.client, []).append(wish.collaborator)
            wish = next(unmet, None)


def _tell(peel: dict[str, Any], number: int, lost: dict[str, list[str]], screen: Screen) -> list[str]:
    """Return the lines that tell of a peel; `lost` says whom clients lost in the one before."""
    lines = [] if number else ["Everybody is asked whose data would help most."]
    for client, wanted in peel["wishes"].items():
        wish = f"wants {screen.names(wanted)}" if wanted else "wants nobody"
        gone = lost.get(client)
        lines.append(
            f"{printable(client)} lost {screen.names(gone)} and is asked again: it now {wish}"
            if gone
            else f"{printable(client)} {wish}"
        )
    if not peel["wishes"]:
        lines += [f"{printable(client)} lost {screen.names(gone)}" for client, gone in lost.items()]
    for members in peel["left"]:
        if len(members) == 1:
            lines.append(f"→ {{{screen.names(members)}}} wants nobody who is still there, and stays alone.")
        else:
            lines.append(
                f"→ {{{screen.names(members)}}} want each other, directly or in a ring, and nobody else: "
                "they are stable and leave together."
            )
    return lines


def _and(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
