"""An equilibrium told in words: peel by peel, and why wishes stay unmet."""

from __future__ import annotations

from comity.cli.screen import Screen, printable
from comity.core import Coalition, Game
from comity.narration import tell_peels
from comity.peels import Equilibrium, UnmetWish
from comity.writing import join


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
        return f"{client} wanted {other}; {other} gains nothing from {client} beyond what it has from {join(partners)}"
    return f"{client} wanted {other}; {other} gains nothing from {client}"


def ties(found: Equilibrium, game: Game) -> list[tuple[int, str, tuple[Coalition, ...]]]:
    """Return every tie that was met: the peel (from 0), the client that was asked, and its best sets."""
    return [
        (peel.number, client, sets)
        for peel in found.peels
        for client in peel.asked
        if len(sets := game.best_sets(client, peel.remaining)) > 1
    ]


def show_peels(found: Equilibrium, screen: Screen) -> None:
    """Print every peel: who was asked and what they wanted, who left and why."""
    for number, lines in enumerate(tell_peels(found.to_dict(), screen.names)):
        screen.heading(f"Peel {number + 1}")
        screen.lines(lines)
