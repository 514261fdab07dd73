"""``comity equilibrium`` and ``comity certify``: coalitions of a graph or a game, and the proof."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from comity.certificate import Certificate
    from comity.cli.screen import Screen
    from comity.core import BenefitGraph, Game
    from comity.peels import Equilibrium

MARKER = "equilibrium.json"
REFUTED = 1


@click.command(
    short_help="Find the coalitions of a graph or a game.",
    epilog="""\b
Examples:
  comity equilibrium wishes.csv
  comity equilibrium game.json --exhaustive
  comity equilibrium wishes.json --json | jq .coalitions
  comity equilibrium wishes.graphml --out run/""",
)
@click.argument("file", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--out", type=click.Path(), metavar="DIR", help="Also write the result into a new directory.")
@click.option("--force", is_flag=True, help="Replace an earlier result in DIR.")
@click.option("--peels", is_flag=True, help="Tell how the coalitions form, peel by peel.")
@click.option("--exhaustive", is_flag=True, help="For a game: also try every subset (at most 12 clients).")
def equilibrium(file: str, as_json: bool, out: str | None, force: bool, peels: bool, exhaustive: bool) -> None:
    """Find the coalitions that nobody wants to leave.

    FILE says who benefits from whom, in one of these forms:

    \b
    graph  .json     {"a": ["b"], "b": []}: each client's collaborators
           .csv      columns from,to: "from" is a collaborator of "to"
           .graphml  an edge from each collaborator to the client
    game   .json     [{"client": "a", "coalition": ["a", "b"], "utility": 0.8}, …]

    The coalitions are listed in the order in which they form, then the wishes that stay unmet and why. A game gives
    the proof as well.

    Exit status: 0 done, 1 the proof failed, 2 bad input.
    """
    from comity.core import BenefitGraph, InputError
    from comity.directories import check_free, write_directory
    from comity.equilibrium import find_equilibrium
    from comity.formats import load

    if out is not None:
        check_free(out, MARKER, force=force)
    given = load(file)
    game, graph = (None, given) if isinstance(given, BenefitGraph) else (given, given.benefit_graph())
    if exhaustive and game is None:
        raise InputError("--exhaustive needs a game: a graph has no utilities to try subsets with")
    found = find_equilibrium(given)
    certificate = None
    if game is not None:
        from comity.certificate import certify

        certificate = certify(found, game, exhaustive=exhaustive)
    document = json.dumps(_document(found, game, certificate), ensure_ascii=False, indent=1) + "\n"
    if out is not None:
        files = {MARKER: document, "coalitions.csv": _coalitions_csv(found), "benefit-graph.graphml": _graphml(graph)}
        write_directory(out, files, MARKER, force=force)
    if as_json:
        click.echo(document, nl=False)
    else:
        _show(found, graph, game, certificate, peels=peels)
        if out is not None:
            click.echo(f"\nWritten to {out}: {', '.join(files)}")
    if certificate is not None and certificate.witnesses:
        raise SystemExit(REFUTED)


@click.command(
    short_help="Prove or refute a partition of your own.",
    epilog="""\b
Examples:
  comity certify game.json partition.json
  comity certify game.json partition.json --exhaustive --json""",
)
@click.argument("game", type=click.Path())
@click.argument("partition", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print the whole certificate as JSON.")
@click.option("--exhaustive", is_flag=True, help="Also try every subset (at most 12 clients).")
@click.option("--tolerance", default=0.0, show_default=True, help="Differences up to this count as none.")
def certify(game: str, partition: str, as_json: bool, exhaustive: bool, tolerance: float) -> None:
    """Prove that a partition is a collaboration equilibrium of a game, or refute it.

    GAME is a .json file of records (see comity equilibrium --help); PARTITION a .json file with a list of coalitions:
    [["a", "b"], ["c"]].

    Exit status: 0 proved, 1 refuted, 2 bad input.
    """
    from comity.certificate import certify as prove
    from comity.cli.screen import Screen
    from comity.core import FormatError, InputError
    from comity.formats import load_game
    from comity.formats.json_text import parse_json
    from comity.formats.text import read_text

    played = load_game(game)
    text = read_text(partition)
    try:
        certificate = prove(parse_json(text), played, exhaustive=exhaustive, tolerance=tolerance)
    except InputError as error:
        raise FormatError(f"{partition}: {error}") from None
    if as_json:
        click.echo(json.dumps(certificate.to_dict(), ensure_ascii=False, indent=1))
    else:
        _show_certificate(certificate, Screen())
    if certificate.witnesses:
        raise SystemExit(REFUTED)


def _document(found: Equilibrium, game: Game | None, certificate: Certificate | None) -> dict[str, Any]:
    from comity import __version__

    document: dict[str, Any] = {"comity": __version__, "schema": 1, "kind": "graph" if game is None else "game"}
    document |= found.to_dict()
    if game is not None and certificate is not None:
        document["utilities"] = {
            client: dict(zip(("alone", "coalition", "best"), _utilities(game, found, client), strict=True))
            for client in game.clients
        }
        document["ties"] = {client: [sorted(best) for best in sets] for client, sets in _ties(game).items()}
        document["certificate"] = certificate.to_dict()
    return document


def _utilities(game: Game, found: Equilibrium, client: str) -> tuple[float, float, float]:
    """Return the client's utility alone, in its coalition, and at best: with everybody willing."""
    everywhere = ([client], found.coalition_of(client), game.clients)
    alone, coalition, best = (game.maximal_utility(client, members) for members in everywhere)
    return alone, coalition, best


def _ties(game: Game) -> dict[str, tuple[frozenset[str], ...]]:
    """Return the clients that have more than one best set, with these."""
    return {client: sets for client in game.clients if len(sets := game.best_sets(client)) > 1}


def _show(
    found: Equilibrium, graph: BenefitGraph, game: Game | None, certificate: Certificate | None, *, peels: bool
) -> None:
    from comity.cli.narrate import reason, tell_peels
    from comity.cli.screen import Screen, printable

    screen = Screen()
    count = len(found.peel_of)
    screen.say(
        f"{len(found.clients):,} {_plural(len(found.clients), 'client')} with {graph.edge_count:,} "
        f"{_plural(graph.edge_count, 'wish', 'wishes')} form {count:,} {_plural(count, 'coalition')} "
        f"in {len(found.peels):,} {_plural(len(found.peels), 'peel')}."
    )
    if peels:
        tell_peels(found, screen)
    screen.heading("Coalitions, in the order in which they form")
    rows = ((str(n + 1), str(p + 1), screen.names(found.members(n))) for n, p in enumerate(found.peel_of.tolist()))
    screen.table(["coalition", "peel", "members"], rows, right=("coalition", "peel"))
    if game is not None:
        screen.heading("What each client gets")
        utilities = ([f"{value:.6g}" for value in _utilities(game, found, client)] for client in game.clients)
        screen.table(
            ["client", "alone", "in coalition", "at best"],
            ([printable(client), *values] for client, values in zip(game.clients, utilities, strict=True)),
            right=("alone", "in coalition", "at best"),
        )
    screen.heading("Unmet wishes")
    screen.lines([reason(wish) for wish in found.unmet] or ["none: everybody has the collaborators it wanted first"])
    if game is not None and (ties := _ties(game)):
        screen.heading("Ties")
        screen.lines(
            [
                f"{printable(client)} does equally well with "
                + " or ".join(f"{{{screen.names(sorted(best))}}}" for best in sets)
                for client, sets in ties.items()
            ]
        )
    if certificate is not None:
        _show_certificate(certificate, screen)


def _show_certificate(certificate: Certificate, screen: Screen) -> None:
    screen.heading("Proof")
    screen.lines([str(certificate), *map(str, certificate.witnesses[1:]), *(f"note: {n}" for n in certificate.notes)])


def _plural(count: int, one: str, many: str | None = None) -> str:
    return one if count == 1 else many or f"{one}s"


def _coalitions_csv(found: Equilibrium) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("client", "coalition", "peel"))
    peels = found.peel_of.tolist()
    writer.writerows((i, n + 1, peels[n] + 1) for i, n in zip(found.clients, found.numbers.tolist(), strict=True))
    return out.getvalue()


def _graphml(graph: BenefitGraph) -> str:
    from comity.formats.graphml import write_graphml

    return write_graphml(graph)
