"""``comity equilibrium`` and ``comity certify``: the coalitions of a graph or a game, and the proof."""

from __future__ import annotations

import csv
import io
import json
import sys
from typing import Any

import click

import comity

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

    The coalitions are printed in the order in which they form, then the unmet wishes with their reasons and, for a
    game, the proof.

    Exit status: 0 done, 1 the proof failed, 2 bad input.
    """
    from comity.cli.narrative import show_equilibrium
    from comity.cli.screen import warn
    from comity.core.files import check_output_directory, write_directory
    from comity.core.names import lookalikes, shown
    from comity.game.formats import load, load_from

    if force and out is None:
        raise click.UsageError("--force needs --out: it replaces an earlier result in DIR.")
    if peels and as_json:
        raise click.UsageError("--json includes the peels; omit --peels.")
    if out is not None:
        check_output_directory(out, WRITTEN, force=force)
    loaded = load_from(sys.stdin.buffer) if file == "-" else load(file)
    warn(f"{shown(one)} and {shown(other)} are treated as two clients." for one, other in lookalikes(loaded.clients))
    game, graph = (None, loaded) if isinstance(loaded, comity.BenefitGraph) else (loaded, loaded.benefit_graph())
    if exhaustive and game is None:
        raise comity.InputError("--exhaustive needs a game: a graph has no utilities to compare subsets by")
    found = comity.find_equilibrium(loaded)
    certificate = None if game is None else comity.certify(found, game, exhaustive=exhaustive)
    document = build_document(found, game, certificate) if as_json or out is not None else {}
    if out is not None:
        files = _build_files(document, found, graph)
        write_directory(out, files, MARKER, force=force, known=WRITTEN)
    if as_json:
        click.echo(_to_json(document).encode(), nl=False)
    else:
        show_equilibrium(found, graph, game, certificate, peels=peels)
        if out is not None:
            click.echo(f"\nWritten to {out}: {', '.join(files)}")
    return REFUTED if certificate is not None and certificate.witnesses else DONE


def build_document(
    found: comity.Equilibrium, game: comity.Game | None, certificate: comity.Certificate | None
) -> dict[str, Any]:
    """Return the whole result as values that JSON can hold: the content of ``equilibrium.json``."""
    from comity.cli.narrative import find_ties, utilities_of

    document: dict[str, Any] = {"comity": comity.__version__, "schema": 1, "kind": "graph" if game is None else "game"}
    document |= found.to_dict()
    if game is not None and certificate is not None:
        document["utilities"] = {client: utilities_of(client, game, found) for client in game.clients}
        document["ties"] = [
            {"peel": peel + 1, "client": client, "sets": [sorted(best) for best in sets]}
            for peel, client, sets in find_ties(found, game)
        ]
        document["certificate"] = certificate.to_dict()
    return document


def _to_json(document: dict[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def _build_files(document: dict[str, Any], found: comity.Equilibrium, graph: comity.BenefitGraph) -> dict[str, str]:
    """Return the content of each file; no report if there are more clients or edges than a page can show."""
    from comity.game.formats.graphml import write_graphml
    from comity.report import MAX_CLIENTS, describe_equilibrium, fits_on_page, render

    table, peels = io.StringIO(), found.peel_of.tolist()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(("client", "coalition", "peel"))
    numbered = zip(found.clients, found.numbers.tolist(), strict=True)
    writer.writerows((client, number + 1, peels[number] + 1) for client, number in numbered)
    contents = [_to_json(document), table.getvalue(), write_graphml(graph)]
    if len(found.clients) <= MAX_CLIENTS:  # for millions of clients, describing them would take too long
        story = describe_equilibrium(document)
        if fits_on_page(story):
            contents.append(render(story))
    return dict(zip(WRITTEN, contents, strict=False))


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
@click.option("--tolerance", default=0.0, show_default=True, help="Count differences up to this as zero.")
def certify(game: str, partition: str, as_json: bool, exhaustive: bool, tolerance: float) -> int:
    """Prove that a partition is a collaboration equilibrium of a game, or refute it.

    GAME is a .json file of records (see comity equilibrium --help). PARTITION is a .json file with a list of
    coalitions, [["a", "b"], ["c"]], or a result that comity equilibrium wrote.

    Exit status: 0 proved or undecided, 1 refuted, 2 bad input.
    """
    from comity.cli.narrative import show_certificate
    from comity.cli.screen import Screen

    loaded = comity.Game.load(game)
    certificate = comity.certify(_read_partition(partition, loaded), loaded, exhaustive=exhaustive, tolerance=tolerance)
    if as_json:
        click.echo(_to_json({"comity": comity.__version__, "schema": 1, **certificate.to_dict()}).encode(), nl=False)
    else:
        show_certificate(certificate, Screen())
    return REFUTED if certificate.witnesses else DONE


def _read_partition(file: str, game: comity.Game) -> list[tuple[str, ...]]:
    """Read a partition from a list of coalitions, or from a result, where each coalition has a list of `members`."""
    from comity.core.files import read_text
    from comity.errors import FormatError
    from comity.game.certificate import check_partition
    from comity.game.formats.json_text import parse_json

    text = read_text(file)
    try:
        partition = parse_json(text)
        if isinstance(partition, dict) and isinstance(partition.get("coalitions"), list):
            partition = [each.get("members") if isinstance(each, dict) else each for each in partition["coalitions"]]
        return check_partition(partition, game)
    except comity.InputError as error:
        raise FormatError(f"{file}: {error}") from None
