"""``comity report``: a run as one HTML file, and its figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from comity.core import BenefitGraph, Coalition
    from comity.own import Own
    from comity.peels import Equilibrium
    from comity.report import Story
    from comity.result import Result


@click.command(
    short_help="Write what a run found as one HTML page.",
    epilog="""\b
Examples:
  comity report run/
  comity report run/ --for "Northgate General" --out northgate.html
  comity report run/ --figures figures/ --format pdf""",
)
@click.argument("run", type=click.Path())
@click.option("--for", "client", metavar="CLIENT", help="Only what this client may see: its own page.")
@click.option("--out", type=click.Path(), metavar="FILE", help="Where to write it; report.html in RUN unless told.")
@click.option("--force", is_flag=True, help="Replace FILE if there is one.")
@click.option("--figures", type=click.Path(), metavar="DIR", help="Also draw graph, components and equilibrium there.")
@click.option(
    "--format",
    "formats",
    type=click.Choice(["svg", "png", "pdf"]),
    multiple=True,
    help="Of figures; may be given again. [default: svg]",
)
def report(
    run: str, client: str | None, out: str | None, force: bool, figures: str | None, formats: tuple[str, ...]
) -> int:
    """Write a report that opens in any browser, without a network.

    RUN is a directory that comity solve, comity equilibrium --out or a federation wrote, or what a site of a
    federation received.
    """
    from comity.files import check_new, write_text
    from comity.report import open_run, page_of
    from comity.sealed import REPORT, place_of

    if formats and figures is None:
        raise click.UsageError("--format goes with --figures DIR: it says in what form they are drawn.")
    if client is not None and figures is not None:
        raise click.UsageError("--figures show all clients; leave --for out.")
    if client is not None and out is None:
        raise click.UsageError("--for needs --out FILE: the page is for somebody else, and not to lie beside the rest.")
    if force and out is None:
        raise click.UsageError("--force goes with --out: it says that FILE may be replaced.")
    if out is not None:
        check_new(out, force=force)
    if client is not None and out is not None and Path(out).resolve().parent == place_of(run).resolve():
        raise click.UsageError("--out is in RUN: the page is for somebody else, and not to lie beside the rest.")
    page = page_of(run, client)
    if figures is not None:
        drawn = _draw(open_run(run), figures, formats or ("svg",))
        click.echo(f"Drawn in {figures}: {', '.join(path.name for path in drawn)}")
    place = place_of(run) / REPORT if out is None else Path(out)
    write_text(place, page)
    click.echo(f"Written to {place}")
    return 0


def _draw(found: Result | Own | Story, directory: str, formats: tuple[str, ...]) -> tuple[Path, ...]:
    from comity.drawing import draw
    from comity.errors import InputError
    from comity.own import Own

    if isinstance(found, Own):
        raise InputError("what one client got says not enough of the others to draw them; leave --figures out")
    graph, equilibrium, weights = _decided(found)
    return draw(graph, directory, formats=formats, equilibrium=equilibrium, weights=weights)


def _decided(
    found: Result | Story,
) -> tuple[BenefitGraph, Equilibrium | list[Coalition], dict[tuple[str, str], float] | None]:
    """Return graph, coalitions and contributions."""
    from comity.core import BenefitGraph
    from comity.result import Result

    if isinstance(found, Result):
        weights = {(each.giver, each.receiver): each.value for each in found.contributions}
        return found.graph, found.equilibrium, weights or None
    wishes: dict[str, list[str]] = {client: [] for client in found.names}
    for giver, taker in found.steps[0].edges:
        wishes[taker].append(giver)
    return BenefitGraph(wishes), list(map(frozenset, found.coalitions)), dict(found.contributions) or None
