"""An equilibrium in words and tables: how it forms, peel by peel, what each client gets, and why wishes stay unmet."""

import numpy as np

from comity.cli.screen import Screen, decimals, printable
from comity.core.names import Coalition
from comity.core.text import count, count_coalitions, join
from comity.game.certificate import Certificate
from comity.game.game import Game
from comity.game.graph import BenefitGraph
from comity.game.peels import Equilibrium, UnmetWish
from comity.report.narrative import describe_peels


def show_equilibrium(
    found: Equilibrium, graph: BenefitGraph, game: Game | None, certificate: Certificate | None, *, peels: bool
) -> None:
    """Print the coalitions, unmet wishes and, for a game, utilities, ties and proof."""
    screen = Screen()
    screen.print(
        f"{count(len(found.clients), 'client')} with {count(graph.edge_count, 'wish', 'wishes')}: "
        f"{count_coalitions(np.bincount(found.numbers).tolist())}, in {count(len(found.peels), 'peel')}."
    )
    if peels:
        show_peels(found, screen)
    screen.heading("Coalitions, in the order in which they form")
    rows = ((str(n + 1), str(p + 1), screen.names(found.members(n))) for n, p in enumerate(found.peel_of.tolist()))
    screen.table(["coalition", "peel", "members"], rows, right=("coalition", "peel"))
    if game is not None:
        screen.heading("What each client gets")
        show_utilities(game, found, screen)
    screen.heading("Unmet wishes")
    lines = [unmet_reason(wish, found, game) for wish in found.unmet]
    screen.lines(lines or ["none: everybody has the collaborators it wanted first"])
    if game is not None and (ties := find_ties(found, game)):
        screen.heading("Ties")
        lines = []
        for peel, client, sets in ties:
            either = " or ".join(f"{{{screen.names(sorted(best))}}}" for best in sets)
            lines.append(f"in peel {peel + 1}, {printable(client)} does equally well with {either}")
        screen.lines(lines)
    if certificate is not None:
        show_certificate(certificate, screen)


def utilities_of(client: str, game: Game, found: Equilibrium) -> dict[str, float]:
    """Return the client's utility alone, in its coalition, and at best: if every client were willing."""
    sets = {"alone": [client], "coalition": found.coalition_of(client), "best": game.clients}
    return {name: game.maximal_utility(client, members) for name, members in sets.items()}


def show_utilities(game: Game, found: Equilibrium, screen: Screen) -> None:
    """Print the utility of each client: alone, in its coalition, at best."""
    columns = zip(*(utilities_of(client, game, found).values() for client in game.clients), strict=True)
    screen.table(
        ["client", "alone", "in coalition", "at best"],
        list(zip(map(printable, game.clients), *map(decimals, columns), strict=True)),
        right=("alone", "in coalition", "at best"),
    )


def show_certificate(certificate: Certificate, screen: Screen) -> None:
    """Print the verdict, further witnesses and notes."""
    screen.heading("Proof" if certificate.proved else "Verdict")
    lines = [str(certificate), *map(str, certificate.witnesses[1:]), *(f"note: {note}" for note in certificate.notes)]
    screen.lines(list(map(printable, lines)))


def unmet_reason(wish: UnmetWish, found: Equilibrium, game: Game | None = None) -> str:
    """Say why a wish stayed unmet; the utilities of a game give a more precise reason than a graph."""
    client, other = printable(wish.client), printable(wish.collaborator)
    reason = f"{client} wanted {other}; {other} gains nothing from {client}"
    if game is None:
        return reason
    remaining = found.peels[wish.peel].remaining
    if any(wish.client in best for best in game.best_sets(wish.collaborator, remaining)):
        return f"{client} wanted {other}; {other} does equally well without {client}, and the tie went to others"
    alone = game.maximal_utility(wish.collaborator, [wish.collaborator])
    if game.maximal_utility(wish.collaborator, [wish.client, wish.collaborator]) > alone:
        partners = sorted(map(printable, found.collaborators_of(wish.collaborator) - {wish.collaborator}))
        return f"{reason} beyond what it gets from {join(partners)}"
    return reason


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
