"""An equilibrium in words: how it forms, peel by peel, and why wishes stay unmet."""

from __future__ import annotations

from comity.cli.screen import Screen, printable
from comity.core.names import Coalition
from comity.core.text import join
from comity.game.game import Game
from comity.game.peels import Equilibrium, UnmetWish
from comity.report.narrative import describe_peels


def unmet_reason(wish: UnmetWish, found: Equilibrium, game: Game | None = None) -> str:
    """Say why a wish stayed unmet; the utilities of a game give a more precise reason than a graph."""
    client, other = printable(wish.client), printable(wish.collaborator)
    if game is None:
        return f"{client} wanted {other}; {other} gains nothing from {client}"
    remaining = found.peels[wish.peel].remaining
    if any(wish.client in best for best in game.best_sets(wish.collaborator, remaining)):
        return f"{client} wanted {other}; {other} does equally well without {client}, and the tie went to others"
    pair, alone = ([wish.client, wish.collaborator], [wish.collaborator])
    if game.maximal_utility(wish.collaborator, pair) > game.maximal_utility(wish.collaborator, alone):
        partners = sorted(map(printable, found.collaborators_of(wish.collaborator) - {wish.collaborator}))
        return f"{client} wanted {other}; {other} gains nothing from {client} beyond what it gets from {join(partners)}"
    return f"{client} wanted {other}; {other} gains nothing from {client}"


def find_ties(found: Equilibrium, game: Game) -> list[tuple[int, str, tuple[Coalition, ...]]]:
    """Return every tie: the peel (from 0), the client that was asked, and its best sets."""
    return [
        (peel.number, client, sets)
        for peel in found.peels
        for client in peel.asked
        if len(sets := game.best_sets(client, peel.remaining)) > 1
    ]


def show_peels(found: Equilibrium, screen: Screen) -> None:
    """Print every peel: who was asked, whom they wanted, who left and why."""
    for number, lines in enumerate(describe_peels(found.to_dict(), screen.names)):
        screen.heading(f"Peel {number + 1}")
        screen.lines(lines)
