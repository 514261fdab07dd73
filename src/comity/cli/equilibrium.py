"""``comity equilibrium`` and ``comity certify``: the coalitions of a graph or a game, and the proof."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from comity.cli.screen import Screen
    from comity.game.certificate import Certificate
    from comity.game.game import Game
    from comity.game.graph import BenefitGraph
    from comity.game.peels import Equilibrium

MARKER = "equilibrium.json"
WRITTEN = (MARKER, "coalitions.csv", "benefit-graph.graphml", "report.html")
DONE, REFUTED = 0, 1  # exit statuses


@click.command(
    short_help="Find the coalitions of a graph or a game.",
    epilog="""\b
Examples:
  comity equilibrium wishes.csv
  comity equilibrium game.json --exhaustive
  comity equilibrium wishes.json --json
  comity equilibrium wishes.graphml --out run/
  some-program | comity equilibrium -""",
)
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--out", type=click.Path(), metavar="DIR", help="Also write the result into a new directory.")
@click.option("--force", is_flag=True, help="Replace an earlier result in DIR.")
@click.option("--peels", is_flag=True, help="Explain how the coalitions form, peel by peel.")
@click.option("--exhaustive", is_flag=True, help="For a game: also try every subset (at most 12 clients).")
def equilibrium(file: str, as_json: bool, out: str | None, force: bool, peels: bool, exhaustive: bool) -> int:
    """Find the coalitions that nobody wants to leave.

    FILE says who benefits from whom, in one of these forms (- is standard input):

    \b
    graph  .json     {"a": ["b"], "b": []}: each client's collaborators
           .csv      columns from,to: "from" is a collaborator of "to"
           .graphml  an edge from each collaborator to the client
    game   .json     [{"client": "a", "coalition": ["a", "b"], "utility": 0.8}]

    The coalitions are listed in the order in which they form, then the wishes that stay unmet and why. A game gives
    the proof as well.

    Exit status: 0 done, 1 the proof failed, 2 bad input.
    """
    from comity.core.files import check_output_directory, write_directory
    from comity.errors import InputError
    from comity.game.equilibrium import find_equilibrium
    from comity.game.formats import load, load_from
    from comity.game.graph import BenefitGraph

    if force and out is None:
        raise click.UsageError("--force needs --out: it allows an earlier result in DIR to be replaced.")
    if peels and as_json:
        raise click.UsageError("--json includes the peels; omit --peels.")
    if out is not None:
        check_output_directory(out, WRITTEN, force=force)
    given = load_from(sys.stdin.buffer) if file == "-" else load(file)
    _warn_about_lookalikes(given.clients)
    game, graph = (None, given) if isinstance(given, BenefitGraph) else (given, given.benefit_graph())
    if exhaustive and game is None:
        raise InputError("--exhaustive needs a game: a graph has no utilities to compare subsets by")
    found = find_equilibrium(given)
    certificate = None
    if game is not None:
        from comity.game.certificate import certify

        certificate = certify(found, game, exhaustive=exhaustive)
    document = build_document(found, game, certificate) if as_json or out is not None else {}
    text = _json(document)
    if out is not None:
        contents = (text, _coalitions_csv(found), _graphml(graph), _report(document))
        files = {name: content for name, content in zip(WRITTEN, contents, strict=True) if content}
        write_directory(out, files, MARKER, force=force, known=WRITTEN)
    if as_json:
        click.echo(text.encode(), nl=False)
    else:
        _show(found, graph, game, certificate, peels=peels)
        if out is not None:
            click.echo(f"\nWritten to {out}: {', '.join(files)}")
    return REFUTED if certificate is not None and certificate.witnesses else DONE


@click.command(
    short_help="Prove or refute a given partition.",
    epilog="""\b
Examples:
  comity certify game.json partition.json
  comity certify game.json run/equilibrium.json
  comity certify game.json partition.json --exhaustive --json""",
)
@click.argument("game", type=click.Path())
@click.argument("partition", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print the whole certificate as JSON.")
@click.option("--exhaustive", is_flag=True, help="Also try every subset (at most 12 clients).")
@click.option("--tolerance", default=0.0, show_default=True, help="Differences up to this count as zero.")
def certify(game: str, partition: str, as_json: bool, exhaustive: bool, tolerance: float) -> int:
    """Prove that a partition is a collaboration equilibrium of a game, or refute it.

    GAME is a .json file of records (see comity equilibrium --help). PARTITION is a .json file with a list of
    coalitions, [["a", "b"], ["c"]], or a result that comity equilibrium wrote.

    Exit status: 0 proved or undecided, 1 refuted, 2 bad input.
    """
    from comity import __version__
    from comity.cli.screen import Screen
    from comity.game.certificate import certify as prove
    from comity.game.game import Game

    played = Game.load(game)
    certificate = prove(_partition(partition, played), played, exhaustive=exhaustive, tolerance=tolerance)
    if as_json:
        click.echo(_json({"comity": __version__, "schema": 1, **certificate.to_dict()}).encode(), nl=False)
    else:
        _show_certificate(certificate, Screen())
    return REFUTED if certificate.witnesses else DONE


def _partition(file: str, game: Game) -> list[tuple[str, ...]]:
    """Read a partition: a list of coalitions, or a result, whose coalitions list their `members`."""
    from comity.core.files import read_text
    from comity.errors import FormatError, InputError
    from comity.game.certificate import check_partition
    from comity.game.formats.json_text import parse_json

    text = read_text(file)
    try:
        given = parse_json(text)
        if isinstance(given, dict) and isinstance(given.get("coalitions"), list):
            given = [c.get("members") if isinstance(c, dict) else c for c in given["coalitions"]]
        return check_partition(given, game)
    except InputError as error:
        raise FormatError(f"{file}: {error}") from None


def _warn_about_lookalikes(clients: Iterable[str]) -> None:
    from comity.core.names import lookalikes, shown

    for first, other in lookalikes(clients):
        click.echo(f"Warning: {shown(first)} and {shown(other)} are taken for two clients.", err=True)


def build_document(found: Equilibrium, game: Game | None, certificate: Certificate | None) -> dict[str, Any]:
    """Return everything that was found as plain values, as in ``equilibrium.json``."""
    from comity import __version__
    from comity.cli.narrative import find_ties

    document: dict[str, Any] = {"comity": __version__, "schema": 1, "kind": "graph" if game is None else "game"}
    document |= found.to_dict()
    if game is not None and certificate is not None:
        document["utilities"] = {
            client: dict(zip(("alone", "coalition", "best"), _utilities(game, found, client), strict=True))
            for client in game.clients
        }
        document["ties"] = [
            {"peel": peel + 1, "client": client, "sets": [sorted(best) for best in sets]}
            for peel, client, sets in find_ties(found, game)
        ]
        document["certificate"] = certificate.to_dict()
    return document


def _report(document: dict[str, Any]) -> str:
    """Return the report as HTML; empty if there are more clients or edges than a page can show."""
    from comity.report import MAX_CLIENTS, describe_equilibrium, fits_on_page, render

    if len(document["clients"]) > MAX_CLIENTS:  # building the content for millions of clients would take long
        return ""
    story = describe_equilibrium(document)
    return render(story) if fits_on_page(story) else ""


def _json(document: dict[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def _utilities(game: Game, found: Equilibrium, client: str) -> tuple[float, float, float]:
    """Return the client's utility alone, in its coalition, and at best: if every client were willing."""
    sets = ([client], found.coalition_of(client), game.clients)
    alone, coalition, best = (game.maximal_utility(client, members) for members in sets)
    return alone, coalition, best


def _show(
    found: Equilibrium, graph: BenefitGraph, game: Game | None, certificate: Certificate | None, *, peels: bool
) -> None:
    import numpy as np

    from comity.cli.narrative import find_ties, show_peels, unmet_reason
    from comity.cli.screen import Screen, printable
    from comity.core.text import count, count_coalitions

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
        either = [" or ".join(f"{{{screen.names(sorted(best))}}}" for best in sets) for _, _, sets in ties]
        screen.lines(
            [
                f"in peel {peel + 1}, {printable(client)} does equally well with {sets}"
                for (peel, client, _), sets in zip(ties, either, strict=True)
            ]
        )
    if certificate is not None:
        _show_certificate(certificate, screen)


def show_utilities(game: Game, found: Equilibrium, screen: Screen) -> None:
    """Print the utility of each client: alone, in its coalition, at best."""
    from comity.cli.screen import decimals, printable

    columns = zip(*(_utilities(game, found, client) for client in game.clients), strict=True)
    screen.table(
        ["client", "alone", "in coalition", "at best"],
        list(zip(map(printable, game.clients), *map(decimals, columns), strict=True)),
        right=("alone", "in coalition", "at best"),
    )


def _show_certificate(certificate: Certificate, screen: Screen) -> None:
    from comity.cli.screen import printable

    screen.heading("Proof" if certificate.proved else "Verdict")
    lines = [str(certificate), *map(str, certificate.witnesses[1:]), *(f"note: {note}" for note in certificate.notes)]
    screen.lines(list(map(printable, lines)))


def _coalitions_csv(found: Equilibrium) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("client", "coalition", "peel"))
    peels = found.peel_of.tolist()
    writer.writerows((i, n + 1, peels[n] + 1) for i, n in zip(found.clients, found.numbers.tolist(), strict=True))
    return out.getvalue()


def _graphml(graph: BenefitGraph) -> str:
    from comity.game.formats.graphml import write_graphml

    return write_graphml(graph)
