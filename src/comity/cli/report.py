"""``comity report``: a run as one HTML file, and its graphs as drawings."""

from pathlib import Path

import click

import comity


@click.command(
    short_help="Write what a run found as one HTML page.",
    epilog="""\b
Examples:
  comity report run/
  comity report run/ --for Northgate --out northgate.html
  comity report run/ --figures figures/ --format pdf""",
)
@click.argument("run", type=click.Path())
@click.option("--for", "client", metavar="CLIENT", help="Write the page of this client, with only what it may see.")
@click.option("--out", type=click.Path(), metavar="FILE", help="The file to write. [default: report.html in RUN]")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.option(
    "--figures", type=click.Path(), metavar="DIR", help="Also draw graph, components and equilibrium into DIR."
)
@click.option(
    "--format",
    "formats",
    type=click.Choice(["svg", "png", "pdf"]),
    multiple=True,
    help="Format of the figures; may be repeated. [default: svg]",
)
def report(
    run: str, client: str | None, out: str | None, force: bool, figures: str | None, formats: tuple[str, ...]
) -> int:
    """Write a report that opens in any browser, without a network.

    RUN is a directory that comity solve, comity equilibrium --out or a federation wrote, or that a site of a
    federation received.
    """
    from comity.core.files import check_output_file, write_text
    from comity.report import render_run
    from comity.result.directory import REPORT, place_of

    if formats and figures is None:
        raise click.UsageError("--format needs --figures DIR: it is the format of the figures.")
    if client is not None and figures is not None:
        raise click.UsageError("--figures shows all clients; omit --for.")
    if client is not None and out is None:
        raise click.UsageError(
            "--for needs --out FILE: the page is for somebody else and must not lie beside the full result."
        )
    if force and out is None:
        raise click.UsageError("--force needs --out: it allows FILE to be replaced.")
    if out is not None:
        check_output_file(out, force=force)
    if client is not None and out is not None and Path(out).resolve().parent == place_of(run).resolve():
        raise click.UsageError(
            "--out is in RUN: the page is for somebody else and must not lie beside the full result."
        )
    page = render_run(run, client)
    if figures is not None:
        drawn = _draw(run, figures, formats or ("svg",))
        click.echo(f"Drawn in {figures}: {', '.join(path.name for path in drawn)}")
    place = place_of(run) / REPORT if out is None else Path(out)
    write_text(place, page)
    click.echo(f"Written to {place}")
    return 0


def _draw(run: str, directory: str, formats: tuple[str, ...]) -> tuple[Path, ...]:
    """Draw the graph, its components and the coalitions of a run."""
    from comity.report import open_run
    from comity.report.drawing import draw
    from comity.result.client_result import ClientResult

    found = open_run(run)
    if isinstance(found, ClientResult):
        raise comity.InputError("the result of one client has too little about the others to draw them; omit --figures")
    if isinstance(found, comity.Result):
        weights = {(each.giver, each.receiver): each.value for each in found.contributions}
        return draw(found.graph, directory, formats=formats, equilibrium=found.equilibrium, weights=weights or None)
    wishes: dict[str, list[str]] = {client: [] for client in found.names}
    for giver, receiver in found.steps[0].edges:
        wishes[receiver].append(giver)
    coalitions, weights = list(map(frozenset, found.coalitions)), dict(found.contributions)
    return draw(
        comity.BenefitGraph(wishes), directory, formats=formats, equilibrium=coalitions, weights=weights or None
    )
